import * as v from "valibot";
import type { Bodies } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { type Fault, type FaultCode, fault, isFault } from "../model/fault.ts";
import type { Timeline } from "../model/timeline.ts";
import { type At, formatTime } from "../model/units.ts";
import type { Answer, Shape } from "../wire/fields.ts";

/**
 * One route of the operator's API, as it is served and as `/openapi.json` describes it. Requests are read by `query` and
 * `body` before its handler sees them, and its handler answers by `answers`: so the two cannot say different things.
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
  /** What it refuses with, beside what every route does, and what its query and its body add. */
  readonly faults?: readonly FaultCode[];
};

/** The shape of a query: each entry is a string before it is read. */
export type Query = Shape & { readonly type: "strict_object"; readonly entries: Readonly<Record<string, Shape>> };

export type Body = {
  readonly shape: Shape;
  /** Decompressed. */
  readonly maxBytes: number;
  /** An example, for the message of an `invalid_request`. */
  readonly example?: string;
  /** The Content-Type that it has; JSON when left out. */
  readonly type?: string;
  /** Other Content-Types that it may have as well, and what it looks like in each. */
  readonly also?: Readonly<Record<string, Shape>>;
  /** Whether the handler reads it itself, as a stream. */
  readonly streamed?: boolean;
};

/** Declares a route; its type says what its handler gets and has to answer. */
export function route<const R extends Route>(declared: R): R {
  return declared;
}

/** What a handler answers: a refusal, what the route answers with 200, or a response of its own. */
export type Answered<R extends Route> = AnswerOf<R> | Fault | Response;

/** What a route answers with 200. */
export type AnswerOf<R extends Route> = R["answers"] extends { readonly 200: infer S extends Shape }
  ? Answer<S>
  : never;

/** What a request asks of a route. */
export type Asked<R extends Route> = {
  readonly request: Request;
  readonly params: ParamsOf<R["path"]>;
  readonly query: R["query"] extends Query ? v.InferOutput<R["query"]> : null;
  readonly body: R["body"] extends Body ? v.InferOutput<R["body"]["shape"]> : null;
};

/** Serves a route. */
export type Serve = <const R extends Route>(route: R, handle: Handler<R>) => void;
export type Handler<R extends Route> = (asked: Asked<R>) => Answered<R> | Promise<Answered<R>>;

type ParamsOf<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [K in Name]: string } & ParamsOf<Rest>
  : P extends `${string}:${infer Name}`
    ? { readonly [K in Name]: string }
    : unknown;

/** What a request asks for. Wrapped, because it may have a `code` of its own, as a Fault does. */
type Read = { readonly value: unknown };

/** Reads a query, or answers `invalid_request`: which part of it is wrong, and what was given. */
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

/** What `readBody` refuses with. */
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

/** Reads a body of JSON. Faults: `BODY_FAULTS`. */
export async function readBody(body: Body | undefined, request: Request, bodies: Bodies): Promise<Read | Fault> {
  if (!body || body.streamed) return { value: null };
  const text = await bodies.read(request, body.maxBytes);
  if (typeof text !== "string") return text;
  const parsed = parseJson(text);
  if (isFault(parsed)) return parsed;
  const result = v.safeParse(body.shape, withoutLists(parsed.value, body.shape), { abortEarly: true });
  return result.success ? { value: result.output } : invalidBody(result.issues[0], body.example);
}

/** Valibot takes an empty list for an object without keys, which would often stand for everything there is. */
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

/** The entry of a query that says how many are wanted: text that becomes a whole number. */
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

/** The entry of a body that says how many are done at once. */
export function limitEntry({ most, byDefault }: Limit) {
  const rule = limitRule(most);
  return v.optional(v.pipe(v.number(rule), v.integer(rule), v.minValue(1, rule), v.maxValue(most, rule)), byDefault);
}

function limitRule(most: number): string {
  return `must be a whole number from 1 to ${most}`;
}

/** The entry of a query that is text. Left out, it allows everything. */
export const textQuery = v.optional(v.pipe(v.string(), v.nonEmpty("must not be empty; leave it out for all")));

/** The message for an object that has other keys than these, or lacks one. */
export function keysRule(keys: string, missing = "is missing"): (issue: v.StrictObjectIssue) => string {
  return ({ path, expected, received }) => {
    if (!path) return `must be an object with ${keys}`;
    if (expected === "never") return `is not known; there are ${keys}`;
    return received === "undefined" ? missing : `must be an object with ${keys}`;
  };
}

export function timeOf(at: At | null): string | null {
  return at === null ? null : formatTime(at);
}

/** A time of `clock.now()`, by the wall clock. */
export function wallTime(at: At, { toWall }: Pick<Timeline, "toWall">): string {
  return formatTime(toWall(at));
}

export function wallTimeOf(at: At | null, timeline: Pick<Timeline, "toWall">): string | null {
  return at === null ? null : wallTime(at, timeline);
}
