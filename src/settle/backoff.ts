import type { Delivery, RetryPolicy } from "../model/delivery.ts";
import { type At, DAY, HOUR, MINUTE, type Ms, SECOND, startOfDay } from "../model/units.ts";

/** The waits between attempts: one second, doubling to ten minutes, plus or minus a fifth at random. */
export const WAITS = { firstWait: SECOND, longestWait: 10 * MINUTE, jitter: 0.2 } as const;

/** While this machine has no network, an attempt reaches no receiver, so the waits stay short. */
export const OFFLINE_WAITS = { firstWait: 10 * SECOND, longestWait: MINUTE } as const;

/** The wait after so many attempts. `chance`, from 0 to 1, spreads retries so that they do not come in waves. */
export function backoff(attempts: number, policy: Omit<RetryPolicy, "cutoff">, chance: number): Ms {
  // Beyond 2^40 the product is far above any longest wait; the bound keeps it finite.
  const doubled = policy.firstWait * 2 ** Math.min(attempts - 1, 40);
  const wait = Math.min(doubled, policy.longestWait);
  return Math.round(wait * (1 + policy.jitter * (2 * chance - 1)));
}

type Life = Pick<Delivery, "firstAttemptAt" | "stoodStill">;

/** `stoodStill`: for how long the destination's clock has stood still in all, up to now. */
type Limit = { readonly cutoff: Ms; readonly stoodStill: Ms };

/**
 * When a delivery is given up if its next attempt fails (SPEC.md 7: four hours after the first one began, by the
 * destination's clock, if that does not stop from now on). Null before the first attempt: nothing is given up untried.
 */
export function cutoffAt({ firstAttemptAt, stoodStill: before }: Life, { cutoff, stoodStill }: Limit): At | null {
  // A crash can lose the last seconds of what the clock has counted, but no delivery may have less than its time for that.
  return firstAttemptAt === null ? null : firstAttemptAt + cutoff + Math.max(0, stoodStill - before);
}

/** Whether the next attempt is the last one. */
export function isPastCutoff(delivery: Life, limit: Limit & { readonly now: At }): boolean {
  return limit.now >= (cutoffAt(delivery, limit) ?? Number.POSITIVE_INFINITY);
}

/**
 * The three forms of an HTTP date: today's, and two that old servers send. All are in UTC. `Date.parse` would take `after
 * 2099` for a date and 31 February for one in March, and read the third form in the machine's own time zone.
 */
const HTTP_DATES = [
  /^[a-z]{3}, (?<day>\d\d) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d) GMT$/i,
  /^[a-z]{6,9}, (?<day>\d\d)-(?<month>[a-z]{3})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d) GMT$/i,
  /^[a-z]{3} (?<month>[a-z]{3}) (?<day>[ \d]\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/i,
];

/**
 * Parses a Retry-After header: whole seconds, or an HTTP date, which is compared with the wall clock. Answers how long to
 * wait from now, or null if there is no valid one.
 */
export function parseRetryAfter(text: string | null, wall: At): Ms | null {
  if (text === null) return null;
  const trimmed = text.trim();
  if (/^\d+$/.test(trimmed)) return Math.min(Number(trimmed) * SECOND, Number.MAX_SAFE_INTEGER);
  const at = parseHttpDate(trimmed, wall);
  return at === null ? null : Math.max(0, at - wall);
}

function parseHttpDate(text: string, wall: At): At | null {
  const parts = HTTP_DATES.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (!parts) return null;
  const { day, month = "", year = "", time = "" } = parts;
  const date = startOfDay({
    year: fullYear(year, wall),
    month: MONTHS.indexOf(month.toLowerCase()) + 1,
    day: Number(day),
  });
  const [hour = 0, minute = 0, second = 0] = time.split(":").map(Number);
  // 60 is a leap second.
  if (date === null || hour > 23 || minute > 59 || second > 60) return null;
  return date + hour * HOUR + minute * MINUTE + second * SECOND;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** A year of two digits is in this century, or in the last one if it would be more than 50 years ahead. */
function fullYear(year: string, wall: At): number {
  if (year.length === 4) return Number(year);
  const soon = new Date(wall + 50 * 365.25 * DAY).getUTCFullYear();
  return 2_000 + Number(year) > soon ? 1_900 + Number(year) : 2_000 + Number(year);
}
