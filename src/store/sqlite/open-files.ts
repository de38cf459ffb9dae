import type { OpenEngine, OpenFiles } from "../presence.ts";
import type { Database } from "./driver.ts";
import { logOf } from "./outbox.ts";

const LOG_HEADER = 32;
const FRAME_HEADER = 24;

/** What SQLite has open of an outbox, for as long as the daemon runs. */
export function filesOf(path: string): OpenFiles {
  return { path, beside: [logOf(path), `${path}-shm`] };
}

/** What SQLite knows of the files that it has open. */
export function createEngine(db: Database, path: string): OpenEngine {
  const pageSize = Number(db.pragma("page_size", { simple: true }));
  // With the first look the log is opened, and is at its path.
  look();

  return {
    least(of) {
      try {
        if (of === path) return Math.max(1, Number(db.pragma("page_count", { simple: true })) * pageSize);
        return of === logOf(path) ? leastLog() : 0;
      } catch {
        // It cannot even read it any more.
        return Number.POSITIVE_INFINITY;
      }
    },
    renewLog() {
      try {
        // This way all of its log is written to its file first, whether the log still has a name or not.
        db.pragma("journal_mode = DELETE");
        db.pragma("journal_mode = WAL");
        look();
        return db.pragma("journal_mode", { simple: true }) === "wal";
      } catch {
        return false;
      }
    },
  };

  function look(): void {
    db.prepare("SELECT 1 FROM sqlite_schema").get();
  }

  /** What is in the file itself already may go: whoever empties the log by hand takes nothing away. */
  function leastLog(): number {
    const [state] = db.pragma("wal_checkpoint(NOOP)") as { log: number; checkpointed: number }[];
    if (!state || state.log <= state.checkpointed) return 0;
    return LOG_HEADER + state.log * (FRAME_HEADER + pageSize);
  }
}
