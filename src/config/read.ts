import type { GenericSchema } from "valibot";
import { isAlias, isMap, isNode, isScalar, isSeq, type LineCounter, type ParsedNode, type YAMLMap } from "yaml";
import { isSecretKey, keyText } from "./hide.ts";
import { type Shape, shapeOf } from "./key.ts";
import { type Finding, keyPath, quote } from "./problems.ts";
import type { Origin, References } from "./references.ts";
import { suggest } from "./suggest.ts";
import { BROKEN, type Tree, type TreeMap, type Value, withGot } from "./tree.ts";
import { BARE_TEMPLATE, doubtText } from "./warnings.ts";

/** What reading needs, and the findings it leaves behind. */
export type Reading = TextReading & { readonly lines: LineCounter };

type Place = { readonly path: string; readonly keyAt: number; readonly secret: boolean };
type Spot = { readonly place: Place; readonly schema: GenericSchema; readonly reading: Reading };

/**
 * Reads the file's values along the schema: replaces references, and finds unknown and doubled keys, empty values and
 * whatever of YAML a config file may not use. What stands under an unknown key is not read.
 */
export function readTree(contents: ParsedNode, schema: GenericSchema, reading: Reading): Tree {
  return readNode(contents, { place: { path: "", keyAt: 0, secret: false }, schema, reading });
}

function readNode(node: unknown, spot: Spot): Tree {
  const { path, keyAt, secret } = spot.place;
  const [start, end] = (isScalar(node) && node.range) || [keyAt, keyAt];
  // A map, a list and an empty value are best pointed at by their key.
  const at = start < end ? start : keyAt;
  const tree: Tree = { path, at, keyAt, got: secret ? null : gotOf(node), value: BROKEN };
  return { ...tree, value: readValue(node, tree, spot) };
}

function readValue(node: unknown, tree: Tree, { place, schema, reading }: Spot): Value {
  const alias = refuseAlias(node);
  if (alias) return broken(reading, tree, alias);
  const marks = refuseMarks(node, reading.text);
  if (marks) broken(reading, tree, marks);
  const shape = shapeOf(schema, isSeq(node));
  const isMapShape = shape.kind === "map" || shape.kind === "names";
  if (isScalar(node) && node.value === null) {
    // A section whose lines are all commented out is as good as none.
    return isMapShape ? new Map() : broken(reading, tree, { message: node.source === "null" ? NULL : NOTHING });
  }
  if (isMapShape) {
    if (!isMap(node)) return broken(reading, tree, { message: withGot(mapMessage(shape, tree), tree) });
    return readMap(node, shape, { place, schema, reading });
  }
  if (shape.kind === "scalar" && isMap(node) && reading.text.startsWith("{{", node.range?.[0])) {
    return broken(reading, tree, { message: BARE_TEMPLATE, at: node.range?.[0] ?? tree.at });
  }
  // Of the wrong kind: its content does not matter, and valibot finds it.
  if (isMap(node)) return new Map();
  if (isSeq(node)) return shape.kind === "list" ? readList(node.items, shape.item, { place, schema, reading }) : [];
  return readScalar(node, { tree, shape, reading });
}

const NOTHING = "has no value: write one, or remove the key";
const NULL = "has no value: write one (in quotes if the word null is meant), or remove the key";

type Blamed = { readonly path: string; readonly at: number };

function broken(
  reading: Reading,
  blamed: Blamed,
  { message, at = blamed.at }: { message: string; at?: number },
): typeof BROKEN {
  reading.findings.push({ severity: "error", path: blamed.path, message, at });
  return BROKEN;
}

function mapMessage(shape: Shape, { path }: Tree): string {
  if (path === "") return "the file must hold keys such as `sources:`, each with a space after its colon";
  return shape.kind === "map"
    ? `must be a map with ${Object.keys(shape.entries).join(", ")}`
    : "must be a map with names as keys";
}

function readMap(node: YAMLMap, shape: MapShape, { place, reading }: Spot): TreeMap {
  const map = new Map<string, Tree>();
  const seen = new Map<string, number>();
  for (const pair of node.items) {
    const key = readKey(pair.key, { shape, place, text: reading.text, lineBefore: (name) => seen.get(name) });
    if (!seen.has(key.name)) seen.set(key.name, reading.lines.linePos(key.at).line);
    if (key.kind === "known") {
      const inner = { path: key.path, keyAt: key.at, secret: place.secret || isSecretKey(key.name) };
      map.set(key.name, readNode(pair.value, { place: inner, schema: key.schema, reading }));
      continue;
    }
    const misspelt: Tree = {
      path: key.path,
      at: key.at,
      keyAt: key.at,
      got: null,
      value: broken(reading, key, key.refusal),
    };
    // The key that was meant is not missing as well.
    if (key.meant !== null && !map.has(key.meant)) map.set(key.meant, misspelt);
  }
  return map;
}

function readList(items: readonly unknown[], schema: GenericSchema, { place, reading }: Spot): readonly Tree[] {
  return items.map((item, index) => {
    const keyAt = startOf(item) ?? place.keyAt;
    return readNode(item, { place: { ...place, path: `${place.path}[${index}]`, keyAt }, schema, reading });
  });
}

function startOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;
}

function readScalar(node: unknown, { tree, shape, reading }: { tree: Tree; shape: Shape; reading: Reading }): Value {
  if (!isScalar(node)) return BROKEN;
  if (typeof node.value === "number" || typeof node.value === "boolean") return node.value;
  const reads = shape.kind === "scalar" ? shape.reads : "text";
  return readText(String(node.value), { tree, reads, end: node.range?.[1] ?? tree.at, reading });
}

function gotOf(node: unknown): string {
  if (isMap(node)) return "a map";
  if (isSeq(node)) return node.items.length === 0 ? "an empty list" : `a list of ${node.items.length}`;
  if (!isScalar(node)) return "nothing";
  return typeof node.value === "string" ? quote(node.value) : (node.source ?? "nothing");
}

type MapShape = Extract<Shape, { kind: "map" | "names" }>;

/** A key of a map with its place, and what may stand under it, or why it may not stand there itself. */
type Key = { readonly name: string; readonly path: string; readonly at: number } & (
  | { readonly kind: "known"; readonly schema: GenericSchema }
  | { readonly kind: "refused"; readonly refusal: Refusal; readonly meant: string | null }
);

type InMap = {
  readonly shape: MapShape;
  /** The map itself. */
  readonly place: { readonly path: string; readonly keyAt: number };
  readonly text: string;
  /** The line in which the key stood before, if it did. */
  lineBefore(name: string): number | undefined;
};

/** These cannot be keys of what valibot answers: it drops them without a word. */
const RESERVED = ["__proto__", "constructor", "prototype"];

/** Decides about one key of a map. */
function readKey(node: unknown, { shape, place, text, lineBefore }: InMap): Key {
  const name = keyText(node);
  const at = isScalar(node) ? (node.range?.[0] ?? place.keyAt) : place.keyAt;
  const key = { name: name ?? "", path: name === null ? `${place.path}[?]` : keyPath(place.path, name), at };
  const meant = meantKey(key.name, shape);
  const message = keyFault(key.name, { shape, meant, before: lineBefore(key.name) });
  const refusal = refuseKey(node, text) ?? (message === null ? null : { message, at });
  if (refusal) return { ...key, kind: "refused", refusal, meant };
  const schema = shape.kind === "names" ? shape.value : shape.entries[key.name];
  if (schema) return { ...key, kind: "known", schema };
  throw new Error(`the known key ${key.path} has no schema: this is a bug in Fairlead, please report it`);
}

function meantKey(name: string, shape: MapShape): string | null {
  if (shape.kind === "names") return null;
  return Object.hasOwn(shape.entries, name) ? name : suggest(name, Object.keys(shape.entries));
}

type Fault = { readonly shape: MapShape; readonly meant: string | null; readonly before: number | undefined };

function keyFault(name: string, { shape, meant, before }: Fault): string | null {
  if (before !== undefined) return `is set twice: first in line ${before}`;
  if (shape.kind === "names") return RESERVED.includes(name) ? "is a reserved word: choose another name" : null;
  if (meant === name) return null;
  const known = Object.keys(shape.entries).join(", ");
  return `is not a known key: ${meant === null ? `known here are ${known}` : `did you mean ${meant}?`}`;
}

type Context = {
  readonly tree: Tree;
  readonly reads: "text" | "number" | "boolean";
  /** Where the text ends in the file. */
  readonly end: number;
  readonly reading: TextReading;
};

/** What reading a text needs, and what it leaves behind. */
type TextReading = {
  readonly text: string;
  readonly references: References;
  readonly findings: Finding[];
  /** Where the references in the values lead to, by the path of the value; for those who ask. */
  readonly origins?: Map<string, readonly Origin[]>;
};

/** Replaces the references in a text. What came out of one may also be a number or a boolean, where one is expected. */
function readText(written: string, { tree, reads, end, reading }: Context): string | number | boolean | typeof BROKEN {
  const { text, faults, origins, known } = reading.references.expand(written);
  if (origins.length > 0) reading.origins?.set(tree.path, origins);
  for (const { reference, ...fault } of faults) {
    const at = reading.text.indexOf(reference, tree.at);
    reading.findings.push({ ...fault, path: tree.path, at: at >= 0 && at < end ? at : tree.at });
  }
  const doubt = doubtText(written, { secret: tree.got === null });
  if (doubt !== null) {
    reading.findings.push({ severity: "warning", path: tree.path, message: doubt, at: tree.at });
  }
  if (!known || faults.some(({ severity }) => severity === "error")) return BROKEN;
  return text === written ? text : converted(text, reads);
}

function converted(text: string, reads: Context["reads"]): string | number | boolean {
  if (reads === "number" && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (reads === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

/** Why a node may not stand in a config file, and where what is wrong with it begins. */
type Refusal = { readonly message: string; readonly at: number };

/*
 * The parts of YAML that a config file has no use for: they hide what a line means, and a file full of aliases can
 * grow without bound.
 */

/** Refuses a mark before a value; the value itself can still be read. */
function refuseMarks(node: unknown, text: string): Refusal | null {
  if (!isNode(node) || isAlias(node) || !node.range) return null;
  const start = node.range[0];
  if (node.anchor !== undefined) {
    return { message: "has an anchor (&), which is not supported: remove it", at: lastOf("&", { text, start }) };
  }
  if (node.tag === undefined) return null;
  const mark = lastOf("!", { text, start });
  const at = text[mark - 1] === "!" ? mark - 1 : mark;
  return { message: "has a tag (!), which is not supported: write a plain value", at };
}

/** Refuses a value that stands somewhere else. */
function refuseAlias(node: unknown): Refusal | null {
  if (!isAlias(node)) return null;
  return { message: "is an alias (*), which is not supported: write the value out", at: node.range?.[0] ?? 0 };
}

/** Refuses a key that is not plain text. */
function refuseKey(key: unknown, text: string): Refusal | null {
  const refusal = refuseAlias(key) ?? refuseMarks(key, text);
  if (refusal) return refusal;
  const at = isNode(key) ? (key.range?.[0] ?? 0) : 0;
  if (!isScalar(key) || key.value === null) return { message: "is a key that is not plain text", at };
  if (key.value === "<<") return { message: "is a merge key (<<), which is not supported: write the keys out", at };
  return null;
}

/** Where a mark stands: anchors and tags come before the node that they belong to, which starts at `start`. */
export function lastOf(mark: string, { text, start }: { text: string; start: number }): number {
  const at = text.lastIndexOf(mark, start);
  return at === -1 ? start : at;
}
