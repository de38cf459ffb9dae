import { neverStopped, type StoredClock, totalOf } from "../model/destination-clock.ts";
import type { At, Ms } from "../model/units.ts";

/** Whether there is anything to remember of this clock. */
export function hasStoodStill({ stoppedAt, stoodStill }: StoredClock): boolean {
  return stoppedAt !== null || stoodStill > 0;
}

const REASONS = ["pausedAt", "unservedAt", "offlineAt"] as const;

/** Two changes of one clock. `base`: what `mine` was made from; `theirs`: what is stored now. */
export type ClockChanges = { readonly base: StoredClock; readonly mine: StoredClock; readonly theirs: StoredClock };

/**
 * A clock that two daemons have changed at once. A reason holds if either of them has set it, unless it is
 * ended by this later change. The clock has stood still for as long as the one that counts more says: what was
 * counted may be in a delivery's row already, and would be missing there if it were taken back.
 */
export function mergeClocks({ base, mine, theirs }: ClockChanges, now: At): StoredClock {
  if (isSameClock(base, theirs)) return mine;
  const reasons = Object.fromEntries(REASONS.map((reason) => [reason, mergeReason(reason, { base, mine, theirs })]));
  const merged = { ...mine, ...reasons };
  const most = Math.max(totalOf(mine, now), totalOf(theirs, now));
  if (REASONS.every((reason) => merged[reason] === null)) return { ...merged, stoppedAt: null, stoodStill: most };
  const stopped = [mine, theirs].filter(({ stoppedAt }) => stoppedAt !== null);
  const longest = stopped.toSorted((one, other) => totalOf(other, now) - totalOf(one, now))[0] ?? merged;
  const { stoppedAt, stoodStill } = longest;
  return raiseClock({ ...merged, stoppedAt, stoodStill }, most, now);
}

function mergeReason(reason: (typeof REASONS)[number], { base, mine, theirs }: ClockChanges): At | null {
  const [was, set, other] = [base[reason], mine[reason], theirs[reason]];
  if (set === was) return other;
  return set === null ? null : Math.min(set, other ?? set);
}

export function isSameClock(one: StoredClock, other: StoredClock): boolean {
  const keys = Object.keys(neverStopped("")) as (keyof StoredClock)[];
  return keys.every((key) => one[key] === other[key]);
}

/** The clock, once it has stood still for at least as long as this. */
export function raiseClock(clock: StoredClock, least: Ms, now: At): StoredClock {
  return { ...clock, stoodStill: clock.stoodStill + Math.max(0, least - totalOf(clock, now)) };
}
