import type { SettledState } from "../../model/delivery.ts";
import type { PruneBefore, PruneCounts } from "../../model/ports.ts";
import type { At } from "../../model/units.ts";
import { countLetter } from "../segment.ts";
import type { Keeper, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Kept } from "./kept.ts";
import type { Letters, Segment } from "./segment-rows.ts";
import type { Tables } from "./tables.ts";

type Settled = { event: number; destination: string };
type SegmentNumber = { first: number };

export type PruneRows = {
  /** Whether there is anything to remove. An idle daemon must not write to the disk again and again. */
  isNeeded(before: PruneBefore): boolean;
  /** Removes what was kept long enough, about `limit` rows of each kind, and gives some free pages back. */
  run(tx: Tx, before: PruneBefore, limit: number): PruneCounts & Pick<Removed, "moved">;
  /** Makes the file as short as it can be. To be called outside of a transaction, when there is nothing left to remove. */
  finish(): void;
};

export function createPrune(db: Database, tables: Tables, flush: () => void): PruneRows {
  const { counts, repeats, tail } = tables;
  // The state is part of the statement, so that its index can be used.
  const settledIn = (state: SettledState) =>
    db.prepare<[number, number], Settled>(
      `SELECT event, destination FROM tried WHERE state = '${state}' AND settled_at < ? ORDER BY settled_at LIMIT ?`,
    );
  const settled = { delivered: settledIn("delivered"), failed: settledIn("failed"), expired: settledIn("expired") };
  const removeTried = db.prepare<[number, string]>("DELETE FROM tried WHERE event = ? AND destination = ?");
  const settledSegments = db.prepare<[number, number], SegmentNumber>(
    "SELECT first FROM segments WHERE open = 0 AND settled_at < ? ORDER BY settled_at LIMIT ?",
  );
  const sparseSegments = db.prepare<[number, number], SegmentNumber>(
    `SELECT first FROM segments WHERE open > 0 AND dense = 0 AND events >= open * 2 AND accepted_at < ? ORDER BY accepted_at LIMIT ?`,
  );
  const vacuum = createVacuum(db);
  const removal = createRemoval(db, tables);

  return {
    isNeeded({ delivered, failed, seen, sparse }) {
      const isOld = (state: SettledState, before: At): boolean => settled[state].get(before, 1) !== undefined;
      const removable = (one: Segment): boolean => isRemovable(one, { delivered, sparse: sparse ?? 0 });
      const triedBefore = isOld("delivered", delivered) || isOld("failed", failed) || isOld("expired", failed);
      const stored = hasSegments(delivered, sparse) || repeats.hasBefore(seen) || vacuum.isNeeded();
      return triedBefore || stored || tail.segments().some(removable);
    },
    run(tx, { delivered, failed, seen, sparse }, limit) {
      // The rows read below have to include what this transaction has settled.
      flush();
      const segments = [...settledSegments.all(delivered, limit), ...sparseSegments.all(sparse ?? 0, limit)];
      const numbers = segments.map(({ first }) => first);
      const removed = removal.remove(tx, numbers, limit);
      const others = {
        delivered: removed.delivered + pruneTried(tx, "delivered", delivered, limit),
        failed: pruneTried(tx, "failed", failed, limit),
        expired: pruneTried(tx, "expired", failed, limit),
        unrouted: removed.unrouted,
        moved: removed.moved,
        seen: repeats.prune(tx, seen, limit),
      };
      vacuum.run(tx);
      return others;
    },
    finish: vacuum.finish,
  };

  function hasSegments(before: At, sparse: At | undefined): boolean {
    return settledSegments.get(before, 1) !== undefined || sparseSegments.get(sparse ?? 0, 1) !== undefined;
  }

  function pruneTried(tx: Tx, state: SettledState, before: At, limit: number): number {
    const rows = settled[state].all(before, limit);
    for (const { event, destination } of rows) {
      removeTried.run(event, destination);
      counts.add(tx, destination, state, -1);
    }
    return rows.length;
  }
}

type SegmentsBefore = { readonly delivered: At; readonly sparse: At };

/** As the statements above have it. */
function isRemovable({ events, open, acceptedAt, settledAt }: Segment, { delivered, sparse }: SegmentsBefore): boolean {
  if (open > 0) return events >= open * 2 && acceptedAt < sparse;
  return settledAt !== null && settledAt < delivered;
}

type Removed = {
  readonly delivered: number;
  readonly unrouted: number;
  /** Deliveries that still wait, now in `tried`. */
  readonly moved: number;
};

type Removal = {
  /** Removes these segments, until about `limit` events are gone. Dense segments are marked in place of that. */
  remove(tx: Tx, segments: readonly number[], limit: number): Removed;
};

/** Removes whole segments. A delivery that still waits in one moves to a row of its own in `tried`. */
function createRemoval(db: Database, { counts, tried, kept }: Tables): Removal {
  const isDense = createIsDense(db, kept);
  const removals = ["segments WHERE first", "contents WHERE segment", "progress WHERE segment"].map((what) =>
    db.prepare<[number]>(`DELETE FROM ${what} = ?`),
  );
  const markDense = db.prepare<[number]>("UPDATE segments SET dense = 1 WHERE first = ?");
  const keepNumber = db.prepare<[number]>(
    "INSERT INTO meta VALUES ('next_event', ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
  );

  return {
    remove(tx, segments, limit) {
      let [events, delivered, unrouted, moved, next] = [0, 0, 0, 0, 0];
      for (const first of segments) {
        const segment = kept.segmentOf(first);
        if (!segment) continue;
        const states = kept.letters(first);
        if (isDense(first, states)) {
          markDense.run(first);
          continue;
        }
        for (const row of states) delivered += removeStates(tx, row, segment);
        for (const removal of removals) removal.run(first);
        events += segment.events;
        moved += states.reduce((sum, { waiting }) => sum + waiting, 0);
        unrouted += countUnrouted(states, segment.events);
        next = Math.max(next, first + segment.events);
        if (events >= limit) break;
      }
      if (next > 0) keepNumber.run(next);
      return { delivered, unrouted, moved };
    },
  };

  /** Answers how many were delivered. */
  function removeStates(tx: Tx, row: Letters, segment: Segment): number {
    const delivered = countLetter(row.states, "d");
    counts.add(tx, row.destination, "delivered", -delivered);
    if (row.waiting > 0) setApart(tx, row, segment);
    return delivered;
  }

  function setApart(tx: Tx, { destination, states }: Letters, { first, acceptedAt }: Segment): void {
    const waiting = { destination, segment: first, acceptedAt, dueAt: acceptedAt, attempts: 0, stoodStill: 0 };
    kept.bodies(first).forEach((body, nth) => {
      if (states[nth] === "w") tried.add(tx, { ...waiting, id: first + nth, body });
    });
  }
}

/**
 * Whether the waiting deliveries of a segment would take more space as rows than the whole segment, which is compressed. A damaged
 * segment counts as dense: it stays, and must not block the removal of others.
 */
function createIsDense(db: Database, kept: Kept): (segment: number, letters: readonly Letters[]) => boolean {
  const packedSize = db
    .prepare<[number], number>("SELECT octet_length(bodies) FROM contents WHERE segment = ?")
    .pluck();

  return function isDense(segment, letters) {
    const waiting = letters.filter((row) => row.waiting > 0);
    if (waiting.length === 0) return false;
    const bodies = bodiesOf(segment);
    if (bodies === null) return true;
    const sizes = waiting.map(({ states }) =>
      bodies.reduce((sum, body, nth) => sum + (states[nth] === "w" ? body.length : 0), 0),
    );
    return sizes.reduce((sum, size) => sum + size, 0) >= Number(packedSize.get(segment));
  };

  /** Null if they are damaged: the delivery loop reports that. */
  function bodiesOf(segment: number): readonly string[] | null {
    try {
      return kept.bodies(segment);
    } catch {
      return null;
    }
  }
}

function countUnrouted(rows: readonly Letters[], events: number): number {
  let unrouted = 0;
  for (let at = 0; at < events; at += 1) if (rows.every(({ states }) => states[at] === "-")) unrouted += 1;
  return unrouted;
}

/** Pages given back to the file system in one commit, which has to stay short. */
const STEP_PAGES = 500;
/** Free pages that the file keeps, as new events would only make it grow again. */
const SPARE_PAGES = 256;

/** Gives back the pages that pruning has freed; the file would never shrink otherwise. */
type Vacuum = {
  isNeeded(): boolean;
  /** Gives some pages back. */
  run(tx: Tx): void;
  /** Shortens the file itself. To be called outside of a transaction, when there is nothing more to give back. */
  finish(): void;
};

function createVacuum(db: Database): Vacuum {
  const countFree = db.prepare<[], number>("PRAGMA freelist_count").pluck();
  let hasRun = false;

  return {
    isNeeded: () => excess() > 0,
    run(_tx) {
      const pages = Math.min(excess(), STEP_PAGES);
      if (pages <= 0) return;
      db.pragma(`incremental_vacuum(${pages})`);
      hasRun = true;
    },
    finish() {
      if (!hasRun) return;
      // Only a checkpoint shortens the file, and an idle daemon makes no other.
      db.pragma("wal_checkpoint(PASSIVE)");
      hasRun = false;
    },
  };

  function excess(): number {
    return Number(countFree.get()) - SPARE_PAGES;
  }
}

/** How many bytes of the file are in use. Free pages do not count: they are reused first. */
export type Size = Keeper & {
  used(): number;
  /** Runs something whose use of space is temporary, so that it does not count. */
  borrow<T>(tx: Tx, run: () => T): T;
  /** The borrowed space was given back. */
  repaid(tx: Tx): void;
};

/** `measured` is called now, and after each commit. */
export function createSize(db: Database, measured: (used: number) => void): Size {
  const pageSize = Number(db.pragma("page_size", { simple: true }));
  const pages = db
    .prepare<[], number>("SELECT p.page_count - f.freelist_count FROM pragma_page_count p, pragma_freelist_count f")
    .pluck();
  let used = measure();
  let writing = used;
  // Bytes, as of the last commit and as of the transaction.
  let [borrowed, borrowing] = [0, 0];
  measured(used);

  return {
    used: () => used,
    borrow(_tx, run) {
      const before = measure();
      const result = run();
      borrowing = Math.max(0, borrowing + measure() - before);
      return result;
    },
    repaid() {
      borrowing = 0;
    },
    write() {
      // Measured before the commit: nothing that can fail may come between a commit and its receipts.
      writing = measure() - borrowing;
    },
    committed() {
      used = writing;
      borrowed = borrowing;
      measured(used);
    },
    rolledBack() {
      borrowing = borrowed;
    },
  };

  function measure(): number {
    return Number(pages.get()) * pageSize;
  }
}
