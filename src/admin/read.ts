import * as v from "valibot";
import type { Bodies } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { type Fault, type FaultCode, fault, isFault } from "../model/fault.ts";
import type { Body, Query, Shape } from "./route.ts";

/** What a request asks for. Wrapped, because it may have a `code` of its own, as a Fault does. */
export type Read<T> = { readonly value: T };

/** Reads a query, or answers `invalid_request`: which part of it is wrong, and what was given. */
export function readQuery<Q extends Query>(
  query: Q,
  given: Readonly<Record<string, string>>,
): Read<v.InferOutput<Q>> | Fault {
  const result = v.safeParse(query, given, { abortEarly: true });
  return result.success ? { value: result.output } : invalidQuery(result.issues[0]);
}

function invalidQuery(issue: v.BaseIssue<unknown>): Fault {
  const [item] = issue.path ?? [];
  const got = item?.origin === "value" ? ` (got ${JSON.stringify(String(item.value).slice(0, 100))})` : "";
  return fault("invalid_request", `${String(item?.key).slice(0, 100)} ${issue.message}${got}`);
}

/** The entry of a query that says how many are wanted: text that becomes a whole number. */
export function limitQuery({ most, byDefault }: { readonly most: number; readonly byDefault: number }) {
  const rule = `must be a whole number from 1 to ${most}`;
  const digits = v.pipe(v.string(), v.regex(/^\d{1,9}$/, rule));
  const limit = v.pipe(
    digits,
    v.transform(Number),
    v.number(),
    v.minValue(1, rule),
    v.maxValue(most, rule),
    v.integer(),
  );
  return v.optional(v.pipe(limit, v.description("How many are listed at most.")), String(byDefault));
}

/** The entry of a body that says how many are done at once. */
export function limitEntry({ most, byDefault }: { readonly most: number; readonly byDefault: number }) {
  const rule = `must be a whole number from 1 to ${most}`;
  return v.optional(v.pipe(v.number(rule), v.integer(rule), v.minValue(1, rule), v.maxValue(most, rule)), byDefault);
}

/** What is said of an object that has other keys than these, or lacks one. */
export function keysRule(keys: string, missing = "is missing"): (issue: v.StrictObjectIssue) => string {
  return ({ path, expected, received }) => {
    if (!path) return `must be an object with ${keys}`;
    if (expected === "never") return `is not known; there are ${keys}`;
    return received === "undefined" ? missing : `must be an object with ${keys}`;
  };
}

/** What `readBody` refuses with. */
export const BODY_FAULTS: readonly FaultCode[] = [
  ...(["body_too_large", "body_incomplete", "body_too_slow", "too_many_bodies", "invalid_encoding"] as const),
  ...(["unsupported_media_type", "invalid_json", "too_deep", "invalid_request"] as const),
];

/** Reads a body of JSON. Faults: `BODY_FAULTS`. */
export async function readBody<B extends Body>(
  request: Request,
  { shape, maxBytes }: B,
  bodies: Bodies,
): Promise<Read<v.InferOutput<B["shape"]>> | Fault> {
  const text = await bodies.read(request, maxBytes);
  if (typeof text !== "string") return text;
  const parsed = parseJson(text);
  if (isFault(parsed)) return parsed;
  const result = v.safeParse(shape, withoutLists(parsed.value, shape), { abortEarly: true });
  return result.success ? { value: result.output } : invalidBody(result.issues[0]);
}

/** Valibot takes an empty list for an object without keys, which here would often stand for all there is. */
function withoutLists(value: unknown, shape: Shape | undefined): unknown {
  if (!shape || !isObject(shape) || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return null;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutLists(one, shape.entries[key])]));
}

function isObject(shape: Shape): shape is Query {
  return shape.type === "strict_object";
}

function invalidBody(issue: v.BaseIssue<unknown>): Fault {
  return fault("invalid_request", `${v.getDotPath(issue) ?? "the body"}: ${issue.message}`);
}
