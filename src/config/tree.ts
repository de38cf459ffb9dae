/**
 * The values of a config file, each with its place: what is checked, and where a Problem about it points. Text has its
 * references replaced.
 */
export type Tree = {
  /** The key, as `destinations.crm.webhooks[0].url`. */
  readonly path: string;
  /** Where a Problem about the value points to, and one about the key: offsets into the text. */
  readonly at: number;
  readonly keyAt: number;
  /** The value as it stands in the file, for messages; null if it must not be shown. */
  readonly got: string | null;
  readonly value: Value;
};

export type Value = TreeMap | TreeList | string | number | boolean | typeof BROKEN;
export type TreeMap = ReadonlyMap<string, Tree>;
export type TreeList = readonly Tree[];

/** Stands for a value that a Problem was already found with, or that cannot be known: nothing more is said about it. */
export const BROKEN = Symbol("broken");

/** What stands under a key; undefined if nothing does, or if the value is not a map. */
export function child(tree: Tree | undefined, key: string): Tree | undefined {
  return mapOf(tree).get(key);
}

/** The entries of a map; none if the value is not a map. */
export function mapOf(tree: Tree | undefined): TreeMap {
  return tree?.value instanceof Map ? tree.value : new Map();
}

/** The items of a list; none if the value is not a list. */
export function listOf(tree: Tree | undefined): TreeList {
  return Array.isArray(tree?.value) ? tree.value : [];
}

/** The text of a value; null if it is not text. */
export function textOf(tree: Tree | undefined): string | null {
  return typeof tree?.value === "string" ? tree.value : null;
}

/** The values alone, as a library for schemas wants them. A map has no prototype, so that any key is just a key. */
export function plain({ value }: Tree): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  const object: Record<string, unknown> = Object.create(null);
  for (const [key, entry] of value) object[key] = plain(entry);
  return object;
}

/** Ends a message with what was found instead, unless that is a secret. */
export function withGot(message: string, tree: Tree): string {
  return tree.got === null ? message : `${message} (got ${tree.got})`;
}
