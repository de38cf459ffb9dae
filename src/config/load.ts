import * as v from "valibot";
import type { ParsedNode } from "yaml";
import type { Config, Problem, Tls } from "../model/config.ts";
import type { Destination, WebhookTls } from "../model/destination.ts";
import type { Resolve } from "../model/ports.ts";
import { Secret } from "../model/secret.ts";
import type { Source } from "../model/source.ts";
import type { Disk, SpaceFor } from "../model/space.ts";
import type { At } from "../model/units.ts";
import { warnOfEverybody } from "./addresses.ts";
import { crossCheck } from "./cross.ts";
import { hideSecrets, hideSecretsOfBroken } from "./hide.ts";
import { type Finding, keyPath, toProblems } from "./problems.ts";
import { type Reading, readTree } from "./read.ts";
import { type Credentials, createReferences, fullPath, type Origin } from "./references.ts";
import { type Checked, configSchema } from "./schema.ts";
import { parse } from "./syntax.ts";
import { readTls, readTlsOfWebhooks, type TlsOfWebhooks } from "./tls.ts";
import { BROKEN, child, listOf, plain, type Tree, withGot } from "./tree.ts";
import { refuseAlias, refuseFolder, warnOfIdle, warnOfNames, warnOfOpenSecrets, warnOfSmallDisk } from "./warnings.ts";

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

/** Where the file is, and what was read along with it. */
type Beside = { readonly file: string; readonly tls: Tls | null; readonly tlsOfWebhooks: TlsOfWebhooks };

/** Makes the Config out of checked values. The outbox's path starts at the folder of the config file. */
function build(checked: Checked, { file, tls, tlsOfWebhooks }: Beside): Config {
  const { ingest, admin, outbox, delivery, log, sources, destinations } = checked;
  return {
    ingest: {
      listen: ingest.listen,
      tls,
      trustedProxies: ingest.trustedProxies.map(({ cidr }) => cidr),
      corsOrigins: ingest.corsOrigins.map((origin) => origin.toLowerCase()),
      maxCall: ingest.maxCall,
      maxBatch: ingest.maxBatch,
    },
    admin: { listen: admin.listen, token: admin.token === undefined ? null : new Secret(admin.token) },
    outbox: { ...outbox, path: fullPath(outbox.path, file) },
    delivery,
    log,
    sources: Object.entries(sources).map(([name, source]) => buildSource(name, source)),
    destinations: Object.entries(destinations).map(([name, destination]) => {
      return buildDestination(destination, { name, tlses: tlsOfWebhooks.get(name) ?? [] });
    }),
  };
}

function buildSource(name: string, { writeKey, ...rest }: Checked["sources"][string]): Source {
  return { name, writeKey: new Secret(writeKey), ...rest };
}

type Around = { readonly name: string; readonly tlses: readonly (WebhookTls | null)[] };

function buildDestination(checked: Checked["destinations"][string], { name, tlses }: Around): Destination {
  const { enabled, sources = null, types = null, historical, webhooks, sharedSecret = [], standardWebhooks } = checked;
  return {
    name,
    enabled,
    sources,
    types,
    historical,
    webhooks: webhooks.map(({ url, headers }, index) => ({
      url,
      headers: Object.entries(headers).map(([header, value]) => [header, new Secret(value)] as const),
      tls: tlses[index] ?? null,
    })),
    sharedSecrets: [sharedSecret].flat().map((secret) => new Secret(secret)),
    standardWebhooks,
  };
}
