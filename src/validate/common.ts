import { type Fault, fault } from "../model/fault.ts";
import { formatSize, MB } from "../model/units.ts";
import type { Arrival } from "./call.ts";
import { checkLimits } from "./limits.ts";

/** Of all copies that the calls of one request get. Client libraries stay below one MB. */
const MOST_COPIED = 4 * MB;

/** By the request it came in: all of its calls bring the same object. */
const weighed = new WeakMap<Arrival, Fault | null>();

/**
 * Refuses every call of a batch whose envelope alone is beyond the limits of one call, or makes too much of a small
 * request. It is looked at once, however many calls it is laid under.
 */
export function checkCommon(arrival: Arrival): Fault | null {
  if (arrival.context === null && arrival.integrations === null) return null;
  const known = weighed.get(arrival);
  if (known !== undefined) return known;
  const found = weigh(arrival);
  weighed.set(arrival, found);
  return found;
}

function weigh(arrival: Arrival): Fault | null {
  const { context, integrations, calls } = arrival;
  const limit = checkLimits({ context, integrations }, arrival);
  if (limit) return limit;
  const bytes = Buffer.byteLength(JSON.stringify({ context, integrations }));
  if (bytes * calls <= MOST_COPIED) return null;
  const copies = `the envelope's context and integrations (${bytes} bytes) lie under ${calls} calls`;
  const advice = `all copies together may have ${formatSize(MOST_COPIED)}; send smaller batches`;
  return fault("envelope_too_large", `${copies}, and ${advice}`);
}
