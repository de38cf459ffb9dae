import type { Computation, SyncCounts } from "../model/audience.ts";
import { type Fault, fault } from "../model/fault.ts";

/** From so many users on, losing more than half of them is taken for a mistake. */
const LARGE = 100;

/**
 * Refuses a list that would remove more than half of a large audience: that is usually an export that broke off. Null if it
 * may be taken.
 */
export function refuseShrinking({ class: kind, name, size }: Computation, { removed }: SyncCounts): Fault | null {
  if (size < LARGE || removed * 2 <= size) return null;
  const share = `${removed} of the ${size} users`;
  return fault(
    "list_shrinks",
    `the list would remove ${share} of the ${kind} ${JSON.stringify(name)}, more than half: is it complete? ` +
      "If it is meant, allow it: ?allowShrink=1, or --allow-shrink",
  );
}
