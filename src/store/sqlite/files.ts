import { type Fault, fault } from "../../model/fault.ts";
import { MB } from "../../model/units.ts";
import { type OpenFile, OutboxGone, type Renewal } from "../presence.ts";
import { type CopyWorld, copyOf, keepCopy } from "./copy.ts";
import { codeOf, type Database, isDamaged, messageOf, openAtOnce, openDatabase, withRemedy } from "./driver.ts";
import { FIRST_SCHEMA, migrate, SCHEMA_VERSION, SchemaRefused } from "./schema.ts";

/** Bytes that the write-ahead log keeps when it begins anew. It has more only while another program reads for long. */
export const LARGEST_LOG = 64 * MB;

/** Where the write-ahead log of an outbox is. */
export function logOf(path: string): string {
  return `${path}-wal`;
}

/** What opening an outbox asks of the world, if it has to be brought up to date. */
export type OutboxWorld = CopyWorld & {
  /** The steps of the schema; all that there are, when left out. */
  readonly steps?: readonly string[];
};

/** Opens the outbox's file, or makes it, in the way that the store needs it. Rejects with a message for the operator. */
export async function openOutbox(path: string, world: OutboxWorld = NO_WORLD): Promise<Database> {
  const newest = newestOf(world);
  const db = await openDatabase(path);
  try {
    prepare(db);
    await keepCopy(db, { path, newest }, world);
    migrate(db, world);
    return db;
  } catch (cause) {
    db.close();
    throw cannotOpen(path, cause, await describe(cause, path, world));
  }
}

/** For the operator, who has to know which file it is, and what to do. */
export function cannotOpen(path: string, cause: unknown, why = messageOf(withRemedy(cause))): Error {
  return Object.assign(new Error(`cannot open outbox ${path}: ${why}`, { cause }), { code: codeOf(cause) });
}

/** For those who open one that is new, or of this version. */
const NO_WORLD: OutboxWorld = {
  disk: { space: () => Promise.reject(new Error("nobody can say")), size: async () => 0 },
  freeDisk: 0,
};

function newestOf({ steps }: Pick<OutboxWorld, "steps">): number {
  return steps ? FIRST_SCHEMA + steps.length : SCHEMA_VERSION;
}

async function describe(cause: unknown, path: string, world: OutboxWorld): Promise<string> {
  const message = messageOf(withRemedy(cause));
  if (!(cause instanceof SchemaRefused) || cause.code !== "schema_newer") return message;
  for (let schema = newestOf(world); schema >= FIRST_SCHEMA; schema -= 1) {
    const copy = copyOf(path, schema);
    const size = await world.disk.size(copy).catch(() => 0);
    if (size > 0) return `${message}: ${copy} is what was kept before it (fairlead restore --force ${copy})`;
  }
  return message;
}

function prepare(db: Database): void {
  // While an operator's shell holds the file, the whole daemon waits, not only the commit.
  db.pragma("busy_timeout = 200");
  // Has an effect only before the first table exists: pruned pages can then be given back to the file system.
  db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma("journal_mode = WAL");
  // With NORMAL, the default in WAL mode of some builds, a power cut would lose acknowledged calls.
  db.pragma("synchronous = FULL");
  db.pragma("cache_size = -16000");
  // What is deleted is overwritten, always: when a user is erased, nothing of rows that went before may be left in pages that
  // are free, or in use for something else by now.
  db.pragma("secure_delete = ON");
  db.pragma(`journal_size_limit = ${LARGEST_LOG}`);
}

type Lock = {
  /** Of the small file that is held. */
  readonly path: string;
  /** Holds the one that is at the path by now, or makes it. Answers false if somebody else has that. */
  renew(): boolean;
  release(): void;
};

/**
 * Keeps a second daemon from the same outbox: a small SQLite file beside it is held in a write transaction for as long
 * as the daemon lives. The system frees it when the process ends, however it ends. Others may read it, and so can say
 * who holds it.
 */
export async function lockOutbox(path: string, pid: number): Promise<Lock> {
  const file = `${await realPath(path)}.lock`;
  let held = await openDatabase(file);
  try {
    hold(held, pid);
  } catch (cause) {
    const message = refusal(held, path, cause);
    held.close();
    throw new Error(message, { cause });
  }
  return {
    path: file,
    renew() {
      let next: Database | null = null;
      try {
        next = openAtOnce(file);
        hold(next, pid);
      } catch {
        next?.close();
        return false;
      }
      held.close();
      held = next;
      return true;
    },
    release: () => held.close(),
  };
}

function hold(db: Database, pid: number): void {
  db.pragma("busy_timeout = 0");
  db.exec("CREATE TABLE IF NOT EXISTS holder (pid INTEGER NOT NULL)");
  db.exec(`BEGIN IMMEDIATE; DELETE FROM holder; INSERT INTO holder VALUES (${pid}); COMMIT; BEGIN IMMEDIATE`);
}

/** Two paths may lead to one file, through a symbolic link. SQLite knows where they end. */
async function realPath(path: string): Promise<string> {
  const db = await openDatabase(path);
  const [main] = db.pragma("database_list") as { file: string }[];
  db.close();
  return main?.file || path;
}

function refusal(db: Database, path: string, cause: unknown): string {
  // What is said of an outbox that is damaged would mislead: there is nothing of worth in this file.
  if (isDamaged(cause)) return `cannot lock outbox ${path}: ${messageOf(cause)}; remove ${path}.lock`;
  if (!isBusy(cause)) return `cannot lock outbox ${path}: ${messageOf(withRemedy(cause))}`;
  const holder = holderOf(db);
  return `cannot open outbox ${path}: another Fairlead${holder} has it open; stop that one, or set another outbox.path`;
}

function isBusy(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && String(cause.code).startsWith("SQLITE_BUSY");
}

function holderOf(db: Database): string {
  try {
    const row = db.prepare<[], { pid: number }>("SELECT pid FROM holder").get();
    return row ? ` (pid ${row.pid})` : "";
  } catch {
    // It is being written at this moment: the first part of the message is enough.
    return "";
  }
}

const LOG_HEADER = 32;
const FRAME_HEADER = 24;

/** What is open of an outbox for as long as the daemon runs. */
export function openFilesOf(path: string, db: Database, lock: Lock): readonly OpenFile[] {
  const pageSize = Number(db.pragma("page_size", { simple: true }));
  const log: Renewal = { of: "log", run: () => renewLog(db) };
  // With the first look the log is opened, and is at its path.
  look(db);
  return [
    { path, least: orAll(() => Math.max(1, pagesOf(db) * pageSize)), renewal: null },
    { path: logOf(path), least: orAll(() => leastLog(db, pageSize)), renewal: log },
    { path: `${path}-shm`, least: () => 0, renewal: log },
    { path: lock.path, least: () => 0, renewal: { of: "lock", run: lock.renew } },
  ];
}

function look(db: Database): void {
  db.prepare("SELECT 1 FROM sqlite_schema").get();
}

function pagesOf(db: Database): number {
  return Number(db.pragma("page_count", { simple: true }));
}

/** What is in the outbox itself already may go: whoever empties the log by hand takes nothing away. */
function leastLog(db: Database, pageSize: number): number {
  const [state] = db.pragma("wal_checkpoint(NOOP)") as { log: number; checkpointed: number }[];
  if (!state || state.log <= state.checkpointed) return 0;
  return LOG_HEADER + state.log * (FRAME_HEADER + pageSize);
}

/** Where SQLite cannot even read it any more, it is too short. */
function orAll(least: () => number): () => number {
  return () => {
    try {
      return least();
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  };
}

/** Writes the log into the outbox and begins another. Answers false while another program has the outbox open. */
function renewLog(db: Database): boolean {
  try {
    // This way all of the log is written to the outbox first, whether it still has a name or not.
    db.pragma("journal_mode = DELETE");
    db.pragma("journal_mode = WAL");
    look(db);
    return db.pragma("journal_mode", { simple: true }) === "wal";
  } catch {
    return false;
  }
}

/** What the operator is told when a change of theirs could not be made durable. */
export function unwritable(error: unknown): Fault {
  if (error instanceof OutboxGone) return error.fault;
  return fault("store_failed", "the outbox cannot be written, and nothing was changed; see the log for the reason");
}
