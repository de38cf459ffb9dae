import * as v from "valibot";
import type { ParsedNode } from "yaml";
import type {
  Config,
  DeliveryPolicy,
  Destination,
  Postgres,
  Problem,
  RateLimit,
  Tls,
  WebhookTls,
} from "../model/config.ts";
import type { Disk, SpaceFor } from "../model/disk.ts";
import type { Resolve } from "../model/ports.ts";
import { Secret } from "../model/secret.ts";
import { type At, SECOND } from "../model/units.ts";
import { crossCheck } from "./cross.ts";
import { buildFilter } from "./filter.ts";
import { warnOfFilters } from "./filter-warnings.ts";
import { hideSecrets, hideSecretsOfBroken } from "./hide.ts";
import { readPostgres, shownUrl } from "./postgres.ts";
import { errorAt, type Finding, keyPath, keyPlace, toProblems } from "./problems.ts";
import { readTree } from "./read.ts";
import { type Credentials, createReferences, fullPath, type Origin, type References } from "./references.ts";
import { type Checked, configSchema } from "./schema.ts";
import { atOnce, type Steps } from "./steps.ts";
import { type Document, parse } from "./syntax.ts";
import { readTls, readTlsOfWebhooks, type TlsOfWebhooks } from "./tls.ts";
import { BROKEN, child, listOf, mapOf, plain, type Tree, withGot } from "./tree.ts";
import * as checks from "./warnings.ts";

export type LoadInput = {
  /** The path of the config file: problems name it, and relative paths start at its folder. */
  readonly file: string;
  readonly text: string;
  readonly resolve: Resolve;
  /** Wall time: certificates expire. */
  readonly now: At;
  /** Whether the process can read credentials; `at hand` by default. */
  readonly credentials?: Credentials;
  /** Left out, or where it answers null, the outbox's disk counts as large enough. */
  readonly spaceFor?: SpaceFor;
  /** Left out, no path counts as a folder. */
  readonly isFolder?: (path: string) => boolean;
  /** Whether every user of the machine can read the file; false by default. */
  readonly worldReadable?: boolean;
  /** Whether the outbox has another path as well; not checked if left out. */
  readonly aliasOf?: Disk["alias"];
};

export type Loaded = {
  /** Null if a problem is an error, or if a credential can only be seen by systemd's unit. */
  readonly config: Config | null;
  /** In the order of the file. */
  readonly problems: readonly Problem[];
  /** The secret and certificate files that the config names, those that could not be read included. */
  readonly files: readonly string[];
  /** The values of the file, secrets included; null if it cannot be read. */
  readonly tree: Tree | null;
  /** What the references in the values stand for, by the path of the value. */
  readonly origins: ReadonlyMap<string, readonly Origin[]>;
  /** The line of an offset in the text, from 1. */
  lineOf(at: number): number;
};

/**
 * Turns the text of a config file into a Config, or into all its problems. Never throws, and depends on nothing but its
 * input. No problem contains a secret.
 */
export function loadConfig(input: LoadInput): Loaded {
  return atOnce(loadDocument(parse(input.text), input));
}

/** The same from a text that is parsed already. */
export function* loadDocument(document: Document, input: Omit<LoadInput, "text">): Steps<Loaded> {
  const { file, resolve, credentials = "at hand" } = input;
  const { contents, lines, findings: syntax } = document;
  const references = createReferences({ file, resolve, credentials });
  const origins = new Map<string, readonly Origin[]>();
  const { config, tree, findings } =
    contents === null || syntax.length > 0
      ? { config: null, tree: null, findings: syntax }
      : yield* interpret(contents, { input, document, references, origins });
  const problems = yield* problemsIn(document, findings, file);
  return { config, problems, files: references.files(), tree, origins, lineOf: (at) => lines.linePos(at).line };
}

/** Gives findings their lines, with secrets hidden. */
export function* problemsIn(document: Document, findings: readonly Finding[], file: string): Steps<readonly Problem[]> {
  // Hiding takes a walk over the whole file.
  if (findings.length === 0) return [];
  const { text, contents, lines } = document;
  const hide = document.findings.length > 0 ? hideSecretsOfBroken : hideSecrets;
  return toProblems(findings, { file, shownText: yield* hide(text, contents), lines });
}

type Context = {
  readonly input: Omit<LoadInput, "text">;
  readonly document: Document;
  readonly references: References;
  readonly origins: Map<string, readonly Origin[]>;
};
type Interpreted = { readonly config: Config | null; readonly tree: Tree; readonly findings: readonly Finding[] };

function* interpret(contents: ParsedNode, { input, document, references, origins }: Context): Steps<Interpreted> {
  const { file, now, spaceFor = () => null, isFolder = () => false, aliasOf = () => null } = input;
  const { text, lines } = document;
  const found: Finding[] = [];
  const tree = yield* readTree(contents, configSchema, { text, lines, references, findings: found, origins });
  const { checked, findings } = yield* check(tree);
  const pems = { references, now, findings: found };
  const tls = readTls(tree, pems);
  const postgres = readPostgres(tree, pems);
  const tlsOfWebhooks = yield* readTlsOfWebhooks(tree, pems);
  const conflicts = [
    ...(yield* crossCheck(tree)),
    ...checks.warnOfEverybody(tree),
    ...checks.refuseFolder(tree, file, isFolder),
  ];
  yield;
  const all = [...found, ...findings, ...conflicts];
  // The other warnings could echo an error.
  if (all.some(({ severity }) => severity === "error")) return { config: null, tree, findings: all };
  all.push(...checks.warnOfIdle(tree), ...checks.warnOfNames(tree), ...checks.warnOfSameAdmin(tree));
  if (input.worldReadable) all.push(...checks.warnOfOpenSecrets(tree, file, origins));
  const config = checked && build(checked, { file, tls, postgres, tlsOfWebhooks });
  if (config) all.push(...checks.warnOfUnspecified(tree, config), ...warnOfFilters(tree, config));
  if (config) all.push(...checks.warnOfSmallDisk(tree, config, spaceFor), ...checks.refuseAlias(tree, config, aliasOf));
  return { config, tree, findings: all };
}

/** Checks the values against the schema. `checked` is null if there are findings. */
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

/** The config file, and what is read with the help of its certificate files. */
type Files = {
  readonly file: string;
  readonly tls: Tls | null;
  readonly postgres: Postgres | null;
  readonly tlsOfWebhooks: TlsOfWebhooks;
};

/** Makes the Config out of checked values. */
function build(checked: Checked, { file, tls, postgres, tlsOfWebhooks }: Files): Config {
  const { ingest, admin, outbox, delivery, log, sources, destinations } = checked;
  return {
    ingest: {
      ...ingest,
      tls,
      trustedProxies: ingest.trustedProxies.map(({ cidr }) => cidr),
      corsOrigins: ingest.corsOrigins.map((origin) => origin.toLowerCase()),
    },
    admin: { ...admin, token: secretOf(admin.token), readToken: secretOf(admin.readToken) },
    outbox: buildOutbox(outbox, { file, postgres }),
    delivery,
    log,
    sources: Object.entries(sources).map(([name, { writeKey, ...source }]) => {
      return { name, writeKey: new Secret(writeKey), ...source };
    }),
    destinations: Object.entries(destinations).map(([name, destination]) => {
      return { name, ...delivery, ...buildDestination(destination, tlsOfWebhooks.get(name) ?? []) };
    }),
  };
}

function secretOf(text: string | undefined): Secret | null {
  return text === undefined ? null : new Secret(text);
}

export function buildOutbox(
  checked: Checked["outbox"],
  { file, postgres }: Pick<Files, "file" | "postgres">,
): Config["outbox"] {
  const { path, url, tls: _, connections: __, ...bounds } = checked;
  if (url === undefined) return { ...bounds, path: fullPath(path, file), postgres: null };
  return { ...bounds, path: shownUrl(url), postgres, freeDisk: 0 };
}

/** Without what `delivery` has for it. */
type Built = Omit<Destination, "name" | keyof DeliveryPolicy>;

function buildDestination(checked: Checked["destinations"][string], tlses: readonly (WebhookTls | null)[]): Built {
  const { sources = null, types = null, events, where, sample, webhooks, sharedSecret = [], ...others } = checked;
  const { rate, burst, body, ...settings } = others;
  return {
    ...settings,
    filter: buildFilter({ events, where, sample }),
    sources,
    types,
    template: body === "default" ? null : (body.template ?? null),
    noticeTemplate: body === "default" ? null : (body.deletion ?? null),
    webhooks: webhooks.map(({ url, headers }, index) => ({
      url,
      headers: Object.entries(headers).map(([header, value]) => [header, new Secret(value)] as const),
      tls: tlses[index] ?? null,
    })),
    sharedSecrets: [sharedSecret].flat().map((secret) => new Secret(secret)),
    rate: buildRate({ rate, burst, webhooks }),
  };
}

type Rated = Pick<Checked["destinations"][string], "rate" | "burst" | "webhooks">;

/** The burst is what a second allows, unless set, and a request to each webhook at least. */
function buildRate({ rate, burst, webhooks }: Rated): RateLimit | null {
  if (rate === undefined) return null;
  const { count, per } = rate;
  return { requests: count, per, burst: burst ?? Math.max(webhooks.length, Math.floor((count * SECOND) / per)) };
}
