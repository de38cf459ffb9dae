import type { CallType } from "../model/event.ts";
import { InvalidCallError } from "./errors.ts";
import { type Exact, writeExact } from "./exact.ts";
import { kindOf, show, showCauses } from "./show.ts";

/** A call as JSON. `ownTime`: the caller gave its timestamp. */
type Written = Exact & { readonly messageId: string; readonly ownTime: boolean };

type WriteWorld = {
  wall(): number;
  uuid(): string;
  /** The context of every call of this client, under that of the call. */
  readonly context?: Fields | undefined;
};

type Fields = { readonly [name: string]: unknown };

/** The daemon's bound. */
const MAX_MESSAGE_ID = 100;

/** Checks a call and writes it as JSON (SPEC.md 2.3). Dates become ISO 8601. Throws an InvalidCallError. */
export function write(type: CallType, call: unknown, world: WriteWorld): Written {
  const given = readObject({ [type]: call }, type);
  if (!given) throw new InvalidCallError("invalid_call", `${type} needs an object, such as { userId: "user-42" }`);
  const own = OWN_FIELDS[type](given);
  checkRequired(type, own);
  const messageId = readMessageId(given) ?? world.uuid();
  const timestamp = readTimestamp(given);
  const fields = {
    type,
    messageId,
    timestamp: timestamp ?? new Date(world.wall()).toISOString(),
    ...own,
    context: under(world.context, readObject(given, "context")),
    integrations: readObject(given, "integrations"),
  };
  const exact = serialised(`the ${type} call`, () => writeExact(fields, world.uuid));
  return { ...exact, messageId, ownTime: timestamp !== undefined };
}

function under(all: Fields | undefined, own: Fields | undefined): Fields | undefined {
  return all && own ? { ...all, ...own } : (own ?? all);
}

/** The fields of each type beside those of all, in the order in which they are written. */
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

/** The Go client takes them as traits, and sends them as properties. */
function propertiesOfPage(call: Fields): Fields | undefined {
  const traits = readObject(call, "traits");
  const properties = readObject(call, "properties");
  return traits && properties ? { ...traits, ...properties } : (properties ?? traits);
}

/** In the order of the Go client, with its messages. */
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
  throw new InvalidCallError("message_id_too_long", `messageId must be shorter than ${MAX_MESSAGE_ID} characters`);
}

function serialised<T>(what: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    const why = `${what} cannot be written as JSON: ${showCauses(cause)}`;
    throw new InvalidCallError("not_serialisable", why, { cause });
  }
}

/** An id as text; undefined if there is none, or an empty one, as for the Go client. */
function readId(call: Fields, field: string): string | undefined {
  const value = call[field];
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "number") return readText(call, field);
  if (Number.isSafeInteger(value)) return String(value);
  throw wrong(field, "a string, a bigint, or a whole number of up to 15 digits", value);
}

function readText(call: Fields, field: string): string | undefined {
  const value = call[field];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw wrong(field, "a string", value);
}

/** An object whose JSON is an object. Throws an InvalidCallError. */
export function readObject(call: Fields, field: string): Fields | undefined {
  const value = asWritten(call[field], field);
  if (value === undefined || value === null) return undefined;
  if (typeof value === "object" && !Array.isArray(value) && nameOf(value) === null) return value as Fields;
  throw wrong(field, "an object", value);
}

/** The result of `toJSON`, which may be no object. It is called once, as JSON.stringify does. */
function asWritten(value: unknown, field: string): unknown {
  if (!hasToJson(value) || value instanceof Date) return value;
  return serialised(field, () => {
    const written = value.toJSON(field);
    return hasToJson(written) ? { ...written, toJSON: undefined } : written;
  });
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === "object" && value !== null && typeof (value as Fields).toJSON === "function";
}

/** Names objects that JSON writes as a text, or without their content. */
function nameOf(value: unknown): string | null {
  if (value instanceof Date) return "a Date";
  if (value instanceof Map) return "a Map";
  if (value instanceof Set) return "a Set";
  return value instanceof Promise ? "a Promise" : null;
}

function wrong(field: string, wanted: string, value: unknown): InvalidCallError {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  const got = isNumber ? String(value) : (nameOf(value) ?? kindOf(value));
  return new InvalidCallError("invalid_call", `${field} must be ${wanted} (got ${got})`);
}

/** The forms that the daemon takes. */
const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?\s?(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/i;

/** The timestamp of a call as ISO 8601, or undefined if it has none. */
export function readTimestamp({ timestamp }: { readonly timestamp?: unknown }): string | undefined {
  if (timestamp === undefined || timestamp === null) return undefined;
  if (timestamp instanceof Date && isWritable(timestamp)) return timestamp.toISOString();
  if (typeof timestamp === "string" && isTime(timestamp)) return timestamp;
  const wanted = "timestamp must be a Date, or an ISO 8601 time such as 2009-11-10T23:00:00.000Z";
  throw new InvalidCallError("invalid_timestamp", `${wanted} (got ${show(timestamp)})`);
}

/** Other years begin with a sign, which the daemon does not take. */
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
  // The calendar repeats every 400 years, and Date takes the years 0 to 99 for 1900 to 1999. It moves 31 February to March.
  const date = new Date(Date.UTC(2_000 + (year % 400), month - 1, day));
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return false;
  // 60 is a leap second.
  return hour <= 23 && minute <= 59 && second <= 60;
}
