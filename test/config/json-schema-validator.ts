import type { JsonSchema } from "../../src/config/json-schema.ts";

/** As much of JSON Schema as the config's schema and the answers of the operator's API need together. */
type Schema = JsonSchema & {
  readonly const?: unknown;
  readonly format?: string;
  readonly maxLength?: number;
  readonly prefixItems?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
};

/**
 * What is wrong with a value by a JSON Schema, as `path: rule`. Knows the rules that Fairlead's schemas use, and throws
 * on any other, so that none goes unchecked.
 */
export function faultsOf(schema: Schema, value: unknown, path = ""): readonly string[] {
  return Object.keys(schema).flatMap((rule) => {
    if (ANNOTATIONS.includes(rule)) return [];
    const check = RULES[rule];
    if (!check) throw new Error(`the validator does not know ${rule}`);
    const found = check(schema, value, path);
    return typeof found === "boolean" ? (found ? [] : [`${path}: ${rule}`]) : found;
  });
}

const ANNOTATIONS = ["$schema", "title", "description", "default", "examples", "patternErrorMessage"];

/** Answers whether the value keeps to the rule, or the faults below it. */
type Check = (schema: Schema, value: unknown, path: string) => boolean | readonly string[];

const RULES: Readonly<Record<string, Check>> = {
  type: ({ type = [] }, value) => [type].flat().some((name) => isOf(name, value)),
  const: ({ const: only }, value) => value === only,
  enum: ({ enum: words = [] }, value) => words.some((word) => word === value),
  anyOf: ({ anyOf = [] }, value, path) => anyOf.some((one) => faultsOf(one, value, path).length === 0),
  allOf: ({ allOf = [] }, value, path) => allOf.flatMap((one) => faultsOf(one, value, path)),
  format: ({ format }, value) => typeof value !== "string" || (format === "date-time" && DATE_TIME.test(value)),
  // Validators read patterns as Unicode.
  pattern: ({ pattern = "" }, value) => typeof value !== "string" || new RegExp(pattern, "u").test(value),
  minLength: ({ minLength = 0 }, value) => typeof value !== "string" || value.length >= minLength,
  maxLength: ({ maxLength = 0 }, value) => typeof value !== "string" || value.length <= maxLength,
  minimum: ({ minimum = 0 }, value) => typeof value !== "number" || value >= minimum,
  maximum: ({ maximum = 0 }, value) => typeof value !== "number" || value <= maximum,
  minItems: ({ minItems = 0 }, value) => !Array.isArray(value) || value.length >= minItems,
  maxItems: ({ maxItems = 0 }, value) => !Array.isArray(value) || value.length <= maxItems,
  items: ({ items = {} }, value, path) =>
    Array.isArray(value) ? value.flatMap((item, at) => faultsOf(items, item, `${path}[${at}]`)) : [],
  prefixItems: ({ prefixItems = [] }, value, path) =>
    Array.isArray(value) ? prefixItems.flatMap((item, at) => faultsOf(item, value[at], `${path}[${at}]`)) : [],
  required: ({ required = [] }, value) => !isObject(value) || required.every((key) => Object.hasOwn(value, key)),
  properties: ({ properties = {} }, value, path) =>
    entriesOf(value).flatMap(([key, entry]) => faultsOf(properties[key] ?? {}, entry, `${path}.${key}`)),
  propertyNames: ({ propertyNames = {} }, value, path) =>
    entriesOf(value).flatMap(([key]) => faultsOf(propertyNames, key, `${path}.${key}`)),
  patternProperties: ({ patternProperties = {} }, value, path) =>
    Object.entries(patternProperties).flatMap(([pattern, schema]) =>
      entriesOf(value).flatMap(([key, entry]) =>
        new RegExp(pattern).test(key) ? faultsOf(schema, entry, `${path}.${key}`) : [],
      ),
    ),
  additionalProperties({ additionalProperties, properties = {}, patternProperties = {} }, value, path) {
    const patterns = Object.keys(patternProperties).map((pattern) => new RegExp(pattern));
    const isKnown = (key: string) => Object.hasOwn(properties, key) || patterns.some((pattern) => pattern.test(key));
    const others = entriesOf(value).filter(([key]) => !isKnown(key));
    if (typeof additionalProperties !== "object") return others.map(([key]) => `${path}.${key}: additionalProperties`);
    return others.flatMap(([key, entry]) => faultsOf(additionalProperties, entry, `${path}.${key}`));
  },
};

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function isOf(type: string, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  return type === "integer" ? Number.isInteger(value) : typeof value === type;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function entriesOf(value: unknown): readonly [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}
