import { InvalidCallError } from "./errors.ts";
import { show } from "./show.ts";

/** The forms that the daemon takes. */
const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?\s?(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/i;

/** A point in time as ISO 8601, or undefined if the call has none. Throws an InvalidCallError. */
export function readTimestamp({ timestamp }: { readonly timestamp?: unknown }): string | undefined {
  if (timestamp === undefined || timestamp === null) return undefined;
  if (timestamp instanceof Date && isWritable(timestamp)) return timestamp.toISOString();
  if (typeof timestamp === "string" && isTime(timestamp)) return timestamp;
  const wanted = "timestamp must be a Date, or ISO 8601 like 2009-11-10T23:00:00.000Z";
  throw new InvalidCallError("invalid_timestamp", `${wanted} (got ${show(timestamp)})`);
}

/** ISO 8601 of other years begins with a sign, which nobody reads. */
function isWritable(date: Date): boolean {
  const year = date.getUTCFullYear();
  return year >= 0 && year <= 9_999;
}

function isTime(text: string): boolean {
  const match = ISO_8601.exec(text);
  if (!match) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map((part) => Number(part ?? 0));
  // 60 is a leap second.
  return (
    month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month) && hour <= 23 && minute <= 59 && second <= 60
  );
}

function daysOf(year: number, month: number): number {
  // Day 0 of the next month. The years come round in 400, and Date takes the first hundred for those of 1900.
  return new Date(Date.UTC(2_000 + (year % 400), month, 0)).getUTCDate();
}
