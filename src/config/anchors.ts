/** Anchors (`&name`) of a file, what its aliases (`*name`) stand for, and the keys that merge keys (`<<`) bring. */
import { type Alias, isAlias, isMap, isScalar, isSeq, type Pair, type ParsedNode, type YAMLMap } from "yaml";
import { nodesOf } from "./hide.ts";
import type { Steps } from "./steps.ts";

export type Anchors = {
  /** What an alias stands for: the last node before it with its name. Null if there is none, or the alias is inside it. */
  find(alias: Alias): ParsedNode | null;
  isUsed(node: ParsedNode): boolean;
  /** Whether a value is a secret at one of its places. */
  isSecret(node: unknown): boolean;
};

export const NO_ANCHORS: Anchors = { find: () => null, isUsed: () => false, isSecret: () => false };

/** What stands under such a key at the top of a file is there for aliases, and means nothing itself. */
export const FOR_ALIASES = /^x-/;

/** How many nodes are looked at in one step. */
const STEP = 100;

/** Finds the anchors of a file. Most have none, and are not searched. */
export function* anchorsIn(text: string, contents: ParsedNode | null): Steps<Anchors> {
  if (!text.includes("&")) return NO_ANCHORS;
  const anchored = new Map<string, ParsedNode[]>();
  const aliases: Alias[] = [];
  let seen = 0;
  for (const { node } of nodesOf(contents)) {
    if (isAlias(node)) aliases.push(node);
    else if (node.anchor !== undefined) {
      const same = anchored.get(node.anchor);
      if (same) same.push(node);
      else anchored.set(node.anchor, [node]);
    }
    seen += 1;
    if (seen % STEP === 0) yield;
  }
  for (const nodes of anchored.values()) nodes.sort((one, other) => one.range[0] - other.range[0]);

  const used = new Set(aliases.map(find));
  const secrets = new Set<unknown>();
  for (const { node, secret } of nodesOf(contents, find)) {
    if (secret) secrets.add(node);
    seen += 1;
    if (seen % STEP === 0) yield;
  }
  return { find, isUsed: (node) => used.has(node), isSecret: (node) => secrets.has(node) };

  function find({ source, range }: Alias): ParsedNode | null {
    const at = range?.[0] ?? 0;
    const target = lastBefore(anchored.get(source) ?? [], at);
    // In a map that is not closed yet, an alias would stand for what it is in.
    return target && at >= target.range[1] ? target : null;
  }
}

/** Of nodes in the order of the file. A name may be used for thousands of anchors. */
function lastBefore(nodes: readonly ParsedNode[], at: number): ParsedNode | null {
  let [from, to] = [0, nodes.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((nodes[middle]?.range[0] ?? at) < at) from = middle + 1;
    else to = middle;
  }
  return nodes[from - 1] ?? null;
}

/** Whether a key is a merge key. In quotes it is a name like others. */
export function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === "<<" && key.type === "PLAIN";
}

/** What is wrong with a merge key, and the node to point at. */
export type MergeFault = { readonly node: unknown; readonly message: string };

/** How many maps may merge one another in a row. */
const LONGEST_CHAIN = 20;

/**
 * The maps that the merge keys of a map bring, theirs included: of two that have a key, the first wins. `count` is called
 * for each, and answers whether there may be more.
 */
export function mergedMaps(map: YAMLMap, anchors: Anchors, count: () => boolean): readonly (YAMLMap | MergeFault)[] {
  return mapsOf(map, 1);

  function mapsOf({ items }: YAMLMap, depth: number): readonly (YAMLMap | MergeFault)[] {
    return items.filter(({ key }) => isMergeKey(key)).flatMap(({ key, value }) => sourcesOf({ key, value }, depth));
  }

  function sourcesOf({ key, value }: Pick<Pair, "key" | "value">, depth: number): readonly (YAMLMap | MergeFault)[] {
    if (depth > LONGEST_CHAIN) return [{ node: key, message: TOO_LONG }];
    const list = targetOf(value);
    return (isSeq(list) ? list.items : [list]).flatMap((item) => {
      if (!count()) return [];
      const target = targetOf(item);
      if (isMap(target)) return [target, ...mapsOf(target, depth + 1)];
      return [{ node: isAlias(item) ? item : key, message: isAlias(target) ? UNKNOWN_ALIAS : NOT_A_MAP }];
    });
  }

  function targetOf(node: unknown): unknown {
    return isAlias(node) ? (anchors.find(node) ?? node) : node;
  }
}

export const UNKNOWN_ALIAS =
  "is an alias (*) without an anchor (&) of that name above it: add one, or put the value in quotes if it begins with *";
const NOT_A_MAP = "is a merge key (<<), which needs an alias (*) of a map, or a list of such aliases";
const TOO_LONG = `is a merge key (<<) in a chain of more than ${LONGEST_CHAIN}: write the keys out`;
