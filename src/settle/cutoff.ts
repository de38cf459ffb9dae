import type { Delivery } from "../model/delivery.ts";
import type { At, Ms } from "../model/units.ts";

type Life = Pick<Delivery, "firstAttemptAt" | "held">;

/**
 * When a delivery is given up if its next attempt fails (SPEC.md 7: four hours after the first one began; time in
 * which it could not be sent does not count). Null before the first attempt: nothing is given up untried.
 */
export function cutoffAt({ firstAttemptAt, held }: Life, cutoff: Ms): At | null {
  return firstAttemptAt === null ? null : firstAttemptAt + held + cutoff;
}

/** Whether the next attempt is the last one. */
export function isPastCutoff(delivery: Life, { now, cutoff }: { readonly now: At; readonly cutoff: Ms }): boolean {
  return now >= (cutoffAt(delivery, cutoff) ?? Number.POSITIVE_INFINITY);
}
