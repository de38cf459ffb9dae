import type { GenericSchema } from "valibot";

/** What a place in the file may hold, as far as reading has to know it; the rest is for valibot to check. */
export type Shape =
  | { readonly kind: "map"; readonly entries: Readonly<Record<string, GenericSchema>> }
  /** A map whose keys the operator chooses. */
  | { readonly kind: "names"; readonly value: GenericSchema }
  | { readonly kind: "list"; readonly item: GenericSchema }
  | { readonly kind: "scalar"; readonly reads: "text" | "number" | "boolean" };

/** What a schema may have inside of it. */
export type Parts = GenericSchema & {
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
