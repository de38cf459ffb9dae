import assert from "node:assert/strict";
import { join } from "node:path";
import type { Store } from "../../../src/model/ports.ts";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { type OpenStore, startStore, type TestStore } from "../harness.ts";

export const PID = 4711;

export const openSqlite: OpenStore = ({ folder, ...place }) => {
  return openStore({ ...place, path: pathIn(folder), pid: PID });
};

export function pathIn(folder: string): string {
  return join(folder, "fairlead.db");
}

/** Withdraws an event that there is not. */
export async function fold(store: Store): Promise<void> {
  assert.equal(await store.withdraw({ events: [0], reason: "" }), 0);
}

export type Row = Readonly<Record<string, unknown>>;

export type TestOutbox = {
  readonly s: TestStore;
  readonly path: string;
  /** Another connection to the same file, as an operator's shell. */
  readonly shell: Database;
  /** The rows that the shell gets. */
  sql(query: string): readonly Row[];
  /** Writes what the tables lack of the newest events, as any change to them does. */
  fold(): Promise<void>;
} & AsyncDisposable;

/** The store on SQLite, and a shell beside it. */
export async function startOutbox(open: OpenStore = openSqlite): Promise<TestOutbox> {
  const s = await startStore(open);
  const path = pathIn(s.folder);
  const shell = await openDatabase(path);
  return {
    ...{ s, path, shell },
    sql: (query) => shell.prepare<[], Row>(query).all(),
    async fold() {
      await fold(s.store());
    },
    async [Symbol.asyncDispose]() {
      shell.close();
      await s[Symbol.asyncDispose]();
    },
  };
}

/** A trigger that refuses rows as a disk would. */
export function failing(table: string, when = "true", what = "INSERT"): string {
  return `CREATE TRIGGER failing_${table} BEFORE ${what} ON ${table} WHEN ${when}
    BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END`;
}
