import * as v from "valibot";
import { formOf, PATH_FORM } from "../form.ts";
import { fullPath } from "../full-path.ts";
import { hideAnywhere } from "../hide.ts";
import type { Inspected } from "../load.ts";
import { leftOutOf } from "../manual.ts";
import { keyPath } from "../problems.ts";
import type { Origin } from "../references.ts";
import { configSchema } from "../schema.ts";
import { type Shape, shapeOf } from "../shape.ts";
import { BROKEN, listOf, mapOf, type Tree } from "../tree.ts";

/** All keys of the schema in its order, each with the value that counts. */
export type Effective = EffectiveMap | EffectiveList | EffectiveValue | LeftOut;

export type EffectiveMap = {
  readonly kind: "map";
  readonly entries: readonly (readonly [name: string, Effective])[];
};
export type EffectiveList = {
  readonly kind: "list";
  readonly path: string;
  readonly items: readonly (EffectiveMap | EffectiveValue)[];
  readonly from: From;
};
export type EffectiveValue = {
  readonly kind: "value";
  readonly path: string;
  /** As one writes it in the file. `***` if it must not be shown; an object stands for a map without entries. */
  readonly value: string | number | boolean | Readonly<Record<string, never>>;
  readonly from: From;
};
/** A key without default that the file does not have; `words` say what counts. */
export type LeftOut = { readonly kind: "left out"; readonly path: string; readonly words: string };

/** Where a value comes from: a line of the file, from 1, and where the references in it lead to. */
export type From =
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
