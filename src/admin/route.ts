import * as v from "valibot";
import type { Bodies } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { type Fault, type FaultCode, fault, isFault } from "../model/fault.ts";
import type { Timeline } from "../model/timeline.ts";
import { type At, formatTime } from "../model/units.ts";
import type { Answer, Shape } from "../wire/fields.ts";

/**
 * One route of the operator's API, both as it is served and as `/openapi.json` describes it. `query` and `body` validate its
 * requests, and `answers` types its handler, so that the document cannot differ from the code.
 */
export type Route = {
  /** The operationId. */
  readonly id: string;
  readonly method: "get" | "post" | "put" | "delete";
  /** With `:name` for each parameter. */
  readonly path: string;
  /** A few words, without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** The meaning of each path parameter. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Query;
  readonly body?: Body;
  /** The answers by status, each with a description. */
  readonly answers: Readonly<Record<number, Shape>>;
  /** The Content-Type of the answers; JSON if left out. */
  readonly type?: string;
  /** Whether it needs full access although it is a GET: it answers with all that is stored, or with a secret. */
  readonly full?: boolean;
  /** Its own faults, besides those of every route and of its query and body. */
  readonly faults?: readonly FaultCode[];
};

/** The shape of a query. Each entry is a string before parsing. */
export type Query = Shape & { readonly type: "strict_object"; readonly entries: Readonly<Record<string, Shape>> };

export type Body = {
  readonly shape: Shape;
  /** Decompressed. */
  readonly maxBytes: number;
  /** An example, for the message of an `invalid_request`. */
  readonly example?: string;
  /** The Content-Type; JSON if left out. */
  readonly type?: string;
  /** Other accepted Content-Types, each with its shape. */
  readonly also?: Readonly<Record<string, Shape>>;
  /** Whether the handler reads it itself, as a stream. */
  readonly streamed?: boolean;
};

/** Declares a route. Its type determines what its handler gets and must answer. */
export function route<const R extends Route>(declared: R): R {
  return declared;
}

/** A handler's answer: a fault, the route's body for 200, or a complete response. */
export type Answered<R extends Route> = AnswerOf<R> | Fault | Response;

/** The body that a route answers with 200. */
export type AnswerOf<R extends Route> = R["answers"] extends { readonly 200: infer S extends Shape }
  ? Answer<S>
  : never;

/** The parsed request. */
export type Asked<R extends Route> = {
  readonly request: Request;
  readonly params: ParamsOf<R["path"]>;
  readonly query: R["query"] extends Query ? v.InferOutput<R["query"]> : null;
  readonly body: R["body"] extends Body ? v.InferOutput<R["body"]["shape"]> : null;
};

export type Serve = <const R extends Route>(route: R, handle: Handler<R>) => void;
export type Handler<R extends Route> = (asked: Asked<R>) => Answered<R> | Promise<Answered<R>>;

type ParamsOf<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [K in Name]: string } & ParamsOf<Rest>
  : P extends `${string}:${infer Name}`
    ? { readonly [K in Name]: string }
    : unknown;

/** A parsed value. Wrapped, because it may have a `code` as a Fault has. */
type Read = { readonly value: unknown };

/** Parses a query, or answers `invalid_request` with the wrong part and its value. */
export function readQuery(query: Query | undefined, given: Readonly<Record<string, string>>): Read | Fault {
  if (!query) return { value: null };
  const result = v.safeParse(query, given, { abortEarly: true });
  return result.success ? { value: result.output } : invalidQuery(result.issues[0]);
}

function invalidQuery(issue: v.BaseIssue<unknown>): Fault {
  const [item] = issue.path ?? [];
  const got = item?.origin === "value" ? ` (got ${JSON.stringify(String(item.value).slice(0, 100))})` : "";
  return fault("invalid_request", `${String(item?.key).slice(0, 100)} ${issue.message}${got}`);
}

/** The faults of `readBody`. */
export const BODY_FAULTS: readonly FaultCode[] = [
  "body_too_large",
  "body_incomplete",
  "body_too_slow",
  "too_many_bodies",
  "invalid_encoding",
  "unsupported_media_type",
  "invalid_json",
  "too_deep",
  "invalid_request",
];

/** Parses a JSON body. Faults: `BODY_FAULTS`. */
export async function readBody(body: Body | undefined, request: Request, bodies: Bodies): Promise<Read | Fault> {
  if (!body || body.streamed) return { value: null };
  const text = await bodies.read(request, body.maxBytes);
  if (typeof text !== "string") return text;
  const parsed = parseJson(text);
  if (isFault(parsed)) return parsed;
  const result = v.safeParse(body.shape, withoutLists(parsed.value, body.shape), { abortEarly: true });
  return result.success ? { value: result.output } : invalidBody(result.issues[0], body.example);
}

/** Valibot accepts an empty list as an object without keys, which often means "everything". */
function withoutLists(value: unknown, shape: Shape | undefined): unknown {
  if (!shape || !isObject(shape) || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return null;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutLists(one, shape.entries[key])]));
}

function isObject(shape: Shape): shape is Query {
  return shape.type === "strict_object";
}

function invalidBody(issue: v.BaseIssue<unknown>, example: string | undefined): Fault {
  const remedy = example === undefined ? "" : `; send ${example}`;
  return fault("invalid_request", `${v.getDotPath(issue) ?? "the body"}: ${issue.message}${remedy}`);
}

type Limit = { readonly most: number; readonly byDefault: number };

/** The query entry `limit`: text that becomes a whole number. */
export function limitQuery({ most, byDefault }: Limit) {
  const rule = limitRule(most);
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

/** The body entry `limit`: how many are processed at once. */
export function limitEntry({ most, byDefault }: Limit) {
  const rule = limitRule(most);
  return v.optional(v.pipe(v.number(rule), v.integer(rule), v.minValue(1, rule), v.maxValue(most, rule)), byDefault);
}

function limitRule(most: number): string {
  return `must be a whole number from 1 to ${most}`;
}

/** A query entry that is text. If left out, it matches everything. */
export const textQuery = v.optional(v.pipe(v.string(), v.nonEmpty("must not be empty; leave it out for all")));

/** The message for an object with other keys than these, or without one of them. */
export function keysRule(keys: string, missing = "is missing"): (issue: v.StrictObjectIssue) => string {
  return ({ path, expected, received }) => {
    if (!path) return `must be an object with ${keys}`;
    if (expected === "never") return `is unknown; known are ${keys}`;
    return received === "undefined" ? missing : `must be an object with ${keys}`;
  };
}

export function timeOf(at: At | null): string | null {
  return at === null ? null : formatTime(at);
}

/** Converts a time of `clock.now()` to the wall clock. */
export function wallTime(at: At, { toWall }: Pick<Timeline, "toWall">): string {
  return formatTime(toWall(at));
}

export function wallTimeOf(at: At | null, timeline: Pick<Timeline, "toWall">): string | null {
  return at === null ? null : wallTime(at, timeline);
}
