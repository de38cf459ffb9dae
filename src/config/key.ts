import type { GenericSchema } from "valibot";
import * as v from "valibot";

/** What people read about a key: written beside its type, and nowhere else. */
export type Manual = {
  /** What the key is, in a sentence or two: editors show it, and the example file begins with it. */
  readonly description: string;
  /** Goes on in the example file: when and why to change it. Line breaks in it are as good as spaces. */
  readonly more?: string;
  /** A value worth writing. The reference and editors show it; the example file does if there is no default. */
  readonly example?: string | number | boolean | readonly string[];
  /** Of a key that may be left out and has no default: what counts then. */
  readonly leftOut?: string;
  /** Of maps under names that the operator chooses: the name of the one that the example file shows. */
  readonly name?: string;
  /** Of values under names that the operator chooses: those that the example file shows, set and commented out. */
  readonly entries?: Readonly<Record<string, string>>;
  readonly commentedOut?: Readonly<Record<string, string>>;
};

/** A key of the config file: what may stand there, and its manual. */
export function key<Schema extends v.GenericSchema>(schema: Schema, manual: Manual) {
  return v.pipe(schema, v.description(manual.description), v.metadata({ manual }));
}

/** The manual of a key; throws if its schema was not made by `key`. */
export function manualOf(schema: v.GenericSchema): Manual {
  const { manual } = v.getMetadata(schema) as { readonly manual?: Manual };
  if (manual) return manual;
  throw new Error("a key of the config has no manual: this is a bug in Fairlead, please report it");
}

/** What counts when a key without a default is left out. */
export function leftOutOf(schema: v.GenericSchema): string {
  const { leftOut } = manualOf(schema);
  if (leftOut !== undefined) return leftOut;
  throw new Error(
    "a key of the config does not say what counts without it: this is a bug in Fairlead, please report it",
  );
}

/** The form of a path: a relative one is made whole where it is read. */
export const PATH_FORM = "path";

/** What may be written in a place, in a few words of Markdown: the type, as the reference names it. */
export function form<Input>(words: string) {
  return v.metadata<Input, { readonly form: string }>({ form: words });
}

/** The form of a schema, wherever in its wrapping it was said. */
export function formOf(schema: v.GenericSchema): string {
  const { form } = v.getMetadata(schema) as { readonly form?: string };
  const { wrapped }: Parts = schema;
  if (form !== undefined) return form;
  if (wrapped) return formOf(wrapped);
  return shapeOf(schema).kind === "scalar" ? "text" : "map";
}

/** What a place in the file may hold, as far as reading has to know it; the rest is for valibot to check. */
export type Shape =
  | { readonly kind: "map"; readonly entries: Readonly<Record<string, GenericSchema>> }
  /** A map whose keys the operator chooses. */
  | { readonly kind: "names"; readonly value: GenericSchema }
  | { readonly kind: "list"; readonly item: GenericSchema }
  | { readonly kind: "scalar"; readonly reads: "text" | "number" | "boolean" };

/** What a schema may have inside of it. */
type Parts = GenericSchema & {
  readonly wrapped?: GenericSchema;
  readonly entries?: Readonly<Record<string, GenericSchema>>;
  readonly value?: GenericSchema;
  readonly item?: GenericSchema;
  readonly options?: readonly unknown[];
};

/** Reads a schema. Of a choice between a list and something else, `isList` decides. */
export function shapeOf(schema: GenericSchema, isList = false): Shape {
  const { type, wrapped, entries, value, item, options }: Parts = schema;
  if (wrapped) return shapeOf(wrapped, isList);
  if (entries) return { kind: "map", entries };
  if (type === "record" && value) return { kind: "names", value };
  if (item) return { kind: "list", item };
  const list =
    isList && type === "union" ? (options as GenericSchema[]).find((option) => option.type === "array") : null;
  if (list) return shapeOf(list);
  return { kind: "scalar", reads: type === "number" || type === "boolean" ? type : "text" };
}
