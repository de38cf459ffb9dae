import * as v from "valibot";
import { type Parts, shapeOf } from "./shape.ts";

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
