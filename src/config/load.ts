import type { ParsedNode } from "yaml";
import type { Config, Problem } from "../model/config.ts";
import type { Resolve } from "../model/ports.ts";
import type { Disk, SpaceFor } from "../model/space.ts";
import type { At } from "../model/units.ts";
import { build } from "./build.ts";
import { check } from "./check.ts";
import { crossCheck } from "./cross.ts";
import { refuseAlias, warnOfSmallDisk } from "./disk.ts";
import { parse } from "./document.ts";
import { refuseFolder, warnOfNames, warnOfOpenSecrets } from "./doubts.ts";
import { hideSecrets, hideSecretsOfBroken } from "./hide.ts";
import { warnOfIdle } from "./idle.ts";
import { warnOfEverybody } from "./networks.ts";
import { type Finding, toProblems } from "./problems.ts";
import { type Reading, readTree } from "./read.ts";
import { type Credentials, createReferences, type Origin } from "./references.ts";
import { configSchema } from "./schema.ts";
import { readTls } from "./tls.ts";
import type { Tree } from "./tree.ts";
import { readTlsOfWebhooks } from "./webhook-tls.ts";

export type LoadInput = {
  /** The path of the config file: named in Problems, and relative paths in it start at its folder. */
  readonly file: string;
  readonly text: string;
  readonly resolve: Resolve;
  /** Wall time: certificates expire. */
  readonly now: At;
  /** Whether the process can have any; `at hand` when left out. */
  readonly credentials?: Credentials;
  /** Left out, or where it answers null, the disk of the outbox is taken to be large enough. */
  readonly spaceFor?: SpaceFor;
  /** Left out, nothing is taken for a folder. */
  readonly isFolder?: (path: string) => boolean;
  /** Whether every user of the machine can read the file; no when left out. */
  readonly worldReadable?: boolean;
  /** Whether the outbox can be opened by another path; not looked at when left out. */
  readonly aliasOf?: Disk["alias"];
};

export type Loaded = {
  /** Null if any Problem is an error, and if a credential is for systemd's unit alone to see. */
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
export function loadConfig(input: LoadInput): Loaded {
  const { config, problems, files } = inspectConfig(input);
  return { config, problems, files };
}

/** What was loaded, with what the file itself says: for those who show it to the operator. */
export type Inspected = Loaded & {
  /** The values, secrets included; null if the file cannot be read. */
  readonly tree: Tree | null;
  /** Where the references in the values lead to, by the path of the value. */
  readonly origins: ReadonlyMap<string, readonly Origin[]>;
  /** The line of an offset in the text, from 1. */
  lineOf(at: number): number;
};

/** Does the same as `loadConfig`, and shows how. */
export function inspectConfig(input: LoadInput): Inspected {
  const { file, text: raw, resolve, now, credentials = "at hand", spaceFor = () => null, aliasOf = () => null } = input;
  const { isFolder = () => false, worldReadable = false } = input;
  // A byte order mark would move every column of the first line.
  const text = raw.replace(/^\uFEFF/, "");
  const { contents, lines, findings: syntax } = parse(text);
  const references = createReferences({ file, resolve, credentials });
  const origins = new Map<string, readonly Origin[]>();
  const { config, tree, findings } =
    syntax.length > 0 || contents === null
      ? { config: null, tree: null, findings: syntax }
      : interpret({
          file,
          references,
          text,
          contents,
          lines,
          now,
          spaceFor,
          aliasOf,
          isFolder,
          worldReadable,
          origins,
        });
  const shown = (): string => (syntax.length > 0 ? hideSecretsOfBroken(text, contents) : hideSecrets(text, contents));
  // Hiding walks over the whole file, while calls wait: not for one that nothing is said of.
  const problems = findings.length === 0 ? [] : toProblems(findings, { file, shownText: shown(), lines });
  return { config, problems, files: references.files(), tree, origins, lineOf: (at) => lines.linePos(at).line };
}

type Readable = Omit<Reading, "findings"> &
  Required<Pick<LoadInput, "file" | "now" | "spaceFor" | "aliasOf" | "isFolder" | "worldReadable">> & {
    readonly contents: ParsedNode;
    readonly origins: ReadonlyMap<string, readonly Origin[]>;
  };
type Interpreted = { readonly config: Config | null; readonly tree: Tree; readonly findings: readonly Finding[] };

function interpret({ contents, now, spaceFor, aliasOf, isFolder, worldReadable, ...reading }: Readable): Interpreted {
  const { file, origins } = reading;
  const found: Finding[] = [];
  const tree = readTree(contents, configSchema, { ...reading, findings: found });
  const { checked, findings } = check(tree);
  const pems = { references: reading.references, now, findings: found };
  const beside = { file, tls: readTls(tree, pems), tlsOfWebhooks: readTlsOfWebhooks(tree, pems) };
  const all = [
    ...found,
    ...findings,
    ...crossCheck(tree),
    ...warnOfEverybody(tree),
    ...refuseFolder(tree, { file, isFolder }),
  ];
  if (all.some(({ severity }) => severity === "error")) return { config: null, tree, findings: all };
  // Before the errors are mended, such a warning may only echo one of them.
  const config = checked && build(checked, beside);
  const warnings = [
    ...warnOfIdle(tree),
    ...warnOfNames(tree),
    ...(worldReadable ? warnOfOpenSecrets(tree, { file, origins }) : []),
    ...(config ? [...warnOfSmallDisk(tree, config, spaceFor), ...refuseAlias(tree, config, aliasOf)] : []),
  ];
  return { config, tree, findings: [...all, ...warnings] };
}
