import type { JsonObject } from "../model/event.ts";
import { type Fault, fault } from "../model/fault.ts";
import { isLongInteger, type LongInteger } from "../model/json.ts";

type Kind = { readonly is: (value: unknown) => boolean; readonly expected: string };

const TEXT: Kind = { is: (value) => typeof value === "string", expected: "a string" };
const ID: Kind = { is: isId, expected: "a string, or a whole number" };
// PHP writes an object without keys as an empty list.
const OBJECT: Kind = { is: (value) => isObject(value) || isEmptyList(value), expected: "an object" };

/** The fields of a call and their kinds (SPEC.md 2.3). Other fields are ignored. Real clients send null for absent fields. */
const FIELDS: ReadonlyMap<string, Kind> = new Map<keyof Call, Kind>([
  ["type", TEXT],
  ["messageId", ID],
  ["userId", ID],
  ["anonymousId", ID],
  ["previousId", ID],
  ["groupId", ID],
  ["event", TEXT],
  ["name", TEXT],
  ["category", TEXT],
  ["channel", TEXT],
  ["timestamp", TEXT],
  ["originalTimestamp", TEXT],
  ["sentAt", TEXT],
  ["properties", OBJECT],
  ["traits", OBJECT],
  ["context", OBJECT],
  ["integrations", OBJECT],
]);

type TextField = "type" | "event" | "name" | "category" | "channel" | "timestamp" | "originalTimestamp" | "sentAt";
type IdField = "messageId" | "userId" | "anonymousId" | "previousId" | "groupId";
type ObjectField = "properties" | "traits" | "context" | "integrations";

export type Call = Readonly<Record<TextField | IdField, string | undefined>> &
  Readonly<Record<ObjectField, JsonObject | undefined>>;

type Id = string | number | LongInteger;
/** A call whose fields are of the right kinds. */
type Checked = { readonly [field in TextField]?: string | null } & { readonly [field in IdField]?: Id | null } & {
  readonly [field in ObjectField]?: JsonObject | readonly never[] | null;
};

/** The known fields of a call, or which one is wrong and what is expected. */
export function readShape(call: JsonObject): Call | Fault {
  for (const name in call) {
    const value = call[name];
    const kind = FIELDS.get(name);
    if (kind === undefined || value === null || value === undefined || kind.is(value)) continue;
    return fault("invalid_call", `${name} must be ${kind.expected} (got ${kindOf(value)})`);
  }
  return readFields(call as Checked);
}

/** Written out, because every call comes here: a loop over the fields takes ten times as long. */
function readFields(call: Checked): Call {
  return {
    type: call.type ?? undefined,
    messageId: readId(call.messageId),
    userId: readId(call.userId),
    anonymousId: readId(call.anonymousId),
    previousId: readId(call.previousId),
    groupId: readId(call.groupId),
    event: call.event ?? undefined,
    name: call.name ?? undefined,
    category: call.category ?? undefined,
    channel: call.channel ?? undefined,
    timestamp: call.timestamp ?? undefined,
    originalTimestamp: call.originalTimestamp ?? undefined,
    sentAt: call.sentAt ?? undefined,
    properties: readObject(call.properties),
    traits: readObject(call.traits),
    context: readObject(call.context),
    integrations: readObject(call.integrations),
  };
}

/** A numeric id becomes a string; an empty one counts as absent. */
function readId(id: Id | null | undefined): string | undefined {
  if (typeof id === "string") return id || undefined;
  return isLongInteger(id) ? id.rawJSON : id?.toString();
}

/** Objects are passed on as they are: rebuilding them would drop keys such as `__proto__`. */
function readObject(object: JsonObject | readonly never[] | null | undefined): JsonObject | undefined {
  if (object === null || object === undefined) return undefined;
  return isObject(object) ? object : EMPTY;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isLongInteger(value);
}

/** Names the kind of a value, never the value, which may be personal. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (isLongInteger(value)) return "a number";
  if (typeof value === "object") return "an object";
  if (typeof value === "number") return Math.abs(value) < 2 ** 53 ? "a number" : "a number out of range";
  return typeof value === "undefined" ? "nothing" : `a ${typeof value}`;
}

const EMPTY: JsonObject = {};

function isEmptyList(value: unknown): value is readonly never[] {
  return Array.isArray(value) && value.length === 0;
}

function isId(value: unknown): boolean {
  return typeof value === "string" || isLongInteger(value) || Number.isSafeInteger(value) || isFraction(value);
}

function isFraction(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && !Number.isInteger(value);
}

/**
 * Merges two objects; `over` wins for keys in both. Anything but an object is returned as it is, and refused by `readShape`.
 * Spreading keeps a key named `__proto__` as data.
 */
export function mergeUnder(under: JsonObject | null, over: JsonObject | undefined): JsonObject | undefined;
export function mergeUnder(under: JsonObject | null, over: unknown): unknown;
export function mergeUnder(under: JsonObject | null, over: unknown): unknown {
  if (under === null) return over;
  if (over === undefined || over === null || isEmptyList(over)) return under;
  return isObject(over) ? { ...under, ...over } : over;
}
