import { isMap, type ParsedNode } from "yaml";
import type { Problem } from "../model/config.ts";
import { check } from "./check.ts";
import { parse } from "./document.ts";
import { hideSecrets, hideSecretsOfBroken } from "./hide.ts";
import type { LoadInput } from "./load.ts";
import { type Finding, toProblems } from "./problems.ts";
import { readTree } from "./read.ts";
import { createReferences } from "./references.ts";
import { keyText } from "./scalars.ts";
import { configSchema } from "./schema.ts";
import { suggest } from "./suggest.ts";
import { child, type Tree } from "./tree.ts";

export type SectionName = keyof typeof configSchema.entries;

export type Section = {
  /** Undefined if the file has no such section, or cannot be read at all. */
  readonly tree: Tree | undefined;
  readonly errors: readonly Problem[];
};

/**
 * Reads one section of a config file as if no other were there: nothing is resolved for them, and nothing is wrong with
 * them. What is wrong only between two sections is not found.
 */
export function readSection(name: SectionName, { file, text: raw, resolve }: Omit<LoadInput, "now">): Section {
  const text = raw.replace(/^\uFEFF/, "");
  const { contents, lines, findings: syntax } = parse(text);
  const shownText = syntax.length > 0 ? hideSecretsOfBroken(text, contents) : hideSecrets(text, contents);
  const placing = { file, shownText, lines };
  if (syntax.length > 0 || contents === null) return { tree: undefined, errors: toProblems(syntax, placing) };
  const found: Finding[] = [];
  const references = createReferences({ file, resolve });
  const tree = readTree(reduce(contents, name), configSchema, { text, lines, references, findings: found });
  const errors = [...found, ...check(tree).findings].filter(({ severity }) => severity === "error");
  return { tree: child(tree, name), errors: toProblems(errors, placing) };
}

/** Leaves the section alone in the document, with all keys that are probably meant as its own. */
function reduce(contents: ParsedNode, name: SectionName): ParsedNode {
  if (isMap(contents)) contents.items = contents.items.filter(({ key }) => meantBy(keyText(key)) === name);
  return contents;
}

function meantBy(key: string | null): string | null {
  if (key === null || Object.hasOwn(configSchema.entries, key)) return key;
  return suggest(key, Object.keys(configSchema.entries));
}
