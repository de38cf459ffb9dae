import * as v from "valibot";
import { FIXED_KEYS } from "../changes.ts";
import { formOf, leftOutOf, type Manual, manualOf, type Shape, shapeOf } from "../key.ts";
import { configSchema } from "../schema.ts";
import { flowYaml } from "./snippet.ts";

/** A key of the config file, as the reference shows it. All texts are Markdown. */
export type Option = {
  /** As `destinations.NAME.webhooks[].url`. */
  readonly path: string;
  readonly type: string;
  /** Null: it is required. */
  readonly byDefault: string | null;
  /** Whether a running daemon takes another value. */
  readonly reload: string;
  readonly manual: Manual;
  /** What may stand there, for its example. */
  readonly schema: v.GenericSchema;
};

/** A key at the top of the file, with all that is in it. */
export type Section = { readonly name: string; readonly manual: Manual; readonly options: readonly Option[] };

export type Entries = Readonly<Record<string, v.GenericSchema>>;

/** All keys of the schema, in its order. */
export function sectionsOf(entries: Entries = configSchema.entries): readonly Section[] {
  return Object.entries(entries).map(([name, schema]) => {
    return { name, manual: manualOf(schema), options: optionsBelow(shapeOf(schema), name) };
  });
}

function optionsBelow(shape: Shape, path: string): readonly Option[] {
  if (shape.kind === "names") return optionsBelow(shapeOf(shape.value), `${path}.NAME`);
  if (shape.kind === "list") return optionsBelow(shapeOf(shape.item), `${path}[]`);
  if (shape.kind !== "map") return [];
  return Object.entries(shape.entries).flatMap(([name, schema]) => optionsOf(schema, `${path}.${name}`));
}

/** A key, and those in it. */
function optionsOf(schema: v.GenericSchema, path: string): readonly Option[] {
  const option = { path, type: formOf(schema), manual: manualOf(schema), schema };
  return [
    { ...option, byDefault: defaultOf(schema), reload: reloadOf(schema, path) },
    ...optionsBelow(shapeOf(schema), path),
  ];
}

function defaultOf(schema: v.GenericSchema): string | null {
  const value: unknown = v.getDefault(schema);
  if (value !== undefined) return `\`${flowYaml(value)}\``;
  return schema.type === "optional" ? leftOutOf(schema) : null;
}

function reloadOf(schema: v.GenericSchema, path: string): string {
  if (!FIXED_KEYS.includes(path)) return "applied";
  return shapeOf(schema).kind === "map" ? "applied; to have it or not, a restart" : "needs a restart";
}
