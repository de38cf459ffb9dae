import { MB } from "../../model/units.ts";
import type { OpenFile, Renewal } from "../presence.ts";
import { type CopyWorld, copyOf, keepCopy } from "./copy.ts";
import { codeOf, type Database, isDamaged, messageOf, openAtOnce, openDatabase, withRemedy } from "./driver.ts";
import { FIRST_SCHEMA, migrate, SCHEMA_VERSION, SchemaRefused } from "./schema.ts";

/** Bytes that the write-ahead log keeps when it restarts. It only exceeds them while another program reads for long. */
export const LARGEST_LOG = 64 * MB;

/** Where the write-ahead log of an outbox is. */
export function logOf(path: string): string {
  return `${path}-wal`;
}

/** What opening an outbox needs, if it has to be upgraded. */
export type OutboxWorld = CopyWorld & {
  /** The steps of the schema; left out, all of them. */
  readonly steps?: readonly string[];
};

/** Opens the outbox's file, or creates it, with the settings that the store needs. Rejects with a message for the operator. */
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

/** An error that names the file and the remedy. */
export function cannotOpen(path: string, cause: unknown, why = messageOf(withRemedy(cause))): Error {
  return Object.assign(new Error(`cannot open outbox ${path}: ${why}`, { cause }), { code: codeOf(cause) });
}

/** For a file that is new, or of this version: it needs no upgrade. */
const NO_WORLD: OutboxWorld = {
  disk: { space: () => Promise.reject(new Error("unknown")), size: async () => 0 },
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
    if (size > 0) return `${message}: ${copy} is the copy from before the upgrade (fairlead restore --force ${copy})`;
  }
  return message;
}

function prepare(db: Database): void {
  // While a shell holds the file, the whole daemon waits, not only the commit, so the timeout is short.
  db.pragma("busy_timeout = 200");
  // Lets pruned pages be given back to the file system. It only has an effect before the first table exists.
  db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma("journal_mode = WAL");
  // With NORMAL, the default in WAL mode of some builds, a power cut would lose acknowledged calls.
  db.pragma("synchronous = FULL");
  db.pragma("cache_size = -16000");
  // Deleted rows are overwritten, always: when a user is erased, no trace of rows deleted earlier may be left in free or reused
  // pages.
  db.pragma("secure_delete = ON");
  db.pragma(`journal_size_limit = ${LARGEST_LOG}`);
}

type Lock = {
  readonly path: string;
  /** Locks the file that is now at the path, or creates it. Answers false if another process holds it. */
  renew(): boolean;
  release(): void;
};

/**
 * Keeps a second daemon from the same outbox, by a write transaction in a small SQLite file beside it for as long as the daemon
 * runs. The system releases it when the process ends, however it ends. Others can read the file, and so name the holder.
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
  // One transaction, as each waits for the disk four times.
  db.exec("BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS holder (pid INTEGER NOT NULL)");
  db.exec(`DELETE FROM holder; INSERT INTO holder VALUES (${pid}); COMMIT; BEGIN IMMEDIATE`);
}

/** Resolves symbolic links, as two paths may lead to one file. */
async function realPath(path: string): Promise<string> {
  const db = await openDatabase(path);
  const [main] = db.pragma("database_list") as { file: string }[];
  db.close();
  return main?.file || path;
}

function refusal(db: Database, path: string, cause: unknown): string {
  // The advice for a damaged outbox would mislead: this file can be removed.
  if (isDamaged(cause)) return `cannot lock outbox ${path}: ${messageOf(cause)}; remove ${path}.lock`;
  if (!isBusy(cause)) return `cannot lock outbox ${path}: ${messageOf(withRemedy(cause))}`;
  const holder = holderOf(db);
  return `cannot open outbox ${path}: another Fairlead${holder} has it open; stop that process, or set another outbox.path`;
}

function isBusy(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && String(cause.code).startsWith("SQLITE_BUSY");
}

function holderOf(db: Database): string {
  try {
    const row = db.prepare<[], { pid: number }>("SELECT pid FROM holder").get();
    return row ? ` (pid ${row.pid})` : "";
  } catch {
    // The file is being written at this moment: the message does without the pid.
    return "";
  }
}

const LOG_HEADER = 32;
const FRAME_HEADER = 24;

/** The files that the daemon has open while it runs. */
export function openFilesOf(path: string, db: Database, lock: Lock): readonly OpenFile[] {
  const pageSize = Number(db.pragma("page_size", { simple: true }));
  const log: Renewal = { of: "log", run: () => renewLog(db) };
  // The first read creates the log at its path.
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

/** A log whose commits are all in the outbox file may be emptied by hand without loss. */
function leastLog(db: Database, pageSize: number): number {
  const [state] = db.pragma("wal_checkpoint(NOOP)") as { log: number; checkpointed: number }[];
  if (!state || state.log <= state.checkpointed) return 0;
  return LOG_HEADER + state.log * (FRAME_HEADER + pageSize);
}

/** If SQLite cannot read the file any more, it is too short. */
function orAll(least: () => number): () => number {
  return () => {
    try {
      return least();
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  };
}

/** Writes the log into the outbox and begins a new one. Answers false while another program has the outbox open. */
function renewLog(db: Database): boolean {
  try {
    // Leaving WAL mode writes the whole log to the outbox, even if the log was unlinked.
    db.pragma("journal_mode = DELETE");
    db.pragma("journal_mode = WAL");
    look(db);
    return db.pragma("journal_mode", { simple: true }) === "wal";
  } catch {
    return false;
  }
}
