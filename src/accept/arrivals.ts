import type { Observer } from "../model/observer.ts";
import type { Clock } from "../model/ports.ts";
import { createRate, type Rate } from "../model/rate.ts";
import type { Arrivals } from "../model/status.ts";
import type { Timeline } from "../model/timeline.ts";
import type { At } from "../model/units.ts";

/** The recent arrivals of each source, in memory, for the operator's status. */
export type ArrivalCounter = Arrivals & Pick<Observer, "accepted">;

export function createArrivals(clock: Clock, timeline: Pick<Timeline, "toWall">): ArrivalCounter {
  const kept = new Map<string, { readonly rate: Rate; lastAt: At }>();
  return {
    accepted(source, { count }) {
      const now = clock.now();
      const known = kept.get(source) ?? { rate: createRate(), lastAt: now };
      kept.set(source, known);
      known.lastAt = now;
      known.rate.add(count, now);
    },
    of(source) {
      const known = kept.get(source);
      if (!known) return { perSecond: 0, lastAt: null };
      return { perSecond: known.rate.perSecond(clock.now()), lastAt: timeline.toWall(known.lastAt) };
    },
  };
}
