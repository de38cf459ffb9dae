import type { Gone } from "../../model/disk.ts";
import type { Clock } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import { MINUTE, type Ms, SECOND } from "../../model/units.ts";
import type { Commits } from "./commits.ts";
import type { Counts } from "./counts.ts";
import { type Database, isDamaged, messageOf, type Statement } from "./driver.ts";

/** Rows checked in one step, which has to stay short. */
const STEP_ROWS = 500;
/**
 * The pause between two steps of about 4 ms, and between two rounds. A round over a million deliveries takes 67 minutes, and four
 * seconds of processor time.
 */
const STEP_EVERY: Ms = 2 * SECOND;
const ALL_EVERY: Ms = 10 * MINUTE;

export type IndexCheckWorld = {
  readonly commits: Commits;
  readonly counts: Pick<Counts, "all">;
  readonly clock: Pick<Clock, "sleep">;
  readonly report: Pick<Report, "storeFailed">;
  /** A store whose file is gone is not checked. */
  readonly gone: () => Gone | null;
  /** Called after an index was rebuilt, so that waiting deliveries are read again. */
  readonly moved: () => void;
};

/**
 * The delivery loops find waiting deliveries by two indexes. If the disk changes a byte in one of them, a delivery becomes
 * invisible although its row is intact. So each waiting row is looked up by its index, a page of rows at a time, and an index
 * that misses one is rebuilt from its table.
 */
export function createIndexCheck(db: Database, world: IndexCheckWorld): (signal: AbortSignal) => Promise<void> {
  const walks = [createTriedWalk(db), createProgressWalk(db)];

  return async function watch(signal) {
    for (let left = walks.slice(); ; ) {
      await world.clock.sleep(left.length > 0 ? STEP_EVERY : ALL_EVERY, signal);
      if (signal.aborted) return;
      const [walk, ...others] = left;
      if (walk === undefined) left = walks.slice();
      else if (!isAnythingWaiting() || world.gone() !== null || (await step(walk)) === "end") left = others;
    }
  };

  function isAnythingWaiting(): boolean {
    return world.counts.all().some(({ state, count }) => state === "waiting" && count > 0);
  }

  async function step(walk: Walk): Promise<"more" | "end"> {
    try {
      const { missed, end } = walk.next();
      if (missed > 0) await repair(walk.index(), `it misses waiting deliveries (at least ${missed})`);
      return end ? "end" : "more";
    } catch (error) {
      walk.restart();
      if (isDamaged(error)) await repair(walk.index(), messageOf(error));
      else world.report.storeFailed(`check the index ${walk.index()}`, error);
      return "end";
    }
  }

  async function repair(index: string, why: string): Promise<void> {
    const failed = (error: unknown): string => `it cannot be rebuilt: ${messageOf(error)}; ${RECOVERY}`;
    const run = (): string => {
      db.exec(`REINDEX ${index}`);
      return "it was rebuilt";
    };
    const done = await world.commits.add({ rows: STEP_ROWS, run, failed });
    world.report.storeFailed(`check the index ${index}`, new Error(`it is damaged: ${why}; ${done}. ${LOOK_AT_DISK}`));
    world.moved();
  }
}

const RECOVERY = `stop Fairlead, and restore a backup, or what "sqlite3 FILE .recover" can read`;
const LOOK_AT_DISK = "The disk has changed stored data: check it (dmesg, smartctl)";

/** Walks through a table from its start to its end, and then from the start again. */
type Walk = {
  /** The current name of the index. */
  index(): string;
  /** Checks the next rows: how many their index misses, and whether they were the last. Throws if it is damaged. */
  next(): { readonly missed: number; readonly end: boolean };
  restart(): void;
};

function createTriedWalk(db: Database): Walk {
  // Erasing users rewrites the table, which renames its indexes.
  const nameOf = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'tried' AND name LIKE 'tried_due%'",
    )
    .pluck();
  const index = (): string => nameOf.get() ?? "tried_due";
  let [known, page] = [index(), prepareTriedPage(db, index())];
  return createWalk(index, -1, (after) => {
    const name = index();
    if (name !== known) [known, page] = [name, prepareTriedPage(db, name)];
    return page.all(after).map(({ at, missed }) => ({ missed, at }));
  });
}

function prepareTriedPage(db: Database, index: string): Statement<[number], { at: number; missed: number }> {
  return db.prepare<[number], { at: number; missed: number }>(
    `SELECT t.rowid AS at, t.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM tried i INDEXED BY ${index}
       WHERE i.state = 'waiting' AND i.destination = t.destination AND i.due_at = t.due_at AND i.event = t.event
       AND i.rowid = t.rowid) AS missed
     FROM tried t NOT INDEXED WHERE t.rowid > ? ORDER BY t.rowid LIMIT ${STEP_ROWS}`,
  );
}

function createProgressWalk(db: Database): Walk {
  type Row = { segment: number; destination: string; missed: number };
  const page = db.prepare<[number, string], Row>(
    `SELECT p.segment, p.destination, p.waiting > 0 AND NOT EXISTS (SELECT 1 FROM progress i INDEXED BY progress_waiting
       WHERE i.waiting > 0 AND i.destination = p.destination AND i.segment = p.segment) AS missed
     FROM progress p NOT INDEXED WHERE (p.segment, p.destination) > (?, ?) ORDER BY p.segment, p.destination LIMIT ${STEP_ROWS}`,
  );
  return createWalk(
    () => "progress_waiting",
    { segment: -1, destination: "" },
    ({ segment, destination }) => page.all(segment, destination).map(({ missed, ...at }) => ({ missed, at })),
  );
}

type Seen<At> = { readonly missed: number; readonly at: At };

function createWalk<At>(index: Walk["index"], start: At, rowsAfter: (at: At) => readonly Seen<At>[]): Walk {
  let at = start;
  return {
    index,
    next() {
      const rows = rowsAfter(at);
      const end = rows.length < STEP_ROWS;
      at = end ? start : (rows.at(-1)?.at ?? start);
      return { missed: rows.filter(({ missed }) => missed === 1).length, end };
    },
    restart() {
      at = start;
    },
  };
}
