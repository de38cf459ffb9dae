import * as v from "valibot";
import { type Finding, keyPath } from "./problems.ts";
import { type Checked, configSchema } from "./schema.ts";
import { BROKEN, child, listOf, plain, type Tree, withGot } from "./tree.ts";

/** Checks the values against the schema. The checked ones are null if anything is wrong with them. */
export function check(tree: Tree): { readonly checked: Checked | null; readonly findings: readonly Finding[] } {
  const result = v.safeParse(configSchema, plain(tree));
  if (result.success) return { checked: result.output, findings: [] };
  const issues = result.issues.flatMap((issue) => innermost(issue));
  return { checked: null, findings: issues.flatMap((issue) => toFinding(issue, tree) ?? []) };
}

type Path = readonly v.IssuePathItem[];
type Issue = { readonly message: string; readonly path: Path };

/** A choice fails as a whole; what is wrong inside the part that was meant says more. */
function innermost({ message, path = [] as never, issues }: v.BaseIssue<unknown>): readonly Issue[] {
  const inner = issues?.filter((sub) => sub.path !== undefined) ?? [];
  if (inner.length === 0) return [{ message, path }];
  return inner.map((sub) => ({ message: sub.message, path: [...path, ...(sub.path ?? [])] }));
}

function toFinding({ message, path }: Issue, root: Tree): Finding | null {
  const tree = follow(root, path);
  if (tree === undefined) return missing(follow(root, path.slice(0, -1)) ?? root, path.at(-1));
  if (tree.value === BROKEN) return null;
  if (path.at(-1)?.origin === "key") return { severity: "error", path: tree.path, message, at: tree.keyAt };
  return { severity: "error", path: tree.path, message: withGot(message, tree), at: tree.at };
}

function follow(root: Tree, path: Path): Tree | undefined {
  return path.reduce<Tree | undefined>((tree, { key }) => step(tree, key), root);
}

function step(tree: Tree | undefined, key: unknown): Tree | undefined {
  return typeof key === "number" ? listOf(tree)[key] : child(tree, String(key));
}

function missing(parent: Tree, item: v.IssuePathItem | undefined): Finding {
  const path = keyPath(parent.path, String(item?.key));
  return { severity: "error", path, message: "is missing here: it is required", at: parent.keyAt };
}
