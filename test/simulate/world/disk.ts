/**
 * The disk under SQLite, as false as the network. It forgets nothing when a process dies, so that nobody has to wait until it
 * is safe; it refuses commits when it is told to; and it says when one is about to be made, and when it has been made, because
 * a process can die at just those moments.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Database, openDatabase, type Statement } from "../../../src/store/sqlite/driver.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { SCRATCH } from "../../scratch.ts";
import { AMPLE, createFalseReport } from "../../store/harness.ts";

/** Where in a transaction the disk refuses. */
export type Refusing = "begin" | "insert" | "commit";
export const REFUSALS: readonly Refusing[] = ["begin", "insert", "commit"];

/** What becomes of the writes to one file. */
export type Writes = {
  /** Throws if the disk refuses this now. */
  allow(what: Refusing): void;
  /** The process may die here. */
  moment(): void;
};

export type FalseDisk = {
  /** An outbox that is new. Answers its path. */
  fresh(): string;
  /** The files of an outbox as they are at this moment, for another process. Answers the path. */
  copy(path: string): string;
  /** From now on, this is asked before each write to the outbox. */
  watch(path: string, writes: Writes): void;
  /** No process has it open any more. */
  close(path: string): void;
  /** Nobody needs it any more. */
  forget(path: string): void;
  remove(): void;
};

const watched = new Map<string, Writes>();
const open = new Map<string, Set<Database>>();
let isPatched = false;

export async function createFalseDisk(): Promise<FalseDisk> {
  await patchDriver();
  const folder = mkdtempSync(join(SCRATCH, "fairlead-simulate-"));
  const template = join(folder, "template.db");
  await makeTemplate(template);
  let count = 0;
  const next = (): string => join(folder, `${count++}.db`);

  return {
    fresh() {
      const path = next();
      copyFileSync(template, path);
      return path;
    },
    copy(path) {
      const copy = next();
      for (const end of ["", "-wal"]) if (existsSync(path + end)) copyFileSync(path + end, copy + end);
      return copy;
    },
    watch: (path, writes) => void watched.set(path, writes),
    close,
    forget(path) {
      close(path);
      for (const end of ["", "-wal", "-shm", ".lock", ".lock-journal"]) rmSync(path + end, { force: true });
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };

  function close(path: string): void {
    watched.delete(path);
    for (const name of [path, `${path}.lock`]) {
      for (const db of open.get(name) ?? []) if (db.open) db.close();
      open.delete(name);
    }
  }
}

/** An outbox that nobody has used yet: to make one takes as long as a whole run. */
async function makeTemplate(path: string): Promise<void> {
  const store = await openStore({
    path,
    ...AMPLE,
    pid: 1,
    clock: createFalseClock(),
    report: createFalseReport([]),
  });
  await store.close();
  const db = await openDatabase(path);
  // The one thing in it that is left to chance.
  db.exec("UPDATE salt SET value = 'salt'; UPDATE call_key SET value = 'key'");
  db.close();
}

/** All files of this process are opened by this driver. It is patched once, and changes nothing for files that nobody watches. */
async function patchDriver(): Promise<void> {
  if (isPatched) return;
  isPatched = true;
  const any = await openDatabase(":memory:");
  const driver = Object.getPrototypeOf(any) as Database;
  any.close();
  const { pragma, prepare } = driver;
  driver.pragma = function patched(this: Database, text: string, options?: object) {
    if (!isOurs(this)) return pragma.call(this, text, options);
    note(this, pragma);
    return pragma.call(this, text.replace("synchronous = FULL", "synchronous = OFF"), options);
  } as Database["pragma"];
  driver.prepare = function patched(this: Database, text: string) {
    const statement = prepare.call(this, text);
    const kind = kindOf(text);
    if (kind && isOurs(this)) guard(statement, kind, this.name);
    return statement;
  } as Database["prepare"];
}

function isOurs({ name }: Database): boolean {
  return name.includes("fairlead-simulate-");
}

/** A kill leaves what was written, whether it was made safe or not: only a power cut would not. */
function note(db: Database, pragma: Database["pragma"]): void {
  const known = open.get(db.name) ?? new Set();
  open.set(db.name, known);
  if (known.has(db)) return;
  known.add(db);
  pragma.call(db, "synchronous = OFF");
  if (db.name.endsWith(".lock")) pragma.call(db, "journal_mode = MEMORY");
}

function kindOf(text: string): Refusing | null {
  if (text === "COMMIT") return "commit";
  if (text === "BEGIN IMMEDIATE") return "begin";
  return /^\s*(INSERT INTO (contents|tried|changes)|UPDATE (tried|progress))\b/.test(text) ? "insert" : null;
}

function guard(statement: Statement, kind: Refusing, path: string): void {
  const { run } = statement;
  statement.run = function guarded(this: Statement, ...bound: unknown[]) {
    const writes = watched.get(path);
    if (kind === "commit") writes?.moment();
    writes?.allow(kind);
    const result = run.apply(this, bound);
    if (kind === "commit") writes?.moment();
    return result;
  };
}

/** As the driver says it. */
export function diskError(code: "SQLITE_FULL" | "SQLITE_IOERR_WRITE"): Error {
  const message = code === "SQLITE_FULL" ? "database or disk is full" : "disk I/O error";
  return Object.assign(new Error(message), { code });
}
