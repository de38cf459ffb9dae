// Opens the store for backup, restore and doctor. Beside it, only copy-ends.ts does.

import type { NewFile } from "../model/disk.ts";
import type { Contents } from "../model/lookup.ts";
import { type At, formatSize, GB } from "../model/units.ts";
import { disk } from "../runtime/disk.ts";
import { accessTo, storedFile } from "../runtime/stored-file.ts";
import { type Copied, checkCopy, copyPages, countRows, damageOfLog, readContents } from "../store/sqlite/copy.ts";
import { type Database, isDamaged, messageOf, openExisting, openToRead, sizeOf } from "../store/sqlite/driver.ts";
import { LARGEST_LOG, lockOutbox, logOf } from "../store/sqlite/files.ts";
import { readMemory } from "../store/sqlite/meta.ts";
import { faultOfSchema, SCHEMA_VERSION, type SchemaFault } from "../store/sqlite/schema.ts";
import { type Complaint, failed } from "./command.ts";
import type { StoreFacts } from "./doctor/judge.ts";

export { type Copied, isDamaged, LARGEST_LOG, lockOutbox, logOf, messageOf };

/** An outbox opened for reading, with or without a running daemon. Nothing in it changes. */
export type OutboxFile = {
  /** Bytes of its pages. */
  readonly size: number;
  /** Why this version cannot use its schema; null if it can. */
  readonly schemaFault: SchemaFault | null;
  /** Null if it is an SQLite file of something else. */
  contents(): Contents | null;
  /** Copies a snapshot and checks the copy. `stepped` is called after each step; if it throws, the copy ends. */
  copyTo(file: NewFile, options: CopyOptions): Promise<Contents | Complaint>;
  close(): void;
};

export type CopyOptions = {
  /** The subject of the message if the copy is bad. */
  readonly subject: string;
  readonly stepped?: (copied: Copied) => void;
  /** Called before the copy is checked, which may take long. */
  readonly checking?: () => void;
};

/** Opens an outbox to read it. Rejects if it cannot be read. */
export async function openOutbox(path: string): Promise<OutboxFile> {
  const db = await openToRead(path, storedFile(logOf(path)));
  try {
    return {
      size: sizeOf(db),
      // This is the first read, which also opens the log.
      schemaFault: faultOfSchema(schemaOf(db)),
      contents: () => readContents(db),
      copyTo: (file, options) => copyAndCheck(db, file, options),
      close: () => db.close(),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

async function copyAndCheck(db: Database, file: NewFile, { subject, stepped, checking }: CopyOptions) {
  let rows: Rows = {};
  const look = (at: Database): void => {
    rows = countRows(at);
  };
  await copyPages(db, file, { look, stepped });
  checking?.();
  const contents = await checkOutbox(file.path, subject);
  if ("code" in contents) return contents;
  const copied = await rowsOf(file.path);
  const wrong = Object.keys(rows).find((table) => rows[table] !== copied[table]);
  if (wrong === undefined) return contents;
  return failed(`store_damaged: the copy has ${copied[wrong]} rows in ${wrong}, and the outbox ${rows[wrong]}`);
}

type Rows = Readonly<Record<string, number>>;

async function rowsOf(path: string): Promise<Rows> {
  const db = await openExisting(path);
  try {
    return countRows(db);
  } finally {
    db.close();
  }
}

/** Checks a finished copy completely, and answers its contents. `subject`: what the message calls unusable. */
export async function checkOutbox(path: string, subject: string): Promise<Contents | Complaint> {
  const checked = await checkCopy(path, "full");
  if ("contents" in checked) return checked.contents;
  return failed(`${checked.code}: ${subject} cannot be used: ${checked.message}`);
}

function schemaOf(db: Database): number {
  return Number(db.pragma("user_version", { simple: true }));
}

/** What a damaged log beside an outbox has lost; null if nothing. */
export function lossInLog(path: string): Promise<string | null> {
  return damageOfLog(path, disk);
}

/** Merges the log of a killed daemon into its outbox, leaving one file. */
export async function foldLog(outbox: string): Promise<void> {
  const db = await openExisting(outbox);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}

/** Why a folder has no room for a copy of this size; null if it has. `spared` bytes must stay free. */
export async function lackOfRoom(folder: string, bytes: number, spared = 0): Promise<string | null> {
  const space = await disk.space(folder).catch(() => null);
  if (space === null || space.free >= bytes + spared) return null;
  const why = spared > 0 ? `, of which ${formatSize(spared)} are reserved for the daemon (outbox.freeDisk)` : "";
  return `no_room: the copy needs ${formatSize(bytes)}, but ${formatSize(space.free)} are free in ${folder}${why}`;
}

/** `usual` does not check a large outbox: that takes long, and the log of a running daemon grows meanwhile. */
export type Depth = "usual" | "full";

export type StoreLook = {
  readonly facts: StoreFacts;
  /** The latest time in it from a trusted clock; null if there is none. */
  readonly seenAt: At | null;
};

const LARGE = 2 * GB;

/** Examines the outbox for `fairlead doctor`. */
export async function lookAtStore(path: string, depth: Depth): Promise<StoreLook> {
  const access = accessTo(path);
  if (access === "missing") return { facts: { kind: "missing", path }, seenAt: null };
  if (access === "denied") return { facts: { kind: "closed", path, why: "permission denied" }, seenAt: null };
  let db: Database | null = null;
  try {
    db = await openToRead(path, storedFile(logOf(path)));
    db.pragma("query_only = ON");
    return await readFacts(db, path, depth);
  } catch (error) {
    return { facts: { kind: "broken", path, why: messageOf(error) }, seenAt: null };
  } finally {
    db?.close();
  }
}

async function readFacts(db: Database, path: string, depth: Depth): Promise<StoreLook> {
  const lost = await lossInLog(path);
  const schema = schemaOf(db);
  // The last writes may only be in its log.
  const bytes = [path, logOf(path)].reduce((sum, file) => sum + (storedFile(file)?.size ?? 0), 0);
  const inFile = depth === "usual" && bytes > LARGE ? null : damageIn(db, depth);
  const contents = schema > 0 ? readContents(db) : null;
  const facts: StoreFacts = {
    kind: "read",
    path,
    bytes,
    schema,
    newest: SCHEMA_VERSION,
    refused: faultOfSchema(schema),
    contents,
    damage: lost === null ? inFile : [lost, ...(inFile ?? [])],
  };
  return { facts, seenAt: contents === null ? null : (readMemory(db)?.trusted?.wall ?? null) };
}

function damageIn(db: Database, depth: Depth): readonly string[] {
  const rows = db.pragma(depth === "full" ? "integrity_check(5)" : "quick_check(5)") as Record<string, string>[];
  return rows.flatMap((row) => Object.values(row)).filter((text) => text !== "ok");
}
