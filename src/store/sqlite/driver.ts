import type BetterSqlite3 from "better-sqlite3";
import { type Ms, SECOND } from "../../model/units.ts";
import { isCompiled, loadNativePart } from "../../runtime/native-part.ts";

export type Database = BetterSqlite3.Database;
export type Statement<Bound extends unknown[] = unknown[], Row = unknown> = BetterSqlite3.Statement<Bound, Row>;
/** Opens a database. Throws as SQLite does. */
type Open = (path: string, options?: BetterSqlite3.Options) => Database;

/** Opens an SQLite file. Rejects with a remedy when the driver's native part cannot be loaded, or the file not be opened. */
export async function openDatabase(path: string): Promise<Database> {
  const open = await loadDriver();
  try {
    return open(path);
  } catch (cause) {
    const remedy = "its folder must exist, and this user must be allowed to write there";
    throw new Error(`cannot open ${path}: ${messageOf(cause)}; ${remedy}`, { cause });
  }
}

/** Opens another file without waiting. The driver has to be loaded: a database was opened before. */
export function openAtOnce(path: string): Database {
  if (!driver) throw new Error(`cannot open ${path}: SQLite is not loaded yet`);
  return driver(path);
}

/**
 * Opens an existing SQLite file to read it while others have it open. The connection may still write: in WAL mode a reader
 * updates the shared-memory file. Rejects as above.
 */
export async function openExisting(path: string): Promise<Database> {
  return await openBeside(path, {});
}

/**
 * The same, but leaves the file and its log unchanged. Otherwise the last connection to close would write the log into the file,
 * and the daemon's next start could not report that the log is damaged.
 */
export async function openToRead(path: string, log: { readonly size: number } | null): Promise<Database> {
  // Without a log there is nothing to keep, and a read-only connection would leave its own files behind.
  return await openBeside(path, { readonly: log !== null && log.size > 0 });
}

async function openBeside(path: string, options: BetterSqlite3.Options): Promise<Database> {
  const open = await loadDriver();
  try {
    return open(path, { ...options, fileMustExist: true, timeout: READER_TIMEOUT });
  } catch (cause) {
    const remedy = "it must exist, and this user must be allowed to read it and to write in its folder";
    throw new Error(`cannot open ${path}: ${messageOf(cause)}; ${remedy}`, { cause });
  }
}

/** A reader only ever waits while a log is created or recovered. */
const READER_TIMEOUT: Ms = 5 * SECOND;

/** Opens a temporary file, which is removed when it is closed. Rejects as above. */
export async function openTemporary(): Promise<Database> {
  const open = await loadDriver();
  return open("");
}

/** Whether an error means that the disk is full or broken; not that the file is locked, or a row wrong. */
export function isDiskFailure(error: unknown): boolean {
  const code = codeOf(error);
  return code === "SQLITE_FULL" || code.startsWith("SQLITE_IOERR");
}

/** Whether an error means that a file is no store, or a damaged one. */
export function isDamaged(error: unknown): boolean {
  const code = codeOf(error);
  return code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB";
}

/** The code of an error, of SQLite or our own; empty if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** The error with advice for the operator, if the disk or the file is the cause. */
export function withRemedy(error: unknown): unknown {
  const code = codeOf(error);
  const [, remedy] = REMEDIES.find(([prefix]) => code.startsWith(prefix)) ?? [];
  return remedy === undefined ? error : Object.assign(new Error(`${messageOf(error)}; ${remedy}`), { code });
}

const REMEDIES: readonly (readonly [code: string, remedy: string])[] = [
  ["SQLITE_FULL", "free space on its disk"],
  ["SQLITE_IOERR", "its disk fails, is full or became read-only: see the kernel's log (dmesg)"],
  ["SQLITE_READONLY", "its disk is mounted read-only, or this user may not write to it"],
  [
    "SQLITE_CORRUPT",
    `the file is damaged: stop Fairlead, and restore a backup, or what "sqlite3 FILE .recover" can read`,
  ],
  ["SQLITE_NOTADB", "it is no SQLite file, or its header is damaged: restore a backup, or set another outbox.path"],
];

let loaded: Promise<Open> | undefined;
let driver: Open | undefined;

/** Loads the driver once: two copies of SQLite in one process would break each other's locks. */
function loadDriver(): Promise<Open> {
  loaded ??= load().catch((cause: unknown) => {
    throw new Error(describe(cause), { cause });
  });
  return loaded;
}

async function load(): Promise<Open> {
  const part = isCompiled() ? await (await import("#sqlite/native-part")).findNativePart() : null;
  const { default: Database } = await import("better-sqlite3");
  const native = part === null ? {} : { nativeBinding: loadNativePart(part) };
  const open: Open = (path, options) => new Database(path, { ...options, ...native } as BetterSqlite3.Options);
  // When run from sources, the native part is loaded with the first database.
  open(":memory:").close();
  driver = open;
  return open;
}

function describe(cause: unknown): string {
  const [why] = messageOf(cause).split("\n");
  const remedy = isCompiled()
    ? "set TMPDIR to a folder with 3 MB of free space that is not mounted noexec"
    : "install the packages again (make install)";
  return `cannot load SQLite for ${process.platform}-${process.arch}: ${why}; ${remedy}`;
}

export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

/** Bytes of all pages of a store. */
export function sizeOf(db: Database): number {
  return Number(db.pragma("page_count", { simple: true })) * Number(db.pragma("page_size", { simple: true }));
}
