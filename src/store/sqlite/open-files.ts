import type { OpenFile, Renewal } from "../presence.ts";
import type { Database } from "./driver.ts";
import type { Lock } from "./lock.ts";
import { logOf } from "./outbox.ts";

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
