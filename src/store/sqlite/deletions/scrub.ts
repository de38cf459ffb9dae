import type { Fault } from "../../../model/fault.ts";
import type { Clock } from "../../../model/ports.ts";
import type { Commits } from "../commits.ts";
import type { Database } from "../driver.ts";

/** Pages given back in one step: nobody waits long behind it. */
const STEP_PAGES = 500;
/** Steps, in case that pruning frees pages as fast as they are given back: 10 GB of them. */
const MOST_STEPS = 5_000;

export type ScrubWorld = {
  readonly commits: Commits;
  readonly clock: Pick<Clock, "nextTurn">;
  readonly failed: (error: unknown) => Fault;
};

/**
 * Removes what the engine has left of rows that are gone: free pages, by giving all of them back to the file system, and the
 * write-ahead log, by making it empty. Answers false while somebody else who reads the file keeps it from the latter.
 */
export function createScrub(db: Database, { commits, clock, failed }: ScrubWorld): () => Promise<boolean | Fault> {
  const countFree = db.prepare<[], number>("PRAGMA freelist_count").pluck();

  return async function scrub() {
    for (let steps = 0; steps < MOST_STEPS && Number(countFree.get()) > 0; steps += 1) {
      const run = (): null => {
        db.pragma(`incremental_vacuum(${STEP_PAGES})`);
        return null;
      };
      const refused = await commits.add<Fault | null>({ rows: STEP_PAGES, run, failed });
      if (refused !== null) return refused;
      await clock.nextTurn();
    }
    return emptyLog(db);
  };
}

/** Whoever reads is not waited for: the whole daemon would be. */
function emptyLog(db: Database): boolean {
  const patience = Number(db.pragma("busy_timeout", { simple: true }));
  db.pragma("busy_timeout = 0");
  try {
    const [said] = db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
    return said?.busy === 0;
  } finally {
    db.pragma(`busy_timeout = ${patience}`);
  }
}
