import type { GenericSchema } from "valibot";
import { isAlias, isMap, isNode, isScalar, isSeq, type ParsedNode, type Scalar, type YAMLMap } from "yaml";
import { isSecretKey, keyText, markBefore } from "./hide.ts";
import { formOf, isOfCalls, isOfTemplate, type Shape, shapeOf } from "./key.ts";
import { errorAt, type Finding, keyPath, quote, warningAt } from "./problems.ts";
import { BARE_TEMPLATE, doubtText, type Origin, type References } from "./references.ts";
import type { Steps } from "./steps.ts";
import { suggest } from "./suggest.ts";
import type { Document } from "./syntax.ts";
import { BROKEN, type Tree, type TreeMap, type Value, withGot } from "./tree.ts";

/** What reading needs, and the findings and origins that it adds to. */
type Reading = Pick<Document, "text" | "lines"> & {
  readonly references: References;
  readonly findings: Finding[];
  /** What the references in each value stand for, by the path of the value. */
  readonly origins?: Map<string, readonly Origin[]>;
};

type Place = { readonly path: string; readonly keyAt: number; readonly secret: boolean };
/** `nodes`: how many were read so far. */
type Progress = Reading & { nodes: number };
type Spot = { readonly place: Place; readonly schema: GenericSchema; readonly reading: Progress };
type MapShape = Extract<Shape, { kind: "map" | "names" }>;

/**
 * Reads the file's values along the schema. Replaces references, and reports unknown and repeated keys, empty values and
 * the parts of YAML that a config file may not use. Nothing below an unknown key is read.
 */
export function* readTree(contents: ParsedNode, schema: GenericSchema, reading: Reading): Steps<Tree> {
  const progress = { ...reading, nodes: 0 };
  return yield* readNode(contents, { place: { path: "", keyAt: 0, secret: false }, schema, reading: progress });
}

/** The values of the file that are read in one step. */
const STEP = 50;

function* readNode(node: unknown, spot: Spot): Steps<Tree> {
  spot.reading.nodes += 1;
  if (spot.reading.nodes % STEP === 0) yield;
  const { path, keyAt, secret } = spot.place;
  const [start, end] = (isScalar(node) && node.range) || [keyAt, keyAt];
  // A map, a list and an empty value are best pointed at by their key.
  const at = start < end ? start : keyAt;
  const tree: Tree = { path, at, keyAt, got: secret ? null : gotOf(node), value: BROKEN };
  return { ...tree, value: yield* readValue(node, tree, spot) };
}

function* readValue(node: unknown, tree: Tree, { place, schema, reading }: Spot): Steps<Value> {
  const unsupported = unsupportedIn(node, reading.text);
  if (unsupported) reading.findings.push(errorAt({ path: tree.path, at: unsupported.at }, unsupported.message));
  if (isAlias(node)) return BROKEN;
  const shape = shapeOf(schema, isSeq(node) ? "list" : isMap(node) ? "map" : "scalar");
  const isMapShape = shape.kind === "map" || shape.kind === "names";
  if (isScalar(node) && node.value === null) {
    // A section whose lines are all commented out counts as empty.
    return isMapShape ? new Map() : broken(reading, tree, node.source === "null" ? NULL : NOTHING);
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
  const lineOf = new Map<string, number>();
  for (const { key, value } of node.items) {
    const written = keyText(key);
    const name = written ?? "";
    const path = written === null ? `${place.path}[?]` : keyPath(place.path, name);
    const keyAt = startOf(key) ?? place.keyAt;
    const meant = meantKey(name, shape);
    const message = keyMessage(name, { shape, meant, lineBefore: lineOf.get(name) });
    const fault = unsupportedKey(key, reading.text) ?? (message === null ? null : { message, at: keyAt });
    if (!lineOf.has(name)) lineOf.set(name, reading.lines.linePos(keyAt).line);
    if (fault === null) {
      const isShown = shape.kind === "names" && shape.shown?.includes(name);
      const below = { path, keyAt, secret: !isShown && (place.secret || isSecretKey(name)) };
      map.set(name, yield* readNode(value, { place: below, schema: schemaOf(name, shape), reading }));
      continue;
    }
    const blamed: Value = broken(reading, { path, at: fault.at }, fault.message);
    // The key that was meant is not missing as well.
    if (meant !== null && !map.has(meant)) map.set(meant, { path, at: keyAt, keyAt, got: null, value: blamed });
  }
  return map;
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

type Known = { readonly shape: MapShape; readonly meant: string | null; readonly lineBefore: number | undefined };

function keyMessage(name: string, { shape, meant, lineBefore }: Known): string | null {
  if (lineBefore !== undefined) return `is set twice: first in line ${lineBefore}`;
  if (shape.kind === "names") return RESERVED.includes(name) ? "is a reserved word: choose another name" : null;
  if (meant === name) return null;
  const known = Object.keys(shape.entries).join(", ");
  return `is not a known key: ${meant === null ? `known here are ${known}` : `did you mean ${meant}?`}`;
}

function* readList(items: readonly unknown[], schema: GenericSchema, { place, reading }: Spot): Steps<readonly Tree[]> {
  const trees: Tree[] = [];
  for (const [index, item] of items.entries()) {
    const below = { ...place, path: `${place.path}[${index}]`, keyAt: startOf(item) ?? place.keyAt };
    trees.push(yield* readNode(item, { place: below, schema, reading }));
  }
  return trees;
}

function startOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;
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

/** Anchors, aliases and tags hide what a line means, and a file full of aliases can grow without bound. */
function unsupportedIn(node: unknown, text: string): Unsupported | null {
  if (!isNode(node) || !node.range) return null;
  const start = node.range[0];
  if (isAlias(node)) return { message: "is an alias (*), which is not supported: write the value out", at: start };
  if (node.anchor !== undefined) {
    return { message: "has an anchor (&), which is not supported: remove it", at: markBefore("&", { text, start }) };
  }
  if (node.tag === undefined) return null;
  const mark = markBefore("!", { text, start });
  const at = text[mark - 1] === "!" ? mark - 1 : mark;
  return { message: "has a tag (!), which is not supported: write a plain value", at };
}

function unsupportedKey(key: unknown, text: string): Unsupported | null {
  const unsupported = unsupportedIn(key, text);
  if (unsupported) return unsupported;
  const at = startOf(key) ?? 0;
  if (!isScalar(key) || key.value === null) return { message: "is a key that is not plain text", at };
  if (key.value === "<<") return { message: "is a merge key (<<), which is not supported: write the keys out", at };
  return null;
}
