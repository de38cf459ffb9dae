import type { Finding } from "./problems.ts";
import { child, listOf, mapOf, type Tree, textOf } from "./tree.ts";

/** Warns of what a file without errors may hold but does nothing: no sources, no destinations, an unused source. */
export function warnOfIdle(root: Tree): readonly Finding[] {
  const [sources, destinations] = [child(root, "sources"), child(root, "destinations")];
  return [
    ...(isEmpty(sources) ? [warning("sources", "has no entries: no calls can come in", sources?.keyAt)] : []),
    ...(isEmpty(destinations)
      ? [warning("destinations", "has no entries: events are kept but go nowhere", destinations?.keyAt)]
      : unused(mapOf(sources), [...mapOf(destinations).values()])),
  ];
}

function isEmpty(section: Tree | undefined): boolean {
  return mapOf(section).size === 0;
}

function unused(sources: ReadonlyMap<string, Tree>, destinations: readonly Tree[]): readonly Finding[] {
  const lists = destinations.map((destination) => child(destination, "sources"));
  if (lists.includes(undefined)) return [];
  const used = new Set(lists.flatMap((list) => listOf(list).map(textOf)));
  return [...sources]
    .filter(([name]) => !used.has(name))
    .map(([, tree]) => warning(tree.path, "is used by no destination: its events go nowhere", tree.keyAt));
}

function warning(path: string, message: string, at = 0): Finding {
  return { severity: "warning", path, message, at };
}
