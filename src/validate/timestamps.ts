import { type At, formatTime, MINUTE, type Ms, SECOND, startOfDay } from "../model/units.ts";

const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?(Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/i;

const YEAR_0 = startOfDay({ year: 0, month: 1, day: 1 }) ?? 0;
const YEAR_9999_END = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** A point in time, and its text as receivers get it. */
export type Time = { readonly at: At; readonly text: string };

/** Parses a timestamp, or answers null. Most come in the form that receivers get, and need no more than a comparison. */
export function parseTime(text: string): Time | null {
  if (text.length === LENGTH) {
    const date = new Date(text);
    const at = date.getTime();
    if (!Number.isNaN(at) && date.toISOString() === text) return { at, text };
  }
  const at = parseTimestamp(text);
  return at === null ? null : { at, text: formatTimestamp(at) };
}

const LENGTH = "2009-11-10T23:00:00.000Z".length;

/**
 * Parses the ISO 8601 forms that client libraries send: `2009-11-10T23:00:00Z`, with `+0000`, `-08:00` or no zone (then
 * UTC), with up to nine fractional digits, or only a date. Answers milliseconds since 1970, or null.
 */
export function parseTimestamp(text: string): At | null {
  const match = ISO_8601.exec(text);
  if (!match) return null;
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const date = startOfDay({ year, month, day });
  if (date === null) return null;
  // 60 is a leap second.
  if (hour > 23 || minute > 59 || second > 60) return null;
  const fraction = Number((match[7] ?? "0").padEnd(3, "0").slice(0, 3));
  return date + ((hour * 60 + minute) * 60 + second) * 1_000 + fraction - zoneOffset(match[8]);
}

function zoneOffset(zone: string | undefined): number {
  if (zone === undefined || zone === "Z" || zone === "z") return 0;
  const sign = zone.startsWith("-") ? -1 : 1;
  const digits = zone.slice(1).replace(":", "").padEnd(4, "0");
  return sign * (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))) * 60_000;
}

/**
 * The time between sending and receipt that network delay, small clock errors and retries with an old `sentAt` explain.
 * Beyond it, the client's clock is wrong.
 */
const LEAST_TRANSIT: Ms = -SECOND;
const MOST_TRANSIT: Ms = MINUTE;

/**
 * When an event happened, corrected for a wrong client clock: the time of receipt minus the time between the call and its
 * sending, never later than the receipt. Without `sentAt` the client's time is used (historical import, SPEC.md 4.3 rule 5),
 * and without any time that of receipt.
 */
export function correctSkew(original: At | null, sent: At | null, received: At): At {
  if (original === null) return received;
  if (sent === null) return original;
  const transit = received - sent;
  if (transit >= LEAST_TRANSIT && transit <= MOST_TRANSIT) return original;
  const corrected = Math.min(received, received - (sent - original));
  return corrected < YEAR_0 ? original : corrected;
}

/** The time as receivers get it (SPEC.md 2.2): `2009-11-10T23:00:00.000Z`. Its zone can take it beyond the year 9999. */
export function formatTimestamp(at: At): string {
  return formatTime(Math.max(YEAR_0, Math.min(at, YEAR_9999_END)));
}
