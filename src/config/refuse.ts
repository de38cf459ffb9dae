import { isAlias, isNode, isScalar } from "yaml";

/** Why a node may not stand in a config file, and where what is wrong with it begins. */
export type Refusal = { readonly message: string; readonly at: number };

/*
 * The parts of YAML that a config file has no use for: they hide what a line means, and a file full of aliases can
 * grow without bound.
 */

/** Refuses a mark before a value; the value itself can still be read. */
export function refuseMarks(node: unknown, text: string): Refusal | null {
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
export function refuseAlias(node: unknown): Refusal | null {
  if (!isAlias(node)) return null;
  return { message: "is an alias (*), which is not supported: write the value out", at: node.range?.[0] ?? 0 };
}

/** Refuses a key that is not plain text. */
export function refuseKey(key: unknown, text: string): Refusal | null {
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
