import { type At, SECOND } from "./units.ts";

const SECONDS = 60;

/** Counts events, and answers the average number in each of the last sixty seconds. */
export type Rate = {
  add(count: number, now: At): void;
  perSecond(now: At): number;
};

/** One bucket for each second, so that adding is cheap and single events are not stored. */
export function createRate(): Rate {
  const buckets = new Array<number>(SECONDS).fill(0);
  let latest = 0;

  return {
    add(count, now) {
      const second = empty(now);
      buckets[second % SECONDS] = (buckets[second % SECONDS] ?? 0) + count;
    },
    perSecond(now) {
      empty(now);
      return buckets.reduce((sum, count) => sum + count, 0) / SECONDS;
    },
  };

  /** Clears the buckets of seconds that have passed since the last call. */
  function empty(now: At): number {
    const second = Math.floor(now / SECOND);
    const passed = Math.min(second - latest, SECONDS);
    for (let back = 0; back < passed; back++) buckets[(second - back) % SECONDS] = 0;
    latest = Math.max(latest, second);
    return latest;
  }
}
