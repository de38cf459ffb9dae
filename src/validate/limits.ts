import { type Fault, fault } from "../model/fault.ts";
import { isLongInteger } from "../model/json.ts";
import { formatSize, KB, MB } from "../model/units.ts";
import type { Arrival } from "./call.ts";

/** The most nesting levels. Deeper JSON breaks receivers, and no program needs it. */
const MAX_DEPTH = 200;

/** Refuses a call that is nested too deeply, holds an infinite number, or is larger than `maxCall`. */
export function checkLimits(call: object, { maxCall }: Pick<Arrival, "maxCall">): Fault | null {
  // First: JSON.stringify takes half a second to fail at some ten thousand levels.
  const most = mostBytes(call, MAX_DEPTH);
  if (Number.isNaN(most)) {
    return fault("too_deep", `the call nests objects and arrays more than ${MAX_DEPTH} levels deep; flatten it`);
  }
  if (most === Infinity) {
    return fault(
      "number_out_of_range",
      "the call has a number outside the range of a 64-bit double; send it as a string",
    );
  }
  // Only calls near the limit are serialised to be measured.
  const bytes = most <= maxCall ? 0 : Buffer.byteLength(JSON.stringify(call));
  if (bytes <= maxCall) return null;
  return fault(
    "call_too_large",
    `the call is ${bytes} bytes; the limit is ${maxCall} (${Math.floor(maxCall / KB)} KB)`,
  );
}

/** The most bytes of a character, as `\u001f`. */
const CHARACTER = 6;
/** The most bytes of a number, as `-1.7976931348623157e+308`. True, false and null take fewer. */
const PRIMITIVE = 25;
/** Quotes, colon and comma. */
const MARKS = 4;

/**
 * An upper bound of a value's bytes as JSON; not a number if it nests deeper than so many levels, else infinite if it holds an
 * infinite number, which JSON would write as `null`. A text has one as `1e999`, or with more than 308 digits.
 */
function mostBytes(value: object, levels: number): number {
  if (levels === 0) return Number.NaN;
  let bytes = MARKS;
  if (Array.isArray(value)) {
    for (const inner of value) bytes += MARKS + mostBytesOf(inner, levels);
    return bytes;
  }
  for (const key in value) bytes += MARKS + key.length * CHARACTER + mostBytesOf(value[key as keyof object], levels);
  return bytes;
}

function mostBytesOf(value: unknown, levels: number): number {
  if (typeof value === "string") return value.length * CHARACTER + MARKS;
  if (typeof value === "number") return Number.isFinite(value) ? PRIMITIVE : Infinity;
  if (typeof value !== "object" || value === null) return PRIMITIVE;
  return isLongInteger(value) ? value.rawJSON.length : mostBytes(value, levels - 1);
}

/** The envelope's context and integrations times the calls they are merged into. Client libraries stay below one MB. */
const MOST_COPIED = 4 * MB;

/** Results by request: all of its calls have the same object. */
const checked = new WeakMap<Arrival, Fault | null>();

/**
 * Refuses every call of a batch whose envelope alone exceeds the limits of one call, or whose copies would be far larger
 * than the request. Checked once for all calls.
 */
export function checkEnvelope(arrival: Arrival): Fault | null {
  if (arrival.context === null && arrival.integrations === null) return null;
  const known = checked.get(arrival);
  if (known !== undefined) return known;
  const found = measureEnvelope(arrival);
  checked.set(arrival, found);
  return found;
}

function measureEnvelope(arrival: Arrival): Fault | null {
  const { context, integrations, calls } = arrival;
  const limit = checkLimits({ context, integrations }, arrival);
  if (limit) return limit;
  const bytes = Buffer.byteLength(JSON.stringify({ context, integrations }));
  if (bytes * calls <= MOST_COPIED) return null;
  const copies = `the envelope's context and integrations (${bytes} bytes) apply to ${calls} calls`;
  const advice = `all copies together may have at most ${formatSize(MOST_COPIED)}: send smaller batches`;
  return fault("envelope_too_large", `${copies}, and ${advice}`);
}
