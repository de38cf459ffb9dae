import type { GenericSchema } from "valibot";
import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
} from "yaml";
import { type Anchors, FOR_ALIASES, isMergeKey, mergedMaps, NO_ANCHORS, UNKNOWN_ALIAS } from "./anchors.ts";
import { DEEPEST } from "./compose.ts";
import { isSecretKey, keyText, markBefore } from "./hide.ts";
import { formOf, isOfCalls, isOfTemplate, type Shape, shapeOf } from "./key.ts";
import { errorAt, type Finding, keyPath, quote, warningAt } from "./problems.ts";
import { BARE_TEMPLATE, doubtText, type Origin, type References } from "./references.ts";
import type { Steps } from "./steps.ts";
import { suggest } from "./suggest.ts";
import { BROKEN, type Tree, type TreeMap, type Value, withGot } from "./tree.ts";

/** What reading needs, and the findings and origins that it adds to. */
export type Reading = {
  readonly text: string;
  /** Where the file starts in the text; 0 if left out. */
  readonly start?: number;
  readonly anchors?: Anchors;
  readonly placeOf: (at: number) => { readonly line: number };
  readonly references: References;
  readonly findings: Finding[];
  /** How many values aliases and merge keys have brought, in all files together. */
  readonly copies?: { count: number };
  /** What the references in each value stand for, by the path of the value. */
  readonly origins?: Map<string, readonly Origin[]>;
};

/** `depth`: how many maps and lists it is in. `copied`: whether an alias or a merge key brought it there. */
type Place = {
  readonly path: string;
  readonly keyAt: number;
  readonly secret: boolean;
  readonly depth: number;
  readonly copied: boolean;
};
/** `nodes`: how many were read so far. */
type Progress = Reading & Required<Pick<Reading, "anchors" | "copies">> & { nodes: number };
type Spot = { readonly place: Place; readonly schema: GenericSchema; readonly reading: Progress };
type MapShape = Extract<Shape, { kind: "map" | "names" }>;

/**
 * Reads the file's values along the schema. Replaces references and aliases, and reports unknown and repeated keys, empty
 * values and the parts of YAML that a config file may not use. Nothing below an unknown key is read, nor what is kept under
 * `x-…` at the top of the file for aliases.
 */
export function* readTree(contents: ParsedNode | null, schema: GenericSchema, reading: Reading): Steps<Tree> {
  const progress = { anchors: NO_ANCHORS, copies: { count: 0 }, ...reading, nodes: 0 };
  const place = { path: "", keyAt: reading.start ?? 0, secret: false, depth: 0, copied: false };
  return yield* readNode(contents, { place, schema, reading: progress });
}

/** The values of the file that are read in one step. */
const STEP = 50;

/** A few aliases of aliases can stand for more values than there is memory for. */
const MOST_COPIES = 200_000;
const TOO_MANY_COPIES = "is more than the aliases (*) of a config may bring: write some of it out";

function* readNode(written: unknown, { place: at, schema, reading }: Spot): Steps<Tree> {
  reading.nodes += 1;
  if (reading.nodes % STEP === 0) yield;
  const target = isAlias(written) ? reading.anchors.find(written) : null;
  const node = target ?? written;
  const place = target ? { ...at, copied: true } : at;
  const tree: Tree = { ...placeIn(node, place, reading), value: BROKEN };
  if (place.copied && !countCopy(reading, tree)) return tree;
  return { ...tree, value: yield* readValue(node, tree, { place, schema, reading }) };
}

/** A problem with a value points at where it is written, not at an alias of it. */
function placeIn(node: unknown, { path, keyAt, secret }: Place, { anchors }: Progress): Omit<Tree, "value"> {
  const [start, end] = (isScalar(node) && node.range) || [keyAt, keyAt];
  // A map, a list and an empty value are best pointed at by their key.
  const at = start < end ? start : keyAt;
  return { path, at, keyAt, got: secret || anchors.isSecret(node) ? null : gotOf(node) };
}

/** False if there are too many, which is reported once. */
function countCopy({ copies, findings }: Progress, place: Pick<Finding, "path" | "at">): boolean {
  copies.count += 1;
  if (copies.count === MOST_COPIES + 1) findings.push(errorAt(place, TOO_MANY_COPIES));
  return copies.count <= MOST_COPIES;
}

const TOO_DEEP = `is nested too deeply: at most ${DEEPEST} levels`;

function* readValue(node: unknown, tree: Tree, { place, schema, reading }: Spot): Steps<Value> {
  const unsupported = unsupportedIn(node, reading);
  if (unsupported) reading.findings.push(errorAt({ path: tree.path, at: unsupported.at }, unsupported.message));
  if (isAlias(node)) return BROKEN;
  if (place.depth > DEEPEST) return broken(reading, tree, TOO_DEEP);
  const shape = shapeOf(schema, isSeq(node) ? "list" : isMap(node) ? "map" : "scalar");
  const isMapShape = shape.kind === "map" || shape.kind === "names";
  // Inside braces, a key without a colon has no node as its value.
  if (node === null || (isScalar(node) && node.value === null)) {
    // A section whose lines are all commented out counts as empty.
    return isMapShape ? new Map() : broken(reading, tree, node?.source === "null" ? NULL : NOTHING);
  }
  if (isMap(node) && isOfTemplate(schema) && reading.text.startsWith("{{", node.range?.[0])) {
    return broken(reading, { path: tree.path, at: node.range?.[0] ?? tree.at }, UNQUOTED);
  }
  if (isMapShape) {
    if (!isMap(node)) return broken(reading, tree, withGot(mapMessage(shape, tree), tree));
    return yield* readMap(node, shape, { place, schema, reading });
  }
  if (shape.kind === "scalar" && isMap(node) && reading.text.startsWith("{{", node.range?.[0])) {
    return broken(reading, { path: tree.path, at: node.range?.[0] ?? tree.at }, BARE_TEMPLATE);
  }
  // valibot takes a list for a map that may have no keys.
  if (isSeq(node) && shape.kind === "scalar" && shapeOf(schema, "map").kind === "map") {
    return broken(reading, tree, withGot(`must be ${formOf(schema).replaceAll("`", "")}`, tree));
  }
  // Of the wrong kind: valibot reports it, whatever is in it.
  if (isMap(node)) return new Map();
  if (isSeq(node)) {
    return shape.kind === "list" ? yield* readList(node.items, shape.item, { place, schema, reading }) : [];
  }
  return isScalar(node) ? readScalar(node, { tree, schema, shape, reading }) : BROKEN;
}

const UNQUOTED = 'has {{ without quotes, which is a map for YAML: put the text in quotes, as in "{{ event }}"';
const NOTHING = "has no value: write one, or remove the key";
const NULL = "has no value: write one (in quotes if the word null is meant), or remove the key";

function broken(reading: Reading, place: Pick<Finding, "path" | "at">, message: string): typeof BROKEN {
  reading.findings.push(errorAt(place, message));
  return BROKEN;
}

function mapMessage(shape: MapShape, { path }: Tree): string {
  if (path === "") return "the file must hold keys such as `sources:`, each with a space after its colon";
  if (shape.kind === "names") return "must be a map with names as keys";
  return `must be a map with ${Object.keys(shape.entries).join(", ")}`;
}

function* readMap(node: YAMLMap, shape: MapShape, { place, reading }: Spot): Steps<TreeMap> {
  const map = new Map<string, Tree>();
  const placeOf = new Map<string, number>();
  for (const { key, value, merged } of itemsOf(node, place, reading)) {
    const written = keyText(key);
    const name = written ?? "";
    // Its own key wins.
    const before = placeOf.get(name);
    if (merged && before !== undefined) continue;
    const path = written === null ? `${place.path}[?]` : keyPath(place.path, name);
    const keyAt = startOf(key) ?? place.keyAt;
    const meant = meantKey(name, shape);
    const lineBefore = before === undefined ? undefined : reading.placeOf(before).line;
    const message = keyMessage(name, { shape, meant, lineBefore, isTop: place.depth === 0 });
    const fault = unsupportedKey(key, reading) ?? (message === null ? null : { message, at: keyAt });
    if (before === undefined) placeOf.set(name, keyAt);
    if (fault === null) {
      if (place.depth === 0 && FOR_ALIASES.test(name)) continue;
      const isShown = shape.kind === "names" && shape.shown?.includes(name);
      const secret = !isShown && (place.secret || isSecretKey(name));
      const below = { path, keyAt, secret, depth: place.depth + 1, copied: place.copied || merged };
      map.set(name, yield* readNode(value, { place: below, schema: schemaOf(name, shape), reading }));
      continue;
    }
    const blamed: Value = broken(reading, { path, at: fault.at }, fault.message);
    // The key that was meant is not missing as well.
    if (meant !== null && !map.has(meant)) map.set(meant, { path, at: keyAt, keyAt, got: null, value: blamed });
  }
  return map;
}

/** `merged`: whether a merge key brings it. */
type Item = Pick<Pair, "key" | "value"> & { readonly merged: boolean };

/** The keys of a map, then those that its merge keys bring. */
function* itemsOf(map: YAMLMap, place: Place, reading: Progress): Generator<Item> {
  const { path } = place;
  let merges = 0;
  for (const { key, value } of map.items) {
    if (isMergeKey(key)) merges += 1;
    if (!isMergeKey(key) || merges === 2) yield { key, value, merged: false };
  }
  if (merges !== 1) return;
  const at = place.keyAt;
  const merged = mergedMaps(map, reading.anchors, () => countCopy(reading, { path, at }));
  for (const one of merged) {
    if (!isMap(one)) {
      reading.findings.push(errorAt({ path: keyPath(path, "<<"), at: startOf(one.node) ?? at }, one.message));
      continue;
    }
    for (const { key, value } of one.items) {
      // Those that are there already count too: a large map may be merged thousands of times.
      if (!countCopy(reading, { path, at })) return;
      if (!isMergeKey(key)) yield { key, value, merged: true };
    }
  }
}

function schemaOf(name: string, shape: MapShape): GenericSchema {
  const schema = shape.kind === "names" ? shape.value : shape.entries[name];
  if (schema) return schema;
  throw new Error(`the known key ${name} has no schema: this is a bug in Fairlead, please report it`);
}

function meantKey(name: string, shape: MapShape): string | null {
  if (shape.kind === "names") return null;
  return Object.hasOwn(shape.entries, name) ? name : suggest(name, Object.keys(shape.entries));
}

/** valibot drops these keys without a word. */
const RESERVED = ["__proto__", "constructor", "prototype"];

type Known = {
  readonly shape: MapShape;
  readonly meant: string | null;
  readonly lineBefore: number | undefined;
  readonly isTop: boolean;
};

function keyMessage(name: string, { shape, meant, lineBefore, isTop }: Known): string | null {
  if (lineBefore !== undefined) return `is set twice: first in line ${lineBefore}`;
  if (shape.kind === "names") return RESERVED.includes(name) ? "is a reserved word: choose another name" : null;
  if (meant === name || (isTop && FOR_ALIASES.test(name))) return null;
  const known = Object.keys(shape.entries).join(", ");
  return `is not a known key: ${meant === null ? `known here are ${known}` : `did you mean ${meant}?`}`;
}

function* readList(items: readonly unknown[], schema: GenericSchema, { place, reading }: Spot): Steps<readonly Tree[]> {
  const trees: Tree[] = [];
  for (const [index, item] of items.entries()) {
    const keyAt = startOf(item) ?? place.keyAt;
    const below = { ...place, path: `${place.path}[${index}]`, keyAt, depth: place.depth + 1 };
    trees.push(yield* readNode(item, { place: below, schema, reading }));
  }
  return trees;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

type InScalar = Pick<Spot, "schema" | "reading"> & { readonly tree: Tree; readonly shape: Shape };

/** Replaces the references in a text. Their values may also be a number or a boolean, where one is expected. */
function readScalar(node: Scalar, { tree, schema, shape, reading }: InScalar): Value {
  if (typeof node.value === "number" || typeof node.value === "boolean") return node.value;
  const written = String(node.value);
  const { text, faults, origins, known } = reading.references.expand(written);
  if (origins.length > 0) reading.origins?.set(tree.path, origins);
  for (const { reference, ...fault } of faults) {
    const at = reading.text.indexOf(reference, tree.at);
    const isInside = at >= 0 && at < (node.range?.[1] ?? tree.at);
    reading.findings.push({ ...fault, path: tree.path, at: isInside ? at : tree.at });
  }
  const doubt = isOfCalls(schema) ? null : doubtText(written, { secret: tree.got === null });
  if (doubt !== null) reading.findings.push(warningAt(tree, doubt));
  if (!known || faults.some(({ severity }) => severity === "error")) return BROKEN;
  const reads = shape.kind === "scalar" && text !== written ? shape.reads : "text";
  if (reads === "number" && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  return reads === "boolean" && /^(true|false)$/.test(text) ? text === "true" : text;
}

function gotOf(node: unknown): string {
  if (isMap(node)) return "a map";
  if (isSeq(node)) return node.items.length === 0 ? "an empty list" : `a list of ${node.items.length}`;
  if (!isScalar(node)) return "nothing";
  return typeof node.value === "string" ? quote(node.value) : (node.source ?? "nothing");
}

/** A part of YAML that a config file may not use, and where it begins. */
type Unsupported = { readonly message: string; readonly at: number };

function unsupportedIn(node: unknown, { text, anchors }: Progress): Unsupported | null {
  if (!isNode(node) || !node.range) return null;
  const start = node.range[0];
  if (isAlias(node)) return { message: UNKNOWN_ALIAS, at: start };
  // A password without quotes may look like this, and would lose its first word.
  if (isScalar(node) && node.anchor !== undefined && !anchors.isUsed(node as ParsedNode)) {
    return { message: UNUSED, at: markBefore("&", { text, start }) };
  }
  return tagOf(node, { text, start });
}

function tagOf(node: Node, { text, start }: { text: string; start: number }): Unsupported | null {
  if (!("tag" in node) || node.tag === undefined) return null;
  const mark = markBefore("!", { text, start });
  const at = text[mark - 1] === "!" ? mark - 1 : mark;
  return { message: "has a tag (!), which is not supported: write a plain value", at };
}

const UNUSED =
  "has an anchor (&) that no alias (*) below stands for: remove it, or put the value in quotes if it begins with &";

function unsupportedKey(key: unknown, { text }: Progress): Unsupported | null {
  const at = startOf(key) ?? 0;
  if (isAlias(key)) return { message: "is an alias (*), which cannot be a key: write the key out", at };
  if (isScalar(key) && key.anchor !== undefined) {
    const message = "is a key with an anchor (&), which belongs behind the colon";
    return { message, at: markBefore("&", { text, start: at }) };
  }
  const tag = isNode(key) ? tagOf(key, { text, start: at }) : null;
  if (tag) return tag;
  if (!isScalar(key) || key.value === null) return { message: "is a key that is not plain text", at };
  if (isMergeKey(key)) return { message: "is there twice: write one << with a list of aliases", at };
  return null;
}
