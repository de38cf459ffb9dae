/** Checks the values of a config against the schema. */
import * as v from "valibot";
import { errorAt, type Finding, keyPath, keyPlace } from "./problems.ts";
import { type Checked, configSchema } from "./schema.ts";
import type { Steps } from "./steps.ts";
import { BROKEN, child, listOf, mapOf, plain, type Tree, withGot } from "./tree.ts";

/** `checked` is null if there are findings. */
export function* check(tree: Tree): Steps<{ readonly checked: Checked | null; readonly findings: readonly Finding[] }> {
  const outputs: Checked[] = [];
  const issues: (readonly Issue[])[] = [];
  for (const part of partsOf(tree)) {
    const result = v.safeParse(configSchema, plain(part));
    if (result.success) outputs.push(result.output);
    else issues.push(result.issues.flatMap((issue) => innermost(issue)));
    yield;
  }
  const [first] = outputs;
  if (first === undefined || issues.length > 0) {
    return { checked: null, findings: issues.flat().flatMap((issue) => toFinding(issue, tree) ?? []) };
  }
  const sources = Object.assign({}, ...outputs.map((output) => output.sources));
  const destinations = Object.assign({}, ...outputs.map((output) => output.destinations));
  return { checked: { ...first, sources, destinations }, findings: [] };
}

/** The sections that may have hundreds of entries. */
const LONG_SECTIONS = ["sources", "destinations"];
/** How many of these entries are checked in one step. */
const STEP = 16;

/** The file as several: one without the entries of the long sections, and for some of these entries each another. */
function* partsOf(root: Tree): Generator<Tree> {
  const long = LONG_SECTIONS.map((name) => [name, child(root, name)] as const);
  const emptied = long.flatMap(([name, section]) =>
    section?.value instanceof Map ? [[name, { ...section, value: new Map() }] as const] : [],
  );
  yield root.value instanceof Map ? { ...root, value: new Map([...root.value, ...emptied]) } : root;
  for (const [name, section] of long) {
    const entries = [...mapOf(section)];
    for (let at = 0; section && at < entries.length; at += STEP) {
      yield { ...root, value: new Map([[name, { ...section, value: new Map(entries.slice(at, at + STEP)) }]]) };
    }
  }
}

type Path = readonly v.IssuePathItem[];
type Issue = { readonly message: string; readonly path: Path };

/** A choice fails as a whole; the issues inside the option that was meant say more. */
function innermost({ message, path = [] as never, issues }: v.BaseIssue<unknown>): readonly Issue[] {
  const inner = issues?.filter((sub) => sub.path !== undefined) ?? [];
  if (inner.length === 0) return [{ message, path }];
  return inner.map((sub) => ({ message: sub.message, path: [...path, ...(sub.path ?? [])] }));
}

function toFinding({ message, path }: Issue, root: Tree): Finding | null {
  const tree = follow(root, path);
  if (tree === undefined) {
    const parent = follow(root, path.slice(0, -1)) ?? root;
    const missing = { path: keyPath(parent.path, String(path.at(-1)?.key)), at: parent.keyAt };
    return errorAt(missing, "is missing here: it is required");
  }
  if (tree.value === BROKEN) return null;
  if (path.at(-1)?.origin === "key") return errorAt(keyPlace(tree), message);
  return errorAt(tree, withGot(message, tree));
}

function follow(root: Tree, path: Path): Tree | undefined {
  return path.reduce<Tree | undefined>((tree, { key }) => {
    return typeof key === "number" ? listOf(tree)[key] : child(tree, String(key));
  }, root);
}
