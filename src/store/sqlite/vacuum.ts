import type { Database } from "./driver.ts";

/** Pages given back to the file system at a time: nobody waits long behind it. */
const STEP_PAGES = 500;
/** Free pages that the file keeps: what comes next would only make it grow again. */
const SPARE_PAGES = 256;

/** Gives back what pruning has freed. Without it the file would stay as long as it ever was. */
export type Vacuum = {
  isNeeded(): boolean;
  /** Inside a transaction: gives back a little. */
  run(): void;
  /** Outside of one, when there is nothing more to give back: what was, may still be in the write-ahead log only. */
  finish(): void;
};

export function createVacuum(db: Database): Vacuum {
  const countFree = db.prepare<[], number>("PRAGMA freelist_count").pluck();
  let hasRun = false;

  return {
    isNeeded: () => excess() > 0,
    run() {
      const pages = Math.min(excess(), STEP_PAGES);
      if (pages <= 0) return;
      db.pragma(`incremental_vacuum(${pages})`);
      hasRun = true;
    },
    finish() {
      if (!hasRun) return;
      // The file itself gets shorter by a checkpoint, and an idle daemon has no other.
      db.pragma("wal_checkpoint(PASSIVE)");
      hasRun = false;
    },
  };

  function excess(): number {
    return Number(countFree.get()) - SPARE_PAGES;
  }
}
