import type BetterSqlite3 from "better-sqlite3";
import { type Ms, SECOND } from "../../model/units.ts";

export type Database = BetterSqlite3.Database;
export type Statement<Bound extends unknown[] = unknown[], Row = unknown> = BetterSqlite3.Statement<Bound, Row>;
type Driver = typeof BetterSqlite3;

/** Opens an SQLite file. Rejects with a remedy when the driver's native part cannot be loaded, or the file not be opened. */
export async function openDatabase(path: string): Promise<Database> {
  const Database = await loadDriver();
  try {
    return new Database(path);
  } catch (cause) {
    const remedy = "its folder has to exist, and this user has to be allowed to write there";
    throw new Error(`cannot open ${path}: ${messageOf(cause)}; ${remedy}`, { cause });
  }
}

/** Opens another file at once, by the driver that has opened this one. */
export function openAlike(db: Database, path: string): Database {
  return new (db.constructor as Driver)(path);
}

/**
 * Opens an SQLite file that is there, to read it beside whoever else has it open. It may be written all the same: a reader keeps
 * notes in the file beside it that a write-ahead log has. Rejects as above.
 */
export async function openExisting(path: string): Promise<Database> {
  return await openBeside(path, {});
}

/**
 * The same, and leaves the file and this log of it as they are: who closes an outbox last writes its log into it, and what the
 * daemon would tell of a damaged log at its next start is gone.
 */
export async function openToRead(path: string, log: { readonly size: number } | null): Promise<Database> {
  // Without a log there is none to keep, and what a reader has made beside the file would stay.
  return await openBeside(path, { readonly: log !== null && log.size > 0 });
}

async function openBeside(path: string, options: BetterSqlite3.Options): Promise<Database> {
  const Database = await loadDriver();
  try {
    return new Database(path, { ...options, fileMustExist: true, timeout: READER_TIMEOUT });
  } catch (cause) {
    const remedy = "it has to be there, and this user has to be allowed to read it and to write beside it";
    throw new Error(`cannot open ${path}: ${messageOf(cause)}; ${remedy}`, { cause });
  }
}

/** A reader waits only for the moment in which a log is begun or brought in order. */
const READER_TIMEOUT: Ms = 5 * SECOND;

/** Opens a file of its own, where temporary files go: it is gone when it is closed. Rejects as above. */
export async function createTemporary(): Promise<() => Database> {
  const Database = await loadDriver();
  return () => new Database("");
}

/** Whether an error says that the disk is full or broken, and not that somebody else has the file, or that a row is wrong. */
export function isDiskFailure(error: unknown): boolean {
  const code = codeOf(error);
  return code === "SQLITE_FULL" || code.startsWith("SQLITE_IOERR");
}

/** Whether an error says that a file is no store, or a damaged one. */
export function isDamaged(error: unknown): boolean {
  const code = codeOf(error);
  return code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB";
}

/** The code of an error, SQLite's or our own; empty if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** The error as an operator is told of it: where the disk or the file is to blame, with what to do. */
export function withRemedy(error: unknown): unknown {
  const code = codeOf(error);
  const [, remedy] = REMEDIES.find(([prefix]) => code.startsWith(prefix)) ?? [];
  return remedy === undefined ? error : Object.assign(new Error(`${messageOf(error)}; ${remedy}`), { code });
}

const REMEDIES: readonly (readonly [code: string, remedy: string])[] = [
  ["SQLITE_FULL", "make room on its disk"],
  ["SQLITE_IOERR", "its disk fails, is full or was made read-only: see the kernel's log (dmesg)"],
  ["SQLITE_READONLY", "its disk is mounted read-only, or this user may not write to it"],
  [
    "SQLITE_CORRUPT",
    `the file is damaged: stop Fairlead, and restore a backup, or what "sqlite3 FILE .recover" can read`,
  ],
  ["SQLITE_NOTADB", "it is something else, or its beginning is damaged: restore a backup, or set another outbox.path"],
];

async function loadDriver(): Promise<Driver> {
  try {
    const Database = await importDriver();
    // The native part is loaded with the first database only.
    new Database(":memory:").close();
    return Database;
  } catch (cause) {
    throw new Error(describe(cause), { cause });
  }
}

/**
 * The native part is imported by its exact name for one platform, so that the compiler puts it into the binary: it
 * replaces `process.platform` and `process.arch` by the target's and drops the other branches. The C library is no
 * constant: package.json maps these names to musl's under the condition of that name (`--conditions=musl`).
 */
async function importDriver(): Promise<Driver> {
  if (process.platform === "linux" && process.arch === "x64") {
    return (await import("#sqlite/linux-x64")).default;
  }
  if (process.platform === "linux" && process.arch === "arm64") {
    return (await import("#sqlite/linux-arm64")).default;
  }
  return (await import("better-sqlite3")).default;
}

/** A compiled binary writes the native part to the temporary folder and loads it from there. */
function describe(cause: unknown): string {
  const [why] = messageOf(cause).split("\n");
  return (
    `cannot load SQLite for ${process.platform}-${process.arch}: ${why}. The binary unpacks it into the ` +
    "temporary folder; if that is read-only, full or mounted noexec, set TMPDIR to a folder where programs may be run"
  );
}

export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
