import * as v from "valibot";
import type { Bodies } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { respond, respondFault } from "../http/respond.ts";
import { type Fault, type FaultCode, fault, isFault } from "../model/fault.ts";

/**
 * One route of the operator's API, as it is served and as `/openapi.json` describes it. It stands beside its handler, which
 * reads requests by `query` and `body`, and answers by `answers`: so the two cannot say different things.
 */
export type Route = {
  /** What programs that are made from the document call it. */
  readonly id: string;
  readonly method: "get" | "post" | "put" | "delete";
  /** With `:name` for each parameter. */
  readonly path: string;
  /** In a few words, without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** What each parameter of the path is. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Query;
  readonly body?: Body;
  /** By status. The description of each says what it means. */
  readonly answers: Readonly<Record<number, Shape>>;
  /** Of the answers; JSON when left out. */
  readonly type?: string;
  /** What it refuses with, beside what every route does, and what its query and its body bring with them. */
  readonly faults?: readonly FaultCode[];
};

/** What a value looks like in JSON. */
export type Shape = v.GenericSchema;

/** The shape of a query: each entry is a string before it is read. */
type Query = v.GenericSchema & { readonly type: "strict_object"; readonly entries: Entries };
type Entries = Readonly<Record<string, Shape>>;

export type Body = {
  readonly shape: Shape;
  /** Decompressed. */
  readonly maxBytes: number;
  /** The Content-Type that it has; JSON when left out. */
  readonly type?: string;
  /** Other Content-Types that it may have as well, and what it looks like in each. */
  readonly also?: Readonly<Record<string, Shape>>;
};

/** Declares a route; its type says what its handler has to answer. */
export function route<const R extends Route>(declared: R): R {
  return declared;
}

/** What a route answers with 200. */
export type Said<R extends { readonly answers: { readonly 200: Shape } }> = Frozen<v.InferOutput<R["answers"][200]>>;

/** What has this shape, as nobody changes it. */
export type Like<S extends Shape> = Frozen<v.InferOutput<S>>;

type Frozen<T> = T extends readonly (infer E)[]
  ? readonly Frozen<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;

/** Answers what the route says that it does, or why not. */
export function answer<const R extends { readonly answers: { readonly 200: Shape } }>(
  _: R,
  said: Said<R> | Fault,
): Response {
  const what: object = said as object;
  return isFault(what) ? respondFault(what) : respond(200, what);
}

/** What a request asks for. Wrapped, because it may have a `code` of its own, as a Fault does. */
type Read<T> = { readonly value: T };

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
