/**
 * The schemas of the operator's API. `admin/` types its answers and makes `/openapi.json` from them; `cli/` validates a
 * daemon's answers with them.
 */
import * as v from "valibot";
import { FAULT_STATUS, type FaultCode } from "../model/fault.ts";

export type Shape = v.GenericSchema;

export type Answer<S extends Shape> = Frozen<v.InferOutput<S>>;

type Frozen<T> = T extends readonly (infer E)[]
  ? readonly Frozen<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;

/** An answer as a reader gets it: a newer daemon may use words that are not known here. */
export type Received<S extends Shape> = Widened<v.InferOutput<S>>;

type Widened<T> = T extends string
  ? string
  : T extends readonly (infer E)[]
    ? readonly Widened<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Widened<T[K]> }
      : T;

/** Whether a daemon's answer has this shape. A newer daemon may have more keys, more words and wider ranges. */
export function isReceived<S extends Shape>(shape: S, value: unknown): value is Received<S> {
  const { issues = [] } = v.safeParse(shape, value);
  return issues.every(({ kind, type, expected, input }) => {
    // Any time can be computed with.
    if (type === "iso_timestamp") return !Number.isNaN(Date.parse(String(input)));
    if (kind === "validation") return true;
    if (type === "picklist") return typeof input === "string";
    return type === "strict_object" && expected === "never";
  });
}

export const success = v.literal(true);
export const time = v.pipe(v.string(), v.isoTimestamp());
export const count = v.pipe(v.number(), v.integer(), v.minValue(0));
export const text = v.nullable(v.string());

/** Adds a description to a shape. */
export function about<const S extends Shape>(meaning: string, shape: S) {
  return v.pipe(shape, v.description(meaning));
}

/** Gives a shape a name by which other shapes refer to it. */
export function named<const S extends Shape>(name: string, shape: S) {
  return v.pipe(shape, v.title(name));
}

export const CODES = Object.keys(FAULT_STATUS) as FaultCode[];

/** The codes by which the limits of a source refuse. */
export const limitCode = v.picklist(["rate_limited", "source_full"]);

/** The most items of one answer. */
export const MOST_LISTED = { deliveries: 1_000, deletions: 1_000, rejected: 100 } as const;

/** The body of a refusal. */
export const refusal = named(
  "Fault",
  v.strictObject({
    success: v.literal(false),
    code: about("Stable: programs may match on it.", v.picklist(CODES)),
    message: about("What could not be done, why, and what to do. The wording may change.", v.string()),
    error: about("The same as `message`.", v.string()),
  }),
);
