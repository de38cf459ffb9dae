import type { Migrating } from "../../model/supervisor.ts";
import { MB } from "../../model/units.ts";
import { type Database, messageOf, openDatabase, withRemedy } from "./driver.ts";
import { migrate, SCHEMA_VERSION } from "./migrations.ts";

/** Bytes that the write-ahead log keeps when it begins anew. It has more only while another program reads for long. */
export const LARGEST_LOG = 64 * MB;

/** Where the write-ahead log of an outbox is. */
export function logOf(path: string): string {
  return `${path}-wal`;
}

/** Opens the outbox's file, or makes it, in the way that the store needs it. Rejects with a message for the operator. */
export async function openOutbox(path: string, migrating?: Migrating): Promise<Database> {
  const db = await openDatabase(path);
  try {
    prepare(db, migrating);
    return db;
  } catch (cause) {
    db.close();
    throw cannotOpen(path, cause);
  }
}

/** For the operator, who has to know which file it is, and what to do. */
export function cannotOpen(path: string, cause: unknown): Error {
  return new Error(`cannot open outbox ${path}: ${messageOf(withRemedy(cause))}`, { cause });
}

function prepare(db: Database, migrating: Migrating | undefined): void {
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
  migrate(db, SCHEMA_VERSION, migrating);
}
