import type { SettledState } from "../../model/delivery.ts";
import type { PruneBefore, PruneCounts } from "../../model/ports.ts";
import type { At } from "../../model/units.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";
import type { Progress } from "./progress.ts";
import { createRemoval, type Removed } from "./removal.ts";
import type { Repeats } from "./repeats.ts";
import type { Tried } from "./tried.ts";
import { createVacuum } from "./vacuum.ts";

type Settled = { event: number; destination: string };
type Segment = { first: number };

export type PruneRows = {
  /** Whether there is anything to remove. An idle daemon must not write to the disk again and again. */
  isNeeded(before: PruneBefore): boolean;
  /** Inside a transaction: removes what was kept long enough, about `limit` rows of each kind, and vacuums a little. */
  run(before: PruneBefore, limit: number): PruneCounts & Pick<Removed, "moved">;
  /** Outside of one, when nothing is needed any more: makes the file as short as it can be. */
  finish(): void;
};

export type PruneParts = {
  readonly counts: Counts;
  readonly repeats: Repeats;
  readonly progress: Progress;
  readonly tried: Tried;
};

export function createPrune(db: Database, { counts, repeats, progress, tried }: PruneParts): PruneRows {
  // The state stands in the statement, so that its index can be used.
  const settledIn = (state: SettledState) =>
    db.prepare<[number, number], Settled>(
      `SELECT event, destination FROM tried WHERE state = '${state}' AND settled_at < ? ORDER BY settled_at LIMIT ?`,
    );
  const settled = { delivered: settledIn("delivered"), failed: settledIn("failed"), expired: settledIn("expired") };
  const removeTried = db.prepare<[number, string]>("DELETE FROM tried WHERE event = ? AND destination = ?");
  const settledSegments = db.prepare<[number, number], Segment>(
    "SELECT first FROM segments WHERE open = 0 AND settled_at < ? ORDER BY settled_at LIMIT ?",
  );
  const sparseSegments = db.prepare<[number, number], Segment>(
    `SELECT first FROM segments WHERE open > 0 AND dense = 0 AND events >= open * 2 AND accepted_at < ? ORDER BY accepted_at LIMIT ?`,
  );
  const vacuum = createVacuum(db);
  const removal = createRemoval(db, { counts, tried });

  return {
    isNeeded({ delivered, failed, seen, sparse }) {
      const isOld = (state: SettledState, before: At): boolean => settled[state].get(before, 1) !== undefined;
      const triedBefore = isOld("delivered", delivered) || isOld("failed", failed) || isOld("expired", failed);
      return triedBefore || hasSegments(delivered, sparse) || repeats.hasBefore(seen) || vacuum.isNeeded();
    },
    run({ delivered, failed, seen, sparse }, limit) {
      // What this very transaction has settled has to be in the rows that are read now.
      progress.flush();
      const segments = [...settledSegments.all(delivered, limit), ...sparseSegments.all(sparse ?? 0, limit)];
      const removed = removal.remove(
        segments.map(({ first }) => first),
        limit,
      );
      const others = {
        delivered: removed.delivered + pruneTried("delivered", delivered, limit),
        failed: pruneTried("failed", failed, limit),
        expired: pruneTried("expired", failed, limit),
        unrouted: removed.unrouted,
        moved: removed.moved,
        seen: repeats.prune(seen, limit),
      };
      vacuum.run();
      return others;
    },
    finish: vacuum.finish,
  };

  function hasSegments(before: At, sparse: At | undefined): boolean {
    return settledSegments.get(before, 1) !== undefined || sparseSegments.get(sparse ?? 0, 1) !== undefined;
  }

  function pruneTried(state: SettledState, before: At, limit: number): number {
    const rows = settled[state].all(before, limit);
    for (const { event, destination } of rows) {
      removeTried.run(event, destination);
      counts.add(destination, state, -1);
    }
    return rows.length;
  }
}
