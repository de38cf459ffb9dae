import type { ParsedNode } from "yaml";
import type { Config, Problem } from "../model/config.ts";
import type { Resolve } from "../model/ports.ts";
import type { At } from "../model/units.ts";
import { build } from "./build.ts";
import { check } from "./check.ts";
import { crossCheck } from "./cross.ts";
import { parse } from "./document.ts";
import { hideSecrets, hideSecretsOfBroken } from "./hide.ts";
import { warnOfIdle } from "./idle.ts";
import { warnOfEverybody } from "./networks.ts";
import { type Finding, toProblems } from "./problems.ts";
import { type Reading, readTree } from "./read.ts";
import { createReferences } from "./references.ts";
import { configSchema } from "./schema.ts";
import { readTls } from "./tls.ts";

export type LoadInput = {
  /** The path of the config file: named in Problems, and relative paths in it start at its folder. */
  readonly file: string;
  readonly text: string;
  readonly resolve: Resolve;
  /** Wall time: certificates expire. */
  readonly now: At;
};

export type Loaded = {
  /** Null if any Problem is an error. */
  readonly config: Config | null;
  /** All of them, in the order of the file. */
  readonly problems: readonly Problem[];
  /** The secret and certificate files that the config is made of, those that could not be read included. */
  readonly files: readonly string[];
};

/**
 * Turns the text of a config file into a Config, or into all that is wrong with it. Never throws, and reaches the
 * outside world only through `resolve`. No Problem holds a secret.
 */
export function loadConfig({ file, text: raw, resolve, now }: LoadInput): Loaded {
  // A byte order mark would move every column of the first line.
  const text = raw.replace(/^\uFEFF/, "");
  const { contents, lines, findings: syntax } = parse(text);
  const references = createReferences({ file, resolve });
  const { config, findings } =
    syntax.length > 0 || contents === null
      ? { config: null, findings: syntax }
      : interpret({ file, references, text, contents, lines, now });
  const shownText = syntax.length > 0 ? hideSecretsOfBroken(text, contents) : hideSecrets(text, contents);
  return { config, problems: toProblems(findings, { file, shownText, lines }), files: references.files() };
}

type Readable = Omit<Reading, "findings"> & Pick<LoadInput, "file" | "now"> & { readonly contents: ParsedNode };
type Interpreted = { readonly config: Config | null; readonly findings: readonly Finding[] };

function interpret({ file, contents, now, ...reading }: Readable): Interpreted {
  const found: Finding[] = [];
  const tree = readTree(contents, configSchema, { ...reading, findings: found });
  const { checked, findings } = check(tree);
  const tls = readTls(tree, { references: reading.references, now, findings: found });
  const all = [...found, ...findings, ...crossCheck(tree), ...warnOfEverybody(tree)];
  if (checked === null || all.some(({ severity }) => severity === "error")) return { config: null, findings: all };
  // Before the errors are mended, such a warning may only echo one of them.
  return { config: build(checked, { file, tls }), findings: [...all, ...warnOfIdle(tree)] };
}
