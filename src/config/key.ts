/** What a schema says about itself, beside its checks: the manual of a key, its type in words, and its shape. */
import * as v from "valibot";

/** The texts about a key. */
export type Manual = {
  /** What the key is, in a sentence or two. Editors show it, and the example file begins with it. */
  readonly description: string;
  /** Follows in the example file: when and why to change it. A line break in it counts as a space. */
  readonly more?: string;
  /** A useful value, for the reference and editors, and for the example file if there is no default. */
  readonly example?: string | number | boolean | readonly string[] | Readonly<Record<string, unknown>>;
  /** For an optional key without a default: what is in force when it is left out. */
  readonly leftOut?: string;
  /** A key beside it that takes its place: with that one set, this one counts for nothing. */
  readonly unless?: string;
  /** For maps under names that the operator chooses: the name in the example file. */
  readonly name?: string;
  /** For values under names that the operator chooses: those in the example file, set and commented out. */
  readonly entries?: Readonly<Record<string, string>>;
  readonly commentedOut?: Readonly<Record<string, string>>;
};

/** A key of the config file: its schema and its manual. */
export function key<Schema extends v.GenericSchema>(schema: Schema, manual: Manual) {
  return v.pipe(schema, v.description(manual.description), v.metadata({ manual }));
}

/** The manual of a key; throws if its schema was not made by `key`. */
export function manualOf(schema: v.GenericSchema): Manual {
  const { manual } = v.getMetadata(schema) as { readonly manual?: Manual };
  if (manual) return manual;
  throw new Error("a key of the config has no manual: this is a bug in Fairlead, please report it");
}

/** What is in force when an optional key without a default is left out. */
export function leftOutOf(schema: v.GenericSchema): string {
  const { leftOut } = manualOf(schema);
  if (leftOut !== undefined) return leftOut;
  throw new Error(
    "a key of the config does not say what counts without it: this is a bug in Fairlead, please report it",
  );
}

/** A relative path starts at the folder of the config file. */
export const PATH_FORM = "path";

/** The type of a value in a few words of Markdown, as the reference shows it. */
export function formOf(schema: v.GenericSchema): string {
  const { form } = v.getMetadata(schema) as { readonly form?: string };
  const { wrapped }: Parts = schema;
  if (form !== undefined) return form;
  if (wrapped) return formOf(wrapped);
  return shapeOf(schema).kind === "scalar" ? "text" : "map";
}

/** The kind of value at a place in the file, as far as reading needs it. valibot checks the rest. */
export type Shape =
  | { readonly kind: "map"; readonly entries: Readonly<Record<string, v.GenericSchema>> }
  /** A map whose keys the operator chooses. `shown`: keys whose values are no secret, whatever they stand below. */
  | { readonly kind: "names"; readonly value: v.GenericSchema; readonly shown?: readonly string[] }
  | { readonly kind: "list"; readonly item: v.GenericSchema }
  | { readonly kind: "scalar"; readonly reads: "text" | "number" | "boolean" };

/**
 * Marks, in its metadata, a schema that takes any value as it is, and finds out itself what is wrong with it. Has the keys
 * whose values are no secret.
 */
export const FREE = "free";

/** What stands at a place in the file. */
export type Found = "map" | "list" | "scalar";

/** The schemas inside a schema. */
type Parts = v.GenericSchema & {
  readonly wrapped?: v.GenericSchema;
  readonly entries?: Readonly<Record<string, v.GenericSchema>>;
  readonly value?: v.GenericSchema;
  readonly item?: v.GenericSchema;
  readonly options?: readonly unknown[];
};

/** The shape of a schema. What is found decides between a list and another option, and for a free one. */
export function shapeOf(schema: v.GenericSchema, found: Found = "scalar"): Shape {
  const { type, wrapped, entries, value, item, options = [] }: Parts = schema;
  if (wrapped) return shapeOf(wrapped, found);
  const { [FREE]: shown } = v.getMetadata(schema) as { readonly [FREE]?: readonly string[] };
  if (shown) return freeShape(schema, shown, found);
  if (entries) return { kind: "map", entries };
  if (type === "record" && value) return { kind: "names", value };
  if (item) return { kind: "list", item };
  const list = (options as v.GenericSchema[]).find((option) => option.type === "array");
  if (found === "list" && list) return shapeOf(list);
  const map = (options as Parts[]).find((option) => option.entries);
  if (found === "map" && map) return shapeOf(map);
  return { kind: "scalar", reads: type === "number" || type === "boolean" ? type : "text" };
}

function freeShape(schema: v.GenericSchema, shown: readonly string[], found: Found): Shape {
  if (found === "map") return { kind: "names", value: schema, shown };
  return found === "list" ? { kind: "list", item: schema } : { kind: "scalar", reads: "text" };
}

/** The form of a pattern for names in calls. */
export const PATTERN_FORM = "pattern";

/** The form of a template for payloads. */
export const TEMPLATE_FORM = "template: JSON as YAML, with `{{ references }}` in its texts";

export function isOfTemplate(schema: v.GenericSchema): boolean {
  return v.getMetadata(schema).form === TEMPLATE_FORM;
}

/** Whether values are compared with what is in calls: `$pageview` is a name there, and `?a=*` no secret. */
export function isOfCalls(schema: v.GenericSchema): boolean {
  const { wrapped }: Parts = schema;
  if (wrapped) return isOfCalls(wrapped);
  return FREE in v.getMetadata(schema) || formOf(schema) === PATTERN_FORM;
}
