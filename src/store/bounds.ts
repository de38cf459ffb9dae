import type { Bound, Bounds } from "../model/space.ts";

/** What is known of a store, in bytes. */
export type Measures = {
  /** Of pages that hold something. */
  readonly used: number;
  /** Of the engine's log, beyond what it may have. */
  readonly overflow: number;
  /** Of its disk; null if nobody can say. */
  readonly free: number | null;
};

type Shares = Readonly<Record<Bound, number>>;

/** Shares of the bounds: where the store is full, where it opens again, and where settled deliveries begin to make room. */
const FULL: Shares = { maxSize: 1, freeDisk: 1 };
const REOPENED: Shares = { maxSize: 0.97, freeDisk: 1.25 };
const CROWDED: Shares = { maxSize: 0.9, freeDisk: 1.5 };
/** And where what was delivered is not sent again any more, which takes space: others of its kind would have to go for it. */
const CRAMPED: Shares = { maxSize: 0.8, freeDisk: 2 };

/**
 * The bound at which a store is full, null if it is not; `was`: what it was before. It is left when a good deal less is
 * used, or more is free, than what led there: a store that turned to and fro with each delivery would help nobody.
 */
export function fullBy(measures: Measures, bounds: Bounds, was: Bound | null): Bound | null {
  if (was !== null && reaches(was, { measures, bounds, shares: REOPENED })) return was;
  return reached({ measures, bounds, shares: FULL });
}

/** The bound that is near; null if none is. What only the log takes, no pruning gives back. */
export function crowdedBy(measures: Measures, bounds: Bounds): Bound | null {
  return reached({ measures: { ...measures, overflow: 0 }, bounds, shares: CROWDED });
}

/** The bound to which it is not far; null if neither is. */
export function crampedBy(measures: Measures, bounds: Bounds): Bound | null {
  return reached({ measures: { ...measures, overflow: 0 }, bounds, shares: CRAMPED });
}

type Look = { readonly measures: Measures; readonly bounds: Bounds; readonly shares: Shares };

function reached(look: Look): Bound | null {
  if (reaches("maxSize", look)) return "maxSize";
  return reaches("freeDisk", look) ? "freeDisk" : null;
}

function reaches(bound: Bound, { measures, bounds, shares }: Look): boolean {
  const { used, overflow, free } = measures;
  if (bound === "maxSize") return used + overflow >= bounds.maxSize * shares.maxSize;
  return free !== null && free < bounds.freeDisk * shares.freeDisk;
}
