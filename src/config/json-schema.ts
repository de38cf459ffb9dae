import { toJsonSchema } from "@valibot/to-json-schema";
import { FOR_ALIASES } from "./anchors.ts";
import { FREE, type Manual } from "./key.ts";
import { configSchema, includedSchema } from "./schema.ts";

/** As much of JSON Schema as a config file needs. */
export type JsonSchema = {
  readonly $schema?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly string[];
  readonly pattern?: string;
  /** The message of editors for text that does not match the pattern. */
  readonly patternErrorMessage?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly propertyNames?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
};

/** A text with a reference in it. An editor cannot know the value. */
const REFERENCE = "\\$\\{";

/**
 * The JSON Schema of a config file, in draft-07, which editors support best. It accepts every file that loads. What it
 * cannot see, such as a duration that is too long, `fairlead check` reports.
 */
export function configJsonSchema(): JsonSchema {
  const description = "Every key of the config file. `fairlead schema --example` prints an example.";
  return jsonSchemaOf(configSchema, { title: "Fairlead's config", description });
}

/** The same of a file that a config includes. */
export function includedJsonSchema(): JsonSchema {
  const description = "Every key of a file that the config file of Fairlead includes.";
  return jsonSchemaOf(includedSchema, { title: "A part of Fairlead's config", description });
}

type Names = { readonly title: string; readonly description: string };

function jsonSchemaOf(schema: typeof configSchema | typeof includedSchema, names: Names): JsonSchema {
  // These checks are functions; the metadata beside them says what can be said of them.
  const ignoreActions = ["raw_check", "check"];
  const options = { target: "draft-07", typeMode: "input", ignoreActions } as const;
  const { $schema = "", ...root } = toJsonSchema(schema, options);
  return {
    $schema,
    ...names,
    ...asWritten(root as Converted, ""),
    patternProperties: { [FOR_ALIASES.source]: {} },
  };
}

/** The conversion copies the metadata of a schema. */
type Converted = JsonSchema & { readonly manual?: Manual; readonly form?: string; readonly [FREE]?: unknown };

/** Turns the values that the schema accepts into what may stand in the file, references included. */
function asWritten({ manual, form: _, [FREE]: __, ...json }: Converted, path: string): JsonSchema {
  const examples = manual ? examplesOf(manual) : {};
  if (json.type === "object") return { ...mapAsWritten(json, path), ...examples };
  const { anyOf, ...value } = json;
  if (value.items) return { ...value, ...examples, items: asWritten(value.items, `${path}[]`) };
  // Beside a type of its own, a choice of types says nothing.
  if (value.type || !anyOf) return { ...orReference(value), ...examples };
  return { ...value, ...examples, anyOf: anyOf.map((one) => asWritten(one, path)) };
}

function examplesOf({ example, entries, commentedOut }: Manual): { readonly examples?: readonly unknown[] } {
  if (entries) return { examples: [{ ...entries, ...commentedOut }] };
  return example === undefined ? {} : { examples: [example] };
}

function mapAsWritten({ required = [], default: _, properties, ...json }: JsonSchema, path: string): JsonSchema {
  const { additionalProperties, propertyNames } = json;
  const { form: __, ...names }: Converted = propertyNames ?? {};
  return {
    ...json,
    // A key whose lines are all commented out is null.
    ...(required.length === 0 && path !== "" && { type: ["object", "null"] }),
    ...(required.length > 0 && { required }),
    ...(properties && { properties: keysAsWritten(properties, path) }),
    ...(propertyNames && { propertyNames: names }),
    ...(typeof additionalProperties === "object" && {
      additionalProperties: asWritten(additionalProperties, `${path}.NAME`),
    }),
  };
}

function keysAsWritten(keys: Readonly<Record<string, JsonSchema>>, path: string): Record<string, JsonSchema> {
  const written = Object.entries(keys).map(([name, json]) => {
    const title = path === "" ? name : `${path}.${name}`;
    return [name, { title, description: json.description ?? "", ...asWritten(json, title) }] as const;
  });
  return Object.fromEntries(written);
}

/** A reference is text wherever it stands, also for a number, a boolean or a word of a few. */
function orReference(json: JsonSchema): JsonSchema {
  const { type, enum: words, pattern, ...rest } = json;
  if (words) {
    const choices = [{ enum: words }, { pattern: REFERENCE }];
    return { ...rest, anyOf: choices.map((choice) => ({ type: "string", ...choice })) };
  }
  if (type === "boolean" || type === "integer") return { ...json, type: [type, "string"], pattern: REFERENCE };
  return pattern === undefined ? json : { ...json, pattern: `${pattern}|${REFERENCE}` };
}
