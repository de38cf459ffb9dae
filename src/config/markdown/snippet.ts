import { Document, isScalar, stringify, visit } from "yaml";
import { manualOf, shapeOf } from "../key.ts";
import { configSchema } from "../schema.ts";
import type { Option } from "./options.ts";

/** An example of one key, as the lines of a config file that holds nothing else. */
export function snippet({ path, schema }: Pick<Option, "path" | "schema">): string {
  const document = new Document(wrapped(exampleOf(schema), path.split(".")));
  visit(document, {
    Seq(_, list) {
      list.flow = list.items.every(isScalar);
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).trimEnd();
}

/** A value as one line of YAML. */
export function flowYaml(value: unknown): string {
  return stringify(value, { collectionStyle: "flow", flowCollectionPadding: false, lineWidth: 0 }).trimEnd();
}

/** Puts a value below all the keys that lead to it. */
function wrapped(value: unknown, [key = "", ...rest]: readonly string[], top = key): unknown {
  const below = rest.length === 0 ? value : wrapped(value, rest, top);
  if (key === "NAME") return { [nameIn(top)]: below };
  return key.endsWith("[]") ? { [key.slice(0, -2)]: [below] } : { [key]: below };
}

/** The name that the example file chooses in a section. */
function nameIn(section: string): string {
  const [, schema] = Object.entries(configSchema.entries).find(([name]) => name === section) ?? [];
  return (schema && manualOf(schema).name) ?? "NAME";
}

function exampleOf(schema: Option["schema"]): unknown {
  const { example, entries, commentedOut } = manualOf(schema);
  if (example !== undefined) return example;
  if (entries) return { ...entries, ...commentedOut };
  const shape = shapeOf(schema);
  if (shape.kind === "map") return examplesOf(shape.entries);
  const item = shape.kind === "list" ? shapeOf(shape.item) : null;
  if (item?.kind === "map") return [examplesOf(item.entries)];
  throw new Error("a key of the config has no example: this is a bug in Fairlead, please report it");
}

/** Of what has to be there. */
function examplesOf(entries: Readonly<Record<string, Option["schema"]>>): unknown {
  const required = Object.entries(entries).filter(([, schema]) => schema.type !== "optional");
  return Object.fromEntries(required.map(([name, schema]) => [name, exampleOf(schema)]));
}
