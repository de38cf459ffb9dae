import type { ListedDelivery } from "../model/lookup.ts";
import { SUPERSEDED, USER_DELETED } from "../model/withdrawal.ts";

/** Of one that `fairlead discard` has given up. */
export const DISCARDED = "discarded by operator";

/** Of one that was to be moved to a destination which has its event. */
export function hasAlready(to: string): string {
  return `${to}${DOUBLED}`;
}

const DOUBLED = " has this event already";

/** Of events that were withdrawn. */
const WITHDRAWN: readonly string[] = [SUPERSEDED, USER_DELETED];

/**
 * Whether it was not its receiver that has failed: it was ended by command, or something else has taken its place. Those
 * are not sent again by the way.
 */
export function isEnded({ state, reason }: Pick<ListedDelivery, "state" | "reason">): boolean {
  if (state !== "failed" || reason === null) return false;
  return reason === DISCARDED || WITHDRAWN.includes(reason) || reason.endsWith(DOUBLED);
}
