import { suggest } from "../../config/suggest.ts";
import type { Path, PlanFault } from "./places.ts";
import { isObject, type Plan, type Planned, show } from "./plan.ts";
import { findReference, pascal } from "./references.ts";

type Fields = Readonly<Record<string, unknown>>;
type Written = { readonly text: string; readonly faults: readonly PlanFault[] };

/** What the types of one plan share. */
type Writing = {
  readonly root: Fields;
  readonly faults: PlanFault[];
  /** The types that references led to, by where they lead. */
  readonly named: Map<string, { readonly name: string } & Planned>;
};

/** Writes the types of a plan as a module of TypeScript. `root` is the whole plan, into which references lead. */
export function writeTypes({ events, traits, groupTraits }: Plan, root: Fields, from: string): Written {
  const writing: Writing = { root, faults: [], named: new Map() };
  const members = [...events].map(([name, event]) => {
    const type = event.schema === null ? "undefined" : objectOf(event, writing);
    return { name, type, isRequired: true, description: descriptionOf(event) };
  });
  const parts = [
    `// Written by \`fairlead types ${from.replace(/\s/g, " ")}\`. Change the plan instead, and run it again.`,
    `export type Events = ${literal(members)};`,
    ...(traits ? [`${comment(descriptionOf(traits))}export type Traits = ${objectOf(traits, writing)};`] : []),
    ...(groupTraits
      ? [`${comment(descriptionOf(groupTraits))}export type GroupTraits = ${objectOf(groupTraits, writing)};`]
      : []),
  ];
  // A type may lead to others: the map grows meanwhile.
  for (const one of writing.named.values()) {
    parts.push(`${comment(descriptionOf(one))}export type ${one.name} = ${typeOf(one.schema, one.path, writing)};`);
  }
  return { text: `${parts.join("\n\n")}\n`, faults: writing.faults };
}

/** Properties and traits are objects, also where the schema does not say so. */
function objectOf({ schema, path }: Planned, writing: Writing): string {
  if (schema === true) return ANY_OBJECT;
  if (isObject(schema) && schema.type !== undefined && schema.type !== "object") {
    return fault(writing, [...path, "type"], `must be "object": calls have objects here (got ${show(schema.type)})`);
  }
  const isOpen =
    isObject(schema) && !["properties", "required", "$ref", ...Object.keys(COMBINED)].some((key) => key in schema);
  return typeOf(isOpen && isObject(schema) ? { type: "object", ...schema } : schema, path, writing);
}

const ANY_OBJECT = "{ readonly [key: string]: unknown }";

/** The type that a schema describes. Anything that only narrows values, as `minLength`, is left to the receiver. */
function typeOf(schema: unknown, path: Path, writing: Writing): string {
  if (schema === true) return "unknown";
  if (schema === false) return "never";
  if (!isObject(schema))
    return fault(writing, path, `must be a schema: an object, true or false (got ${show(schema)})`);
  checkKeywords(schema, path, writing);
  if (schema.$ref !== undefined) return reference(schema.$ref, [...path, "$ref"], writing);
  if ("const" in schema) return literalValue(schema.const);
  if (schema.enum !== undefined) return union(listAt(schema, "enum", path, writing).map(literalValue));
  const combined = Object.entries(COMBINED).flatMap(([key, combine]) => {
    if (schema[key] === undefined) return [];
    const types = listAt(schema, key, path, writing).map((one, index) => typeOf(one, [...path, key, index], writing));
    return [combine(types)];
  });
  return intersection([...plainTypes(schema, path, writing), ...combined]);
}

const COMBINED: Readonly<Record<string, (types: readonly string[]) => string>> = {
  allOf: intersection,
  anyOf: union,
  oneOf: union,
};

/** By `type`, or by the keywords that only one type has. */
function plainTypes(schema: Fields, path: Path, writing: Writing): readonly string[] {
  const isOfObject = ["properties", "required", "additionalProperties"].some((key) => key in schema);
  const inferred = isOfObject ? "object" : ["items", "prefixItems"].some((key) => key in schema) ? "array" : null;
  const { type = inferred } = schema;
  if (type === null) return [];
  if (!Array.isArray(type)) return [byName(type, schema, { path, at: [...path, "type"], writing })];
  const types = type.map((one, index) => byName(one, schema, { path, at: [...path, "type", index], writing }));
  return [union(types)];
}

type Place = { readonly path: Path; readonly at: Path; readonly writing: Writing };

function byName(type: unknown, schema: Fields, { path, at, writing }: Place): string {
  switch (type) {
    case "object":
      return objectType(schema, path, writing);
    case "array":
      return `readonly ${wrap(elementType(schema, path, writing))}[]`;
    case "string":
      // The library writes a Date so.
      return schema.format === "date-time" ? "string | Date" : "string";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
  }
  const near = typeof type === "string" ? suggest(type, TYPES) : null;
  const hint = near === null ? `there are ${TYPES.join(", ")}` : `did you mean "${near}"?`;
  return fault(writing, at, `is not a type of JSON Schema (got ${show(type)}): ${hint}`);
}

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];

function objectType(schema: Fields, path: Path, writing: Writing): string {
  const { properties = {}, additionalProperties: more } = schema;
  if (!isObject(properties)) {
    return fault(writing, [...path, "properties"], `must have a schema for each property (got ${show(properties)})`);
  }
  const required = schema.required === undefined ? [] : listAt(schema, "required", path, writing);
  const known = Object.entries(properties).map(([name, one]) => ({
    name,
    type: typeOf(one, [...path, "properties", name], writing),
    isRequired: required.includes(name),
    description: isObject(one) ? one.description : undefined,
  }));
  const others = required.filter((name) => typeof name !== "string" || !Object.hasOwn(properties, name));
  const unknown = others.map((name) => ({
    name: String(name),
    type: "unknown",
    isRequired: true,
    description: undefined,
  }));
  const members = [...known, ...unknown];
  if (members.length > 0) {
    // An index signature would let every slip of a name pass. It is there only if the schema asks for it.
    return literal(members, more === true || isObject(more) ? "unknown" : null);
  }
  if (more === undefined || more === true) return ANY_OBJECT;
  return `{ readonly [key: string]: ${typeOf(more, [...path, "additionalProperties"], writing)} }`;
}

function elementType({ items, prefixItems, ...schema }: Fields, path: Path, writing: Writing): string {
  const [first, rest] = Array.isArray(items) ? [items, schema.additionalItems] : [prefixItems ?? [], items];
  const key = Array.isArray(items) ? "items" : "prefixItems";
  if (!Array.isArray(first)) return fault(writing, [...path, key], `must be a list of schemas (got ${show(first)})`);
  const types = first.map((one, index) => typeOf(one, [...path, key, index], writing));
  const restKey = Array.isArray(items) ? "additionalItems" : "items";
  const other = rest === undefined ? "unknown" : typeOf(rest, [...path, restKey], writing);
  return union([...types, other]);
}

type Member = {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: unknown;
};

/** An object type, a line for each member. Members of members are indented with it. */
function literal(members: readonly Member[], index: string | null = null): string {
  if (members.length === 0 && index === null) return "Record<never, never>";
  const lines = members.map(({ name, type, isRequired, description }) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    const optional = isRequired || type === "unknown" ? type : union([type, "undefined"]);
    return `${comment(description)}readonly ${key}${isRequired ? "" : "?"}: ${optional};`;
  });
  if (index !== null) lines.push(`readonly [key: string]: ${index};`);
  return `{\n${lines.join("\n").replace(/^/gm, "  ")}\n}`;
}

function literalValue(value: unknown): string {
  if (Array.isArray(value)) return "readonly unknown[]";
  if (isObject(value)) return ANY_OBJECT;
  // A long integer is one for the compiler as well.
  return typeof value === "object" && value !== null ? "number" : JSON.stringify(value);
}

function union(types: readonly string[]): string {
  if (types.includes("unknown")) return "unknown";
  const different = [...new Set(types)].filter((type) => type !== "never");
  return different.length === 0 ? "never" : different.join(" | ");
}

function intersection(types: readonly string[]): string {
  const different = [...new Set(types)].filter((type) => type !== "unknown");
  if (different.length === 0) return "unknown";
  return different.length === 1 ? (different[0] ?? "") : different.map(wrap).join(" & ");
}

/** Braces hold a type together, whatever is in them. */
function wrap(type: string): string {
  return /^[\w$]+$/.test(type) || /^\{[^{}]*\}$/.test(type) ? type : `(${type})`;
}

function reference(ref: unknown, path: Path, writing: Writing): string {
  const found = findReference(ref, writing.root);
  if (typeof found === "string") return fault(writing, path, found);
  const known = writing.named.get(String(ref));
  if (known) return known.name;
  const taken = [
    ...["Events", "Traits", "GroupTraits", "Date", "Record"],
    ...[...writing.named.values()].map((one) => one.name),
  ];
  const base = pascal(String(found.path.at(-1)));
  let name = base;
  for (let nth = 2; taken.includes(name); nth += 1) name = `${base}${nth}`;
  writing.named.set(String(ref), { ...found, name });
  return name;
}

function listAt(schema: Fields, key: string, path: Path, writing: Writing): readonly unknown[] {
  const value = schema[key];
  if (Array.isArray(value) && (value.length > 0 || key === "required")) return value;
  fault(
    writing,
    [...path, key],
    `must be a list${key === "required" ? "" : " that is not empty"} (got ${show(value)})`,
  );
  return [];
}

/** The keywords that a slip may have been meant for. Others are annotations. */
const KEYWORDS = [
  ...["$ref", "type", "properties", "required", "additionalProperties", "items", "prefixItems", "additionalItems"],
  ...["enum", "const", "allOf", "anyOf", "oneOf", "description", "format"],
];
/** Known as well, and without a meaning for the types. */
const OTHERS = [
  "not",
  "then",
  "else",
  "title",
  "default",
  "id",
  "$id",
  "$defs",
  "examples",
  "example",
  "pattern",
  "contains",
];

function checkKeywords(schema: Fields, path: Path, writing: Writing): void {
  for (const key of Object.keys(schema)) {
    if (KEYWORDS.includes(key) || OTHERS.includes(key) || key.startsWith("x-")) continue;
    const near = suggest(key, KEYWORDS);
    if (near === null) continue;
    writing.faults.push({
      path: [...path, key],
      on: "key",
      message: `is not a keyword of JSON Schema: did you mean "${near}"?`,
    });
  }
}

/** Adds a fault, and answers a type that fits anything: nobody will see it. */
function fault({ faults }: Writing, path: Path, message: string): string {
  faults.push({ path, on: "value", message });
  return "unknown";
}

function descriptionOf({ description, schema }: Planned): unknown {
  return description ?? (isObject(schema) ? schema.description : undefined);
}

/** A comment that editors show, with its newline; nothing without a description. */
function comment(description: unknown): string {
  if (typeof description !== "string" || description.trim() === "") return "";
  const lines = description
    .trim()
    .replaceAll("*/", "*\\/")
    .split(/\r\n|[\n\r\u2028\u2029]/);
  return lines.length === 1
    ? `/** ${lines[0]} */\n`
    : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}
