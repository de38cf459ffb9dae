import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import type { Shape } from "../route.ts";

/** A part of a document: JSON, as it is written. */
export type Json = { readonly [key: string]: unknown };

/** Shapes as JSON Schemas, draft 2020-12 as OpenAPI 3.1 has it. */
export type Shapes = {
  /** What comes in: a shape before it is read. */
  input(shape: Shape): Json;
  /** What goes out, or what text in a query means: a shape after it was read. Other keys may join those that it has. */
  output(shape: Shape): Json;
  /** Those that have a name, and to which the others refer. */
  readonly named: Json;
};

export function createShapes(): Shapes {
  const named: Record<string, Json> = {};
  return {
    named,
    input: (shape) => collect(convert(shape, "input")) as Json,
    output: (shape) => collect(opened(convert(shape, "output"))) as Json,
  };

  /** Keeps what has a title under this name, and leaves a reference in its place. */
  function collect(json: unknown): unknown {
    if (Array.isArray(json)) return json.map(collect);
    if (typeof json !== "object" || json === null) return json;
    const inner = Object.fromEntries(Object.entries(json).map(([key, value]) => [key, collect(value)]));
    // Not a property that is called so.
    if (typeof inner.title !== "string") return inner;
    // What is said of it here is about this place.
    const { description, ...shape } = inner;
    return { $ref: keep(inner.title, shape), ...(description !== undefined && { description }) };
  }

  function keep(name: string, json: Json): string {
    const known = named[name] ?? json;
    if (JSON.stringify(known) !== JSON.stringify(json)) throw new Error(`two shapes have the name ${name}`);
    named[name] = json;
    return `#/components/schemas/${name}`;
  }
}

function convert(shape: Shape, typeMode: "input" | "output"): Json {
  // These checks are functions; what they are about is said in descriptions.
  const ignoreActions = ["check", "raw_check"];
  const { $schema: _, ...json } = toJsonSchema(shape, { target: "draft-2020-12", typeMode, ignoreActions });
  return json;
}

/** A newer daemon may say more: whoever reads its answers should not mind. */
function opened(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(opened);
  if (typeof json !== "object" || json === null) return json;
  const kept = Object.entries(json).filter(([key, value]) => key !== "additionalProperties" || value !== false);
  return Object.fromEntries(kept.map(([key, value]) => [key, opened(value)]));
}

/** Whether it may be left out. */
export function isOptional(shape: Shape): boolean {
  return v.safeParse(shape, undefined).success;
}
