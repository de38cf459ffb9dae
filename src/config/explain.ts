/** What `fairlead check --explain` shows: every key of the schema, with the value in force and where it comes from. */
import * as v from "valibot";
import { Document } from "yaml";
import { hideAnywhere } from "./hide.ts";
import { formOf, isOfCalls, leftOutOf, manualOf, PATH_FORM, type Shape, shapeOf } from "./key.ts";
import type { Loaded } from "./load.ts";
import { shownUrl } from "./postgres.ts";
import { keyPath } from "./problems.ts";
import { fullPath, type Origin } from "./references.ts";
import { configSchema } from "./schema.ts";
import { atOnce, type Steps } from "./steps.ts";
import { BROKEN, listOf, mapOf, type Tree } from "./tree.ts";

/** A value as written in the file. `***` if it is secret; an object stands for a map without entries. */
type Plain = string | number | boolean | Readonly<Record<string, never>>;

/** A key with the value in force, for programs. Null: the key has no default, and the file does not have it. */
type Setting = {
  /** As `destinations.crm.webhooks[0].url`. */
  readonly path: string;
  readonly value: Plain | readonly Plain[] | null;
  /** As `config.yaml:7, from $WEBSITE_KEY`. */
  readonly from: string;
};

/** The keys in a flat list, in the order of the schema. The file has no errors. */
export function listSettings(inspected: Loaded, file: string): readonly Setting[] {
  return settingsIn(atOnce(explain(inspected, { file, short: false })));
}

function settingsIn(found: Explained): readonly Setting[] {
  switch (found.kind) {
    case "map":
      return found.entries.flatMap(([, entry]) => settingsIn(entry));
    case "left out":
      return [{ path: found.path, value: null, from: "default" }];
    case "value":
      return [{ path: found.path, value: found.value, from: found.from }];
    case "list": {
      const values = plainItems(found);
      return values ? [{ path: found.path, value: values, from: found.from }] : found.items.flatMap(settingsIn);
    }
  }
}

/** The items of a list if none of them is a map. */
function plainItems({ items }: Extract<Explained, { kind: "list" }>): readonly Plain[] | null {
  const values = items.flatMap((item) => (item.kind === "value" ? [item.value] : []));
  return values.length === items.length ? values : null;
}

type Explained =
  | { readonly kind: "map"; readonly entries: readonly (readonly [name: string, Explained])[] }
  | { readonly kind: "list"; readonly path: string; readonly items: readonly Explained[]; readonly from: string }
  | { readonly kind: "value"; readonly path: string; readonly value: Plain; readonly from: string }
  /** A key without default that the file does not have; `words` say what is in force. */
  | { readonly kind: "left out"; readonly path: string; readonly words: string };

/** `short`: whether files are called by their paths from the folder of the config file. */
type Context = Pick<Loaded, "origins" | "placeOf"> & { readonly file: string; readonly short: boolean };
type Entries = Extract<Shape, { kind: "map" }>["entries"];
type Place = { readonly path: string; readonly context: Context };

const DEFAULT = "default";

function* explain(inspected: Loaded, names: Pick<Context, "file" | "short">): Steps<Explained> {
  const { tree, origins, placeOf } = inspected;
  return yield* explainMap(configSchema.entries, tree ?? undefined, {
    path: "",
    context: { origins, placeOf, ...names },
  });
}

function* explainMap(entries: Entries, tree: Tree | undefined, { path, context }: Place): Steps<Explained> {
  const written = mapOf(tree);
  const explained: (readonly [name: string, Explained])[] = [];
  for (const [name, schema] of Object.entries(entries)) {
    const below = { path: keyPath(path, name), context };
    const { unless } = manualOf(schema);
    const isReplaced = unless !== undefined && written.has(unless) && !written.has(name);
    const explanation: Explained = isReplaced
      ? { kind: "left out", path: below.path, words: `${unless} counts` }
      : yield* explainKey(schema, written.get(name), below);
    explained.push([name, explanation]);
  }
  return { kind: "map", entries: explained };
}

function* explainKey(schema: v.GenericSchema, tree: Tree | undefined, place: Place): Steps<Explained> {
  const { path, context } = place;
  const value = tree === undefined ? v.getDefault(schema) : tree.value;
  if (value === undefined) return { kind: "left out", path, words: leftOutOf(schema) };
  const shape = shapeOf(schema, Array.isArray(value) ? "list" : value instanceof Map ? "map" : "scalar");
  if (shape.kind === "map") return yield* explainMap(shape.entries, tree, place);
  if (shape.kind === "names") {
    const entries = [...mapOf(tree)];
    if (entries.length === 0) return { kind: "value", path, value: {}, from: fromOf([tree], context) };
    const explained: (readonly [name: string, Explained])[] = [];
    for (const [name, below] of entries) {
      explained.push([name, yield* explainKey(shape.value, below, { path: below.path, context })]);
      yield;
    }
    return { kind: "map", entries: explained };
  }
  if (shape.kind !== "list" || !Array.isArray(value)) {
    const withoutSecret = WITHOUT_SECRET[path];
    if (withoutSecret && tree && typeof value === "string") {
      return { kind: "value", path, value: withoutSecret(value), from: fromOf([tree], context) };
    }
    const shown = tree ? shownValue(tree, context) : (value as Plain);
    const full = formOf(schema) === PATH_FORM && shown !== HIDDEN ? fullPath(String(shown), context.file) : shown;
    // In a condition, what looks like the secret of a URL is a pattern.
    const plain = tree && typeof full === "string" && !isOfCalls(schema) ? hideAnywhere(full) : full;
    return { kind: "value", path, value: plain, from: fromOf([tree], context) };
  }
  const from = fromOf([tree, ...listOf(tree)], context);
  const items: Explained[] = tree ? [] : value.map((item) => ({ kind: "value", path, value: item, from }));
  for (const item of listOf(tree)) items.push(yield* explainKey(shape.item, item, { path: item.path, context }));
  return { kind: "list", path, items, from };
}

/** The values that are worth showing without what is secret in them, wherever that comes from. */
const WITHOUT_SECRET: Readonly<Record<string, (value: string) => string>> = { "outbox.url": shownUrl };

const HIDDEN = "***";

function shownValue({ value, got, path }: Tree, { origins }: Context): Plain {
  const isFromFile = (origins.get(path) ?? []).some(({ kind }) => kind === "file" || kind === "credential");
  return got === null || isFromFile || value === BROKEN || typeof value === "object" ? HIDDEN : value;
}

/** Where a value comes from, or a list with its items: the line of the first, and the references in all. */
function fromOf([tree, ...items]: readonly (Tree | undefined)[], { origins, placeOf, short }: Context): string {
  if (tree === undefined) return DEFAULT;
  const found = [tree, ...items].flatMap((one) => (one ? (origins.get(one.path) ?? []) : []));
  const words = [...new Set(found.map(originWords))];
  const all = [words.slice(0, -1).join(", "), ...words.slice(-1)].filter((one) => one !== "").join(" and ");
  const { file, name, line } = placeOf(tree.at);
  return `${short ? name : file}:${line}${all === "" ? "" : `, from ${all}`}`;
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

/** Comments start at this column at the latest; after a longer line, two spaces behind it. */
const WIDEST = 60;

/** A line of YAML, and the comment at its end. */
type Line = { readonly text: string; readonly from?: string };
type Lines = readonly Line[];

/** A config file with every key, and with a comment behind each value that says where it comes from. */
export function explainYaml(inspected: Loaded, file: string): string {
  return atOnce(explainInSteps(inspected, file));
}

/** The same for a daemon that has other work to do. */
export function* explainInSteps(inspected: Loaded, file: string): Steps<string> {
  const explained = yield* explain(inspected, { file, short: true });
  const sections: Lines[] = [];
  for (const [name, entry] of explained.kind === "map" ? explained.entries : []) {
    const lines = yield* entryLines(name, entry);
    sections.push(name === "include" && entry.kind !== "left out" ? lines.map(asComment) : lines);
  }
  const commented = sections.flat().filter(({ text, from }) => from !== undefined && text.length <= WIDEST);
  const column = Math.max(0, ...commented.map(({ text }) => text.length));
  const aligned = ({ text, from }: Line): string =>
    from === undefined ? `${text}\n` : `${text.padEnd(column)}  # ${from}\n`;
  return sections.map((lines) => lines.map(aligned).join("")).join("\n");
}

function* entryLines(name: string, entry: Explained): Steps<Lines> {
  switch (entry.kind) {
    case "left out":
      return [{ text: `# ${pair(name, null)}`, from: `default: ${entry.words}` }];
    case "value":
      return [{ text: pair(name, entry.value), from: entry.from }];
    case "map":
      yield;
      return [{ text: pair(name, null) }, ...indent(yield* mapLines(entry))];
    case "list": {
      // Plain values stand in one line if they fit there.
      const values = plainItems(entry);
      const text = values && pair(name, values);
      if (text && (text.length <= WIDEST || entry.items.length < 2)) return [{ text, from: entry.from }];
      const lines: Line[] = [{ text: pair(name, null) }];
      for (const item of entry.items) lines.push(...indent(dash(yield* itemLines(item))));
      return lines;
    }
  }
}

function* mapLines({ entries }: Extract<Explained, { kind: "map" }>): Steps<Lines> {
  const all: Lines[] = [];
  for (const [name, entry] of entries) all.push(yield* entryLines(name, entry));
  return all.flat();
}

function* itemLines(item: Explained): Steps<Lines> {
  if (item.kind === "map") return yield* mapLines(item);
  const [first, ...rest] = yield* entryLines("a", item);
  // The items of a list in a list stand behind its own dash.
  if (rest.length > 0) return rest.map((line) => ({ ...line, text: line.text.slice("  ".length) }));
  return first ? [{ ...first, text: first.text.slice("a: ".length) }] : [];
}

/** Characters that break a line, or that a terminal would act on. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** A key with its value on one line. What looks like a reference is escaped. */
function pair(name: string, value: Plain | readonly Plain[] | null): string {
  const document = new Document(null);
  const node = document.createNode(value, escapeReferences, { flow: true });
  document.contents = document.createNode(new Map([[name, node]]));
  const text = document.toString({
    blockQuote: false,
    // In double quotes, every character can be written as an escape.
    defaultStringType: UNSAFE.test([value].flat().join("")) ? "QUOTE_DOUBLE" : "PLAIN",
    defaultKeyType: UNSAFE.test(name) ? "QUOTE_DOUBLE" : "PLAIN",
    doubleQuotedMinMultiLineLength: Infinity,
    flowCollectionPadding: false,
    lineWidth: 0,
    nullStr: "",
  });
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.trimEnd().replace(new RegExp(UNSAFE, "gu"), escaped);
}

function escapeReferences(_: unknown, part: unknown): unknown {
  return typeof part === "string" ? part.replaceAll("${", "$$${") : part;
}

/** What is included is shown in its place, and would be there twice if this were read as a config. */
function asComment({ text, from }: Line): Line {
  return { text: `# ${text}`, ...(from !== undefined && { from }) };
}

function indent(lines: Lines): Lines {
  return lines.map((line) => ({ ...line, text: `  ${line.text}` }));
}

/** One item of a list: its first line has the dash. */
function dash(lines: Lines): Lines {
  return lines.map((line, index) => ({ ...line, text: `${index === 0 ? "- " : "  "}${line.text}` }));
}
