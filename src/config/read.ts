import type { GenericSchema } from "valibot";
import { isMap, isScalar, isSeq, type LineCounter, type ParsedNode, type YAMLMap } from "yaml";
import { BARE_TEMPLATE } from "./doubts.ts";
import { type MapShape, readKey } from "./keys.ts";
import { quote } from "./problems.ts";
import { readText, type TextReading } from "./read-text.ts";
import { refuseAlias, refuseMarks } from "./refuse.ts";
import { isSecretKey } from "./scalars.ts";
import { type Shape, shapeOf } from "./shape.ts";
import { BROKEN, type Tree, type TreeMap, type Value, withGot } from "./tree.ts";

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
