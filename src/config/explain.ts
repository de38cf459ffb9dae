import * as v from "valibot";
import { Document } from "yaml";
import { hideAnywhere } from "./hide.ts";
import { formOf, leftOutOf, PATH_FORM, type Shape, shapeOf } from "./key.ts";
import type { Inspected } from "./load.ts";
import { keyPath } from "./problems.ts";
import type { Origin } from "./references.ts";
import { fullPath } from "./references.ts";
import { configSchema } from "./schema.ts";
import { BROKEN, listOf, mapOf, type Tree } from "./tree.ts";

/** All keys of the schema in its order, each with the value that counts. */
type Effective = EffectiveMap | EffectiveList | EffectiveValue | LeftOut;

type EffectiveMap = {
  readonly kind: "map";
  readonly entries: readonly (readonly [name: string, Effective])[];
};
type EffectiveList = {
  readonly kind: "list";
  readonly path: string;
  readonly items: readonly (EffectiveMap | EffectiveValue)[];
  readonly from: From;
};
type EffectiveValue = {
  readonly kind: "value";
  readonly path: string;
  /** As one writes it in the file. `***` if it must not be shown; an object stands for a map without entries. */
  readonly value: string | number | boolean | Readonly<Record<string, never>>;
  readonly from: From;
};
/** A key without default that the file does not have; `words` say what counts. */
type LeftOut = { readonly kind: "left out"; readonly path: string; readonly words: string };

/** Where a value comes from: a line of the file, from 1, and where the references in it lead to. */
type From =
  | { readonly kind: "default" }
  | { readonly kind: "file"; readonly line: number; readonly origins: readonly Origin[] };

const HIDDEN = "***";

const DEFAULT: From = { kind: "default" };

/** Puts together what counts, out of what the file says and the defaults of the schema. The file is without errors. */
export function effectiveConfig(inspected: Inspected, file: string): EffectiveMap {
  const context = { ...inspected, file };
  return { kind: "map", entries: entriesOf(configSchema.entries, inspected.tree ?? undefined, { context, path: "" }) };
}

type Context = Pick<Inspected, "origins" | "lineOf"> & { readonly file: string };
type Place = { readonly context: Context; readonly path: string };
type Entries = Extract<Shape, { kind: "map" }>["entries"];

function entriesOf(entries: Entries, tree: Tree | undefined, { context, path }: Place): EffectiveMap["entries"] {
  const written = mapOf(tree);
  return Object.entries(entries).map(([name, schema]) => {
    return [name, effective(schema, written.get(name), { context, path: keyPath(path, name) })];
  });
}

function effective(schema: v.GenericSchema, tree: Tree | undefined, place: Place): Effective {
  const { context, path } = place;
  const value = tree === undefined ? v.getDefault(schema) : tree.value;
  if (value === undefined) return { kind: "left out", path, words: leftOutOf(schema) };
  const shape = shapeOf(schema, Array.isArray(value));
  const from = fromOf(tree, context);
  if (shape.kind === "map") return { kind: "map", entries: entriesOf(shape.entries, tree, place) };
  if (shape.kind === "names") return namesOf(shape.value, tree, { ...place, from });
  if (shape.kind === "list" && Array.isArray(value)) {
    const byDefault = value.map((item) => defaultOf(item, path));
    const items = tree ? listOf(tree).map((item) => itemOf(shape.item, item, context)) : byDefault;
    return { kind: "list", path, items, from };
  }
  if (tree) return { kind: "value", path, value: shown(schema, tree, context), from };
  return defaultOf(isPath(schema) ? fullPath(String(value), context.file) : value, path);
}

function namesOf(schema: v.GenericSchema, tree: Tree | undefined, at: Place & { readonly from: From }): Effective {
  const entries = [...mapOf(tree)];
  if (entries.length === 0) return { kind: "value", path: at.path, value: {}, from: at.from };
  const { context } = at;
  return {
    kind: "map",
    entries: entries.map(([name, below]) => [name, effective(schema, below, { context, path: below.path })]),
  };
}

function itemOf(schema: v.GenericSchema, tree: Tree, context: Context): EffectiveMap | EffectiveValue {
  const { path } = tree;
  const shape = shapeOf(schema);
  if (shape.kind === "map") return { kind: "map", entries: entriesOf(shape.entries, tree, { context, path }) };
  return { kind: "value", path, value: shown(schema, tree, context), from: fromOf(tree, context) };
}

function defaultOf(value: unknown, path: string): EffectiveValue {
  return { kind: "value", path, value: value as EffectiveValue["value"], from: DEFAULT };
}

function shown(schema: v.GenericSchema, tree: Tree, { origins, file }: Context): EffectiveValue["value"] {
  const { value, got, path } = tree;
  const isFromFile = (origins.get(path) ?? []).some(({ kind }) => kind === "file" || kind === "credential");
  if (got === null || isFromFile || value === BROKEN || typeof value === "object") return HIDDEN;
  if (typeof value !== "string") return value;
  return hideAnywhere(isPath(schema) ? fullPath(value, file) : value);
}

function isPath(schema: v.GenericSchema): boolean {
  return formOf(schema) === PATH_FORM;
}

function fromOf(tree: Tree | undefined, { origins, lineOf }: Context): From {
  if (tree === undefined) return DEFAULT;
  return { kind: "file", line: lineOf(tree.at), origins: origins.get(tree.path) ?? [] };
}

/** A key with the value that counts, for programs. Null: the key has no default, and the file does not have it. */
type Setting = {
  /** As `destinations.crm.webhooks[0].url`. */
  readonly path: string;
  readonly value: EffectiveValue["value"] | readonly EffectiveValue["value"][] | null;
  readonly from: string;
};

/** All keys in a row, in the order of the schema. */
export function listSettings(effective: EffectiveMap, file: string): readonly Setting[] {
  return effective.entries.flatMap(([, entry]) => settingsOf(entry, file));
}

function settingsOf(effective: Effective, file: string): readonly Setting[] {
  switch (effective.kind) {
    case "map":
      return listSettings(effective, file);
    case "left out":
      return [{ path: effective.path, value: null, from: "default" }];
    case "value":
      return [{ path: effective.path, value: effective.value, from: fromWords(effective.from, file) }];
    case "list": {
      const value = effective.items.flatMap((item) => (item.kind === "value" ? [item.value] : []));
      if (value.length < effective.items.length) return effective.items.flatMap((item) => settingsOf(item, file));
      return [{ path: effective.path, value, from: fromWords(fromOfList(effective), file) }];
    }
  }
}

/** Where a value comes from, as `config.yaml:7, from $WEBSITE_KEY`; `file` is what the config file is called. */
function fromWords(from: From, file: string): string {
  if (from.kind === "default") return "default";
  const origins = [...new Set(from.origins.map(originWords))];
  return `${file}:${from.line}${origins.length > 0 ? `, from ${enumerate(origins)}` : ""}`;
}

/** Where a list comes from, with all that its items come from. */
function fromOfList({ from, items }: EffectiveList): From {
  if (from.kind === "default") return from;
  const origins = items.flatMap((item) =>
    item.kind === "value" && item.from.kind === "file" ? item.from.origins : [],
  );
  return { ...from, origins };
}

function originWords(origin: Origin): string {
  switch (origin.kind) {
    case "variable":
      return `$${origin.name}`;
    case "default":
      return `the default of $${origin.name}`;
    case "file":
      return origin.path;
    case "credential":
      return `the credential ${origin.name}`;
  }
}

function enumerate(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Where the comments begin at the latest; those of longer lines stand two spaces after them. */
const WIDEST = 60;

/** A line of YAML, and what is said of it at its end. */
type Line = { readonly text: string; readonly from?: string };
type Lines = readonly Line[];

/**
 * What counts, as a config file that holds every key: a comment behind each value says where it comes from. `file` is
 * what the config file is called there.
 */
export function explainYaml(effective: EffectiveMap, file: string): string {
  const sections = effective.entries.map(([name, entry]) => entryLines(name, entry, file));
  const widths = sections
    .flat()
    .map(({ text, from }) => (from === undefined || text.length > WIDEST ? 0 : text.length));
  const column = Math.max(...widths) + 2;
  return sections.map((lines) => lines.map((line) => `${aligned(line, column)}\n`).join("")).join("\n");
}

function aligned({ text, from }: Line, column: number): string {
  return from === undefined ? text : `${text.padEnd(column - 2)}  # ${from}`;
}

function entryLines(name: string, entry: Effective, file: string): Lines {
  const key = pair(name, null);
  switch (entry.kind) {
    case "left out":
      return [{ text: `# ${key}`, from: `default: ${entry.words}` }];
    case "value":
      return [{ text: pair(name, entry.value), from: fromWords(entry.from, file) }];
    case "map":
      return [{ text: key }, ...indent(mapLines(entry, file))];
    case "list":
      return listLines(name, entry, file);
  }
}

function mapLines({ entries }: EffectiveMap, file: string): Lines {
  return entries.flatMap(([name, entry]) => entryLines(name, entry, file));
}

/** A list of plain values stands in one line if it fits there. */
function listLines(name: string, list: EffectiveList, file: string): Lines {
  const values = list.items.flatMap((item) => (item.kind === "value" ? [item.value] : []));
  const text = pair(name, values);
  const isFlat = values.length === list.items.length && (text.length <= WIDEST || values.length < 2);
  if (isFlat) return [{ text, from: fromWords(fromOfList(list), file) }];
  return [{ text: pair(name, null) }, ...indent(list.items.flatMap((item) => dash(itemLines(item, file))))];
}

function itemLines(item: EffectiveList["items"][number], file: string): Lines {
  if (item.kind === "map") return mapLines(item, file);
  return [{ text: written(item.value), from: fromWords(item.from, file) }];
}

/** Characters that break a line, or that a terminal would act on. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** A key with its value on one line, whatever they are. What looks like a reference is none any more. */
function pair(name: string, value: Written | null): string {
  const document = new Document(null);
  const node = document.createNode(value, reescaped, { flow: true });
  document.contents = document.createNode(new Map([[name, node]]));
  const text = document.toString({
    blockQuote: false,
    // In double quotes, all of them can be written as escapes.
    defaultStringType: UNSAFE.test([value].flat().join("")) ? "QUOTE_DOUBLE" : "PLAIN",
    defaultKeyType: "PLAIN",
    doubleQuotedMinMultiLineLength: Infinity,
    flowCollectionPadding: false,
    lineWidth: 0,
    nullStr: "",
  });
  return text.trimEnd().replace(new RegExp(UNSAFE, "gu"), escaped);
}

type Written = EffectiveValue["value"] | readonly EffectiveValue["value"][];

function reescaped(_: unknown, part: unknown): unknown {
  return typeof part === "string" ? part.replaceAll("${", "$$${") : part;
}

/** The same without the key. */
function written(value: Written): string {
  return pair("a", value).slice("a: ".length);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function indent(lines: Lines): Lines {
  return lines.map((line) => ({ ...line, text: `  ${line.text}` }));
}

/** One item of a list: its first line has the dash. */
function dash(lines: Lines): Lines {
  return lines.map((line, index) => ({ ...line, text: `${index === 0 ? "- " : "  "}${line.text}` }));
}
