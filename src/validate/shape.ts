import * as v from "valibot";
import type { JsonObject } from "../model/event.ts";
import { type Fault, fault } from "../model/fault.ts";
import { isLongInteger, type LongInteger } from "../model/json.ts";

/**
 * The fields of a call and their types (SPEC.md 2.3). Other fields are ignored. Real clients send null for absent fields,
 * and numeric ids, which become strings. Objects are only checked to be objects and passed on: rebuilding them would drop
 * keys such as `__proto__`.
 */
const text = nullable<string>((value) => typeof value === "string", "a string");
const id = v.pipe(
  nullable<string | number | LongInteger>(isId, "a string, or a whole number"),
  v.transform((value) => (isLongInteger(value) ? value.rawJSON : value?.toString()) || undefined),
);
// PHP writes an object without keys as an empty list.
const object = v.pipe(
  nullable<JsonObject | readonly never[]>((value) => isObject(value) || isEmptyList(value), "an object"),
  v.transform((value) => (isObject(value) ? value : value && EMPTY)),
);

const callShape = v.object({
  type: text,
  messageId: id,
  userId: id,
  anonymousId: id,
  previousId: id,
  groupId: id,
  event: text,
  name: text,
  category: text,
  channel: text,
  timestamp: text,
  originalTimestamp: text,
  sentAt: text,
  properties: object,
  traits: object,
  context: object,
  integrations: object,
});

export type Call = v.InferOutput<typeof callShape>;

/** The known fields of a call, or which one is wrong and what is expected. */
export function readShape(call: JsonObject): Call | Fault {
  const result = v.safeParse(callShape, call, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  return fault("invalid_call", `${v.getDotPath(issue)} must be ${issue.message} (got ${kindOf(issue.input)})`);
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

function isId(value: unknown): value is string | number | LongInteger {
  return typeof value === "string" || isLongInteger(value) || Number.isSafeInteger(value) || isFraction(value);
}

function isFraction(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && !Number.isInteger(value);
}

function nullable<T>(is: (value: unknown) => boolean, expected: string) {
  return v.optional(
    v.pipe(
      v.custom<T | null>((value) => value === null || is(value), expected),
      v.transform((value) => value ?? undefined),
    ),
  );
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
