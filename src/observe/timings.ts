import type { Ms } from "../model/units.ts";

/**
 * How long things took, counted in buckets: eight for each power of two, so that a quantile is off by a sixteenth at most. Below
 * 16 ms each millisecond has its own.
 */
export type Timings = {
  readonly buckets: Uint32Array;
  add(duration: Ms): void;
  addAll(others: Timings): void;
  clear(): void;
  /** The duration that this part of them did not exceed; null if there are none. */
  quantile(part: number): Ms | null;
};

/** Durations of 16 seconds or more share the last one. Attempts end after five. */
const BUCKETS = 96;

export function createTimings(): Timings {
  const buckets = new Uint32Array(BUCKETS);
  let all = 0;
  return {
    buckets,
    add(duration) {
      const at = bucketOf(duration);
      buckets[at] = (buckets[at] ?? 0) + 1;
      all += 1;
    },
    addAll(others) {
      others.buckets.forEach((count, at) => {
        buckets[at] = (buckets[at] ?? 0) + count;
        all += count;
      });
    },
    clear() {
      if (all > 0) buckets.fill(0);
      all = 0;
    },
    quantile(part) {
      if (all === 0) return null;
      const nth = Math.max(1, Math.ceil(all * part));
      let sum = 0;
      const at = buckets.findIndex((count) => {
        sum += count;
        return sum >= nth;
      });
      return middleOf(at);
    },
  };
}

/** The highest bit of a duration selects eight buckets, and the three bits below it one of them. */
function bucketOf(duration: Ms): number {
  const ms = Math.max(0, Math.round(duration));
  if (ms < 8) return ms;
  const power = 31 - Math.clz32(ms);
  return Math.min(BUCKETS - 1, (power - 2) * 8 + ((ms >> (power - 3)) & 7));
}

function middleOf(bucket: number): Ms {
  if (bucket < 8) return bucket;
  const width = 2 ** (Math.floor(bucket / 8) - 1);
  return (8 + (bucket % 8)) * width + Math.floor((width - 1) / 2);
}
