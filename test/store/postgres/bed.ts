import { createHash } from "node:crypto";
import type { Store } from "../../../src/model/ports.ts";
import type { Connection, Pool } from "../../../src/store/postgres/database.ts";
import { openPostgres } from "../../../src/store/postgres/store.ts";
import type { FalseClock } from "../../flow/clock.ts";
import type { Abilities } from "../conformance/sharing.ts";
import type { OpenStore, Place } from "../harness.ts";

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

/** What is removed is there until the server has cleaned up. */
export const ABILITIES: Abilities = { shared: true, clock: "server", frees: false };

/** Opens the engine over these connections. */
export type OpenEngine = (place: Omit<Place, "folder"> & { readonly pool: Pool }) => Promise<Store>;

/** The engine on this server, whose clock is that of the test. The same folder means the same schema. */
export function openOn(start: () => Promise<TestServer>, open: OpenEngine): OpenStore {
  const pools = new Map<string, TestPool[]>();

  async function connect(folder: string): Promise<TestPool> {
    const pool = await (await start()).connect(schemaOf(folder));
    pools.set(folder, [...(pools.get(folder) ?? []), pool]);
    return pool;
  }

  async function openStore({ folder, ...place }: Place): Promise<Store> {
    const pool = await connect(folder);
    return open({ ...place, pool: followClock(pool, place.clock) });
  }

  async function kill(folder: string): Promise<string> {
    for (const pool of pools.get(folder) ?? []) await pool.kill();
    pools.delete(folder);
    const pool = await connect(folder);
    const connection = await pool.connect();
    // Nobody has to wait until the others believe it.
    for (const table of ["streams", "leases"]) await connection.query(`UPDATE ${table} SET holder = NULL`);
    await connection.query("DELETE FROM daemons");
    connection.release();
    await pool.end();
    return folder;
  }

  async function remove(folder: string): Promise<void> {
    pools.delete(folder);
    await (await start()).drop(schemaOf(folder));
  }

  return Object.assign(openStore, { kill, remove, anyOrder: true });
}

function schemaOf(folder: string): string {
  return `store_${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`;
}

const OWN_TIME = "CREATE FUNCTION the_time()";
const FALSE_TIME = `CREATE OR REPLACE FUNCTION the_time() RETURNS bigint LANGUAGE sql VOLATILE
  AS 'SELECT current_setting(''test.now'')::bigint'`;
const ENDS = /^(COMMIT|ROLLBACK)/;

/** Whatever asks the database for the time gets that of the test's clock, which waits for the database in turn. */
export function followClock(pool: TestPool, clock: FalseClock): TestPool {
  return {
    ...pool,
    connect: () => clock.during(connect()),
  };

  async function connect(): Promise<Connection> {
    const connection = await pool.connect();
    let told: number | null = null;
    return {
      ...connection,
      query: (text, values) => clock.during(query(text, values)),
    };

    async function query<R>(text: string, values?: readonly unknown[]): Promise<readonly R[]> {
      const now = clock.wall();
      // A transaction that has failed takes no other statement than its end.
      if (now !== told && !ENDS.test(text)) {
        await connection.query("SELECT set_config('test.now', $1, false)", [String(now)]);
        told = now;
      }
      const rows = await connection.query<R>(text, values);
      if (text.includes(OWN_TIME)) await connection.query(FALSE_TIME);
      return rows;
    }
  }
}

let daemons = 0;

/** As a daemon of its own opens it. */
export const openEngine: OpenEngine = (place) => {
  daemons += 1;
  return openPostgres({ ...place, name: `daemon-${daemons}`, about: "{}" });
};
