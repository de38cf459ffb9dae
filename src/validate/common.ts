import type { Fault } from "../model/fault.ts";
import type { Arrival } from "./call.ts";
import { checkLimits } from "./limits.ts";

/** By the request it came in: all of its calls bring the same object. */
const weighed = new WeakMap<Arrival, Fault | null>();

/**
 * Refuses every call of a batch whose envelope alone is beyond the limits of one call. It is looked at once, however
 * many calls it is laid under: 2,500 times half a megabyte would hold the daemon up for minutes.
 */
export function checkCommon(arrival: Arrival): Fault | null {
  const { context, integrations, numbers } = arrival;
  if (context === null && integrations === null) return null;
  const known = weighed.get(arrival);
  if (known !== undefined) return known;
  const fault = checkLimits({ context, integrations }, numbers);
  weighed.set(arrival, fault);
  return fault;
}
