import { NO_ATTEMPTS } from "../../model/attempt.ts";
import type { Settled } from "../replay.ts";
import type { Tx } from "./commits.ts";
import type { Counts } from "./counts.ts";
import type { Kept } from "./kept.ts";
import type { Progress } from "./progress.ts";
import { logOfFirst, type Tried } from "./settle.ts";

export type ReplayRows = {
  /** Those of them that are still settled so wait again. Answers them. */
  run(tx: Tx, settled: readonly Settled[]): readonly Settled[];
};

export type ReplayParts = {
  readonly counts: Counts;
  readonly progress: Progress;
  readonly tried: Tried;
  readonly kept: Kept;
};

export function createReplayRows({ counts, progress, tried, kept }: ReplayParts): ReplayRows {
  return {
    run(tx, settled) {
      const done = settled.filter((one) => again(tx, one));
      for (const { destination, state } of done) {
        counts.add(tx, destination, state, -1);
        counts.add(tx, destination, "waiting", 1);
      }
      return done;
    },
  };

  function again(tx: Tx, one: Settled): boolean {
    if (tried.replay(tx, one, one.state)) return true;
    const segment = one.state === "delivered" ? kept.segmentOf(one.id) : null;
    if (segment === null) return false;
    const { first, acceptedAt } = segment;
    const place = { ...one, segment: first };
    if (progress.letter(tx, place) !== "d") return false;
    const by = kept.deliveredBy(place);
    const body = kept.body(one);
    progress.again(tx, place);
    const waiting = { ...place, body, acceptedAt, dueAt: tx.now, attempts: 0, stoodStill: 0 };
    tried.add(tx, waiting, { log: by ? logOfFirst(by) : NO_ATTEMPTS });
    return true;
  }
}
