/** The values of a config file, each with its place. References in text are replaced already. */
export type Tree = {
  /** The key, as `destinations.crm.webhooks[0].url`. */
  readonly path: string;
  /** Where a problem with the value points to, as an offset into the text. */
  readonly at: number;
  /** Where a problem with the key points to. */
  readonly keyAt: number;
  /** The value as it stands in the file, for messages; null if it is a secret. */
  readonly got: string | null;
  readonly value: Value;
};

export type Value = TreeMap | TreeList | string | number | boolean | typeof BROKEN;
export type TreeMap = ReadonlyMap<string, Tree>;
type TreeList = readonly Tree[];

/** A value that already has a problem, or that cannot be known. Checks pass over it. */
export const BROKEN = Symbol("broken");

/** The value at the end of some keys; undefined if one of them is not there. */
export function child(tree: Tree | undefined, ...keys: readonly string[]): Tree | undefined {
  return keys.reduce((parent, key) => mapOf(parent).get(key), tree);
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

/** The values alone, for valibot. A map has no prototype, so that any key is just a key. */
export function plain({ value }: Tree): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  const object: Record<string, unknown> = Object.create(null);
  for (const [key, entry] of value) object[key] = plain(entry);
  return object;
}

/** Adds the value found to a message, unless it is a secret. */
export function withGot(message: string, tree: Tree): string {
  return tree.got === null ? message : `${message} (got ${tree.got})`;
}
