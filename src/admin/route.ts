import type * as v from "valibot";
import { respond, respondFault } from "../http/respond.ts";
import { type Fault, type FaultCode, isFault } from "../model/fault.ts";

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
export type Query = v.GenericSchema & { readonly type: "strict_object"; readonly entries: Entries };
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
