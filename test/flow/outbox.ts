import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, OpenStore } from "../../src/model/ports.ts";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { openStore as openSqlite } from "../../src/store/sqlite/store.ts";
import { SCRATCH } from "../scratch.ts";

/** A delivery's row, as an operator would read it. */
export type DeliveryRow = {
  readonly event: number;
  readonly destination: string;
  readonly state: string;
  readonly attempts: number;
  readonly due_at: number | null;
  readonly reason: string | null;
  readonly url: string | null;
};

/** Where the daemons of a test keep what they accept. */
export type Outbox = {
  /** The file; a schema on PostgreSQL. */
  readonly path: string;
  readonly open: OpenStore;
  rows(): Promise<readonly DeliveryRow[]>;
  query<R>(sql: string): Promise<readonly R[]>;
  /** Nobody can write any more, as while a program that has begun to write hangs, or on a standby; call what it answers to end that. */
  lock(): Promise<() => Promise<void>>;
  /** The files, or tables, in which this text stands. */
  findText(text: string): Promise<readonly string[]>;
  /** Whether `kill` leaves the outbox as it is, and answers a copy. */
  readonly isCopied: boolean;
  /** What a kill of its daemons would leave, for others to open. */
  kill(): Promise<Outbox>;
  /** Ends the connections of the daemon that has this clock, as its kill does. */
  disconnect(clock: Clock): Promise<void>;
  remove(): Promise<void>;
};

/** The engine of all tests that do not name one. */
export const ENGINE = process.env.FAIRLEAD_TEST_ENGINE ?? "sqlite";

/** Of tests of files, of what SQLite does by itself, or of the clock of a single machine. */
export const ONLY_SQLITE = { skip: ENGINE !== "sqlite" };

/** Opens the outbox at this path, whatever the engine. */
export const openStore: OpenStore = async (options) => {
  if (ENGINE === "sqlite") return openSqlite(options);
  return (await import("./postgres.ts")).openSlowly(options);
};

export async function createOutbox(): Promise<Outbox> {
  if (ENGINE === "sqlite") return inFolder(await mkdtemp(join(SCRATCH, "fairlead-flow-")));
  if (ENGINE === "postgres") return (await import("./postgres.ts")).createSchema(openStore);
  throw new Error(`FAIRLEAD_TEST_ENGINE is sqlite or postgres, not ${ENGINE}`);
}

/** An outbox that several daemons have open. */
export async function createSharedOutbox(): Promise<Outbox> {
  const { createSchema, openPromptly } = await import("./postgres.ts");
  return createSchema(openPromptly);
}

function inFolder(folder: string): Outbox {
  const path = join(folder, "fairlead.db");

  async function query<R>(sql: string): Promise<readonly R[]> {
    const db = await openDatabase(path);
    const statement = db.prepare<[], R>(sql);
    const rows = statement.reader ? statement.all() : [];
    if (!statement.reader) statement.run();
    db.close();
    return rows;
  }

  return {
    path,
    open: openSqlite,
    rows: () => query("SELECT * FROM deliveries ORDER BY event, destination"),
    query,
    async lock() {
      const db = await openDatabase(path);
      db.exec("BEGIN IMMEDIATE");
      return async () => {
        db.exec("ROLLBACK");
        db.close();
      };
    },
    async findText(text) {
      const found: string[] = [];
      for (const end of ["", "-wal", "-shm"]) if ((await readFile(path + end)).includes(text)) found.push(end || "db");
      return found;
    },
    isCopied: true,
    async kill() {
      const next = inFolder(await mkdtemp(join(SCRATCH, "fairlead-crash-")));
      for (const end of ["", "-wal"]) await copyFile(path + end, next.path + end);
      return next;
    },
    // A file is let go of by the process that opened it.
    disconnect: async () => {},
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
