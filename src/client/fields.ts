import { InvalidCallError } from "./errors.ts";
import { show } from "./show.ts";

type Fields = { readonly [name: string]: unknown };

/** An id as text, or undefined if there is none; an empty one counts as none, as it does for the Go client. */
export function readId(call: Fields, field: string): string | undefined {
  const value = call[field];
  if (typeof value !== "number") return readText(call, field);
  if (Number.isSafeInteger(value)) return String(value);
  throw wrong(field, "a string, or a whole number of up to 15 digits", value);
}

export function readText(call: Fields, field: string): string | undefined {
  const value = call[field];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw wrong(field, "a string", value);
}

export function readObject(call: Fields, field: string): Fields | undefined {
  const value = call[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "object" && !Array.isArray(value) && !(value instanceof Date)) return value as Fields;
  throw wrong(field, "an object", value);
}

/** What the daemon takes. Whether there is such a day, only a Date knows. */
const ISO_8601 =
  /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?\s?(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/i;

/** A point in time as ISO 8601, or undefined if the call has none. */
export function readTimestamp(call: Fields): string | undefined {
  const { timestamp } = call;
  if (timestamp === undefined || timestamp === null) return undefined;
  if (timestamp instanceof Date && isIso(timestamp)) return timestamp.toISOString();
  if (typeof timestamp === "string" && ISO_8601.test(timestamp)) return timestamp;
  const wanted = "timestamp must be a Date, or ISO 8601 like 2009-11-10T23:00:00.000Z";
  throw new InvalidCallError("invalid_timestamp", `${wanted} (got ${show(timestamp)})`);
}

/** ISO 8601 of other years begins with a sign, which nobody reads. */
function isIso(date: Date): boolean {
  const year = date.getUTCFullYear();
  return year >= 0 && year <= 9_999;
}

function wrong(field: string, wanted: string, value: unknown): InvalidCallError {
  return new InvalidCallError("invalid_call", `${field} must be ${wanted} (got ${kindOf(value)})`);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (value instanceof Date) return "a Date";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return `a ${typeof value}`;
}
