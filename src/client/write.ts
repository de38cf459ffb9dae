import type { CallType } from "../model/event.ts";
import { InvalidCallError } from "./errors.ts";
import { show, showCauses } from "./show.ts";

/** A call as JSON. `ownTime`: its caller said when it happened. */
type Written = { readonly messageId: string; readonly text: string; readonly ownTime: boolean };

type WriteWorld = { wall(): number; uuid(): string };

type Fields = { readonly [name: string]: unknown };

/** The daemon's bound. */
const MAX_MESSAGE_ID = 100;

/**
 * Checks a call and writes it down as it goes out (SPEC.md 2.3). Dates become ISO 8601; else all is as JSON.stringify
 * writes it. Throws an InvalidCallError.
 */
export function write(type: CallType, call: unknown, world: WriteWorld): Written {
  const given = readObject({ [type]: call }, type);
  if (!given) throw new InvalidCallError("invalid_call", `${type} needs an object, as { userId: "user-42" }`);
  const own = OWN_FIELDS[type](given);
  checkRequired(type, own);
  const messageId = readMessageId(given) ?? world.uuid();
  const timestamp = readTimestamp(given);
  const fields = {
    type,
    messageId,
    timestamp: timestamp ?? new Date(world.wall()).toISOString(),
    ...own,
    context: readObject(given, "context"),
    integrations: readObject(given, "integrations"),
  };
  return { messageId, text: stringify(type, fields), ownTime: timestamp !== undefined };
}

/** What each call has beside what all have, in the order in which it is written. */
const OWN_FIELDS: Readonly<Record<CallType, (call: Fields) => Fields>> = {
  identify: (call) => ({ ...who(call), traits: readObject(call, "traits") }),
  track: (call) => ({ ...who(call), event: readText(call, "event"), properties: readObject(call, "properties") }),
  page: (call) => ({ ...who(call), ...view(call), properties: propertiesOfPage(call) }),
  screen: (call) => ({ ...who(call), ...view(call), properties: readObject(call, "properties") }),
  group: (call) => ({ ...who(call), groupId: readId(call, "groupId"), traits: readObject(call, "traits") }),
  alias: (call) => ({ userId: readId(call, "userId"), previousId: readId(call, "previousId") }),
};

function who(call: Fields): Fields {
  return { userId: readId(call, "userId"), anonymousId: readId(call, "anonymousId") };
}

function view(call: Fields): Fields {
  return { category: readText(call, "category"), name: readText(call, "name") };
}

/** The Go client has them as traits, and sends them as properties. */
function propertiesOfPage(call: Fields): Fields | undefined {
  const traits = readObject(call, "traits");
  const properties = readObject(call, "properties");
  return traits && properties ? { ...traits, ...properties } : (properties ?? traits);
}

/** In the order of the Go client, with its sentences. */
function checkRequired(type: CallType, { userId, anonymousId, previousId, groupId, event }: Fields): void {
  if (type === "alias" && !userId) throw new InvalidCallError("missing_id", "You must pass a 'userId'.");
  if (type === "alias" && !previousId) {
    throw new InvalidCallError("missing_previous_id", "You must pass a 'previousId'.");
  }
  if (type === "group" && !groupId) throw new InvalidCallError("missing_group_id", "You must pass a 'groupId'.");
  if (type === "track" && !event) throw new InvalidCallError("missing_event", "You must pass 'event'.");
  if (userId || anonymousId) return;
  throw new InvalidCallError("missing_id", "You must pass either an 'anonymousId' or 'userId'.");
}

function readMessageId(call: Fields): string | undefined {
  const messageId = readText(call, "messageId");
  if (messageId === undefined || messageId.length < MAX_MESSAGE_ID) return messageId;
  throw new InvalidCallError("message_id_too_long", `messageId must be below ${MAX_MESSAGE_ID} characters`);
}

function stringify(type: CallType, fields: Fields): string {
  try {
    return JSON.stringify(fields);
  } catch (cause) {
    const why = `the ${type} call cannot be written as JSON: ${showCauses(cause)}`;
    throw new InvalidCallError("not_serialisable", why, { cause });
  }
}

/** An id as text, or undefined if there is none; an empty one counts as none, as it does for the Go client. */
function readId(call: Fields, field: string): string | undefined {
  const value = call[field];
  if (typeof value !== "number") return readText(call, field);
  if (Number.isSafeInteger(value)) return String(value);
  throw wrong(field, "a string, or a whole number of up to 15 digits", value);
}

function readText(call: Fields, field: string): string | undefined {
  const value = call[field];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw wrong(field, "a string", value);
}

/** An object with keys, which is written as one. Throws an InvalidCallError. */
function readObject(call: Fields, field: string): Fields | undefined {
  const value = asWritten(call[field], field);
  if (value === undefined || value === null) return undefined;
  if (typeof value === "object" && !Array.isArray(value) && nameOf(value) === null) return value as Fields;
  throw wrong(field, "an object", value);
}

/** What an object has as its JSON may be none. It is asked once, as JSON.stringify does. */
function asWritten(value: unknown, field: string): unknown {
  if (!saysItself(value) || value instanceof Date) return value;
  try {
    const written = value.toJSON(field);
    return saysItself(written) ? { ...written, toJSON: undefined } : written;
  } catch (cause) {
    const why = `${field} cannot be written as JSON: ${showCauses(cause)}`;
    throw new InvalidCallError("not_serialisable", why, { cause });
  }
}

function saysItself(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === "object" && value !== null && typeof (value as Fields).toJSON === "function";
}

/** Of what JSON has as an empty object, or as a text. */
function nameOf(value: object): string | null {
  if (value instanceof Date) return "a Date";
  if (value instanceof Map) return "a Map";
  if (value instanceof Set) return "a Set";
  return value instanceof Promise ? "a Promise" : null;
}

function wrong(field: string, wanted: string, value: unknown): InvalidCallError {
  return new InvalidCallError("invalid_call", `${field} must be ${wanted} (got ${kindOf(value)})`);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return nameOf(value) ?? "an object";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return `a ${typeof value}`;
}

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
