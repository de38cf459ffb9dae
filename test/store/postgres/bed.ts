import type { Pool } from "../../../src/store/postgres/database.ts";

/** PostgreSQL for tests, with many stores: each has a schema of its own. */
export type TestServer = {
  /** Connections to the schema, which is made if there is none. */
  connect(schema: string): Promise<TestPool>;
  /** Removes the schema. */
  drop(schema: string): Promise<void>;
};

export type TestPool = Pool & {
  /** Ends the connections as a kill of their daemon does. Open transactions are rolled back when this resolves. */
  kill(): Promise<void>;
};
