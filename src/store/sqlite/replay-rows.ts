import { NO_ATTEMPTS } from "../../model/attempt.ts";
import type { Delivery, SettledState } from "../../model/delivery.ts";
import type { At } from "../../model/units.ts";
import type { Counts } from "./counts.ts";
import type { Kept } from "./kept.ts";
import type { Progress } from "./progress.ts";
import { logOfFirst, type Tried } from "./settle.ts";

/** A delivery that was settled when it was looked up. */
export type Settled = Pick<Delivery, "id" | "destination"> & { readonly state: SettledState };

export type ReplayRows = {
  /** Inside a transaction: those of them that are still settled so wait again. Answers them. */
  run(settled: readonly Settled[], now: At): readonly Settled[];
};

export type ReplayParts = {
  readonly counts: Counts;
  readonly progress: Progress;
  readonly tried: Tried;
  readonly kept: Kept;
};

export function createReplayRows({ counts, progress, tried, kept }: ReplayParts): ReplayRows {
  return {
    run(settled, now) {
      const done = settled.filter((one) => again(one, now));
      for (const { destination, state } of done) {
        counts.add(destination, state, -1);
        counts.add(destination, "waiting", 1);
      }
      return done;
    },
  };

  function again(one: Settled, at: At): boolean {
    if (tried.replay(one, { state: one.state, at })) return true;
    const segment = one.state === "delivered" ? kept.segmentOf(one.id) : null;
    if (segment === null) return false;
    const { first, acceptedAt } = segment;
    const place = { ...one, segment: first };
    if (progress.letter(place) !== "d") return false;
    const by = kept.deliveredBy(place);
    const body = kept.body(one);
    progress.again(place);
    tried.add(
      { ...place, body, acceptedAt, dueAt: at, attempts: 0, stoodStill: 0 },
      { at, log: by ? logOfFirst(by) : NO_ATTEMPTS },
    );
    return true;
  }
}
