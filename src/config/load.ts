import {
  type Certificate,
  type Config,
  type DeliveryPolicy,
  type Destination,
  NOTICE_KINDS,
  type Notifier,
  notifyName,
  type Portion,
  type Postgres,
  type Problem,
  type RateLimit,
  type Source,
  type Tls,
  type WebhookTls,
} from "../model/config.ts";
import type { Disk, SpaceFor } from "../model/disk.ts";
import type { Resolve } from "../model/ports.ts";
import { Secret } from "../model/secret.ts";
import { type At, SECOND } from "../model/units.ts";
import { check } from "./check.ts";
import { crossCheck } from "./cross.ts";
import { buildFilter } from "./filter.ts";
import { warnOfFilters } from "./filter-warnings.ts";
import { hideSecrets, hideSecretsOfBroken } from "./hide.ts";
import { type ConfigFile, gather, readWhole, type Spot, type Whole } from "./include.ts";
import { readPostgres, shownUrl } from "./postgres.ts";
import { type Finding, toProblems } from "./problems.ts";
import { type Credentials, createReferences, fullPath, type Origin, type References } from "./references.ts";
import type { Checked } from "./schema.ts";
import { atOnce, type Steps } from "./steps.ts";
import { type Document, parse } from "./syntax.ts";
import { readTls, readTlsOfWebhooks, type TlsOfWebhooks } from "./tls.ts";
import type { Tree } from "./tree.ts";
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
  /** Whether every user can enter the folders of a file that it includes; false by default. */
  readonly isInOpenFolders?: (path: string) => boolean;
  /** Whether the outbox has another path as well; not checked if left out. */
  readonly aliasOf?: Disk["alias"];
};

export type Loaded = {
  /** Null if a problem is an error, or if a credential can only be seen by systemd's unit. */
  readonly config: Config | null;
  /** In the order of the file, and then of those that it includes. */
  readonly problems: readonly Problem[];
  /** The secret and certificate files that the config names, those that could not be read included. */
  readonly files: readonly string[];
  /** The config file and those that it includes. */
  readonly configFiles: readonly string[];
  /** The values of the files, secrets included; null if it cannot be read. */
  readonly tree: Tree | null;
  /** What the references in the values stand for, by the path of the value. */
  readonly origins: ReadonlyMap<string, readonly Origin[]>;
  /** The place of an offset in the text. */
  placeOf(at: number): Spot;
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
  return yield* loadWhole(yield* gather(document, input), input);
}

/** The same from a config whose files are parsed already. */
export function* loadWhole(whole: Whole, input: Omit<LoadInput, "text">): Steps<Loaded> {
  const { file, resolve, credentials = "at hand" } = input;
  const { files, findings: syntax, placeOf } = whole;
  const references = createReferences({ file, resolve, credentials });
  const origins = new Map<string, readonly Origin[]>();
  const isReadable = files[0]?.document.contents && syntax.length === 0;
  const { config, tree, findings } = isReadable
    ? yield* interpret(whole, { input, references, origins })
    : { config: null, tree: null, findings: syntax };
  const problems = yield* problemsIn(whole, findings);
  const configFiles = files.map(({ path }) => path);
  return { config, problems, files: references.files(), configFiles, tree, origins, placeOf };
}

/** Gives findings their places, with secrets hidden. */
export function* problemsIn(whole: Whole, findings: readonly Finding[]): Steps<readonly Problem[]> {
  // Hiding takes a walk over all files.
  if (findings.length === 0) return [];
  const { text, files, placeOf } = whole;
  const hide = whole.findings.length > 0 ? hideSecretsOfBroken : hideSecrets;
  const shownText = yield* hide(
    text,
    files.map(({ document }) => document),
  );
  return toProblems(findings, { shownText, placeOf });
}

type Context = {
  readonly input: Omit<LoadInput, "text">;
  readonly references: References;
  readonly origins: Map<string, readonly Origin[]>;
};
type Interpreted = { readonly config: Config | null; readonly tree: Tree; readonly findings: readonly Finding[] };

function* interpret(whole: Whole, { input, references, origins }: Context): Steps<Interpreted> {
  const { file, now, spaceFor = () => null, isFolder = () => false, aliasOf = () => null } = input;
  const found: Finding[] = [];
  const tree = yield* readWhole(whole, { references, findings: found, origins });
  const { checked, findings } = yield* check(tree);
  const certificates: Certificate[] = [];
  const pems = { references, now, findings: found, certificates };
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
  all.push(...checks.warnOfOpenSecrets(tree, { ...whole, open: openFiles(whole, input), origins }));
  const config = checked && build(checked, { file, tls, postgres, tlsOfWebhooks, certificates });
  all.push(...checks.warnOfSameWay(tree));
  if (config) all.push(...checks.warnOfUnspecified(tree, config), ...warnOfFilters(tree, config));
  if (config) all.push(...checks.warnOfLargePortions(tree, config), ...checks.warnOfSharedOrder(tree, config));
  if (config) all.push(...checks.warnOfSmallDisk(tree, config, spaceFor), ...checks.refuseAlias(tree, config, aliasOf));
  return { config, tree, findings: all };
}

/** The files of the config that every user of the machine can read. */
function openFiles({ files }: Whole, input: Omit<LoadInput, "text">): ReadonlySet<string> {
  const { file, isInOpenFolders = () => false } = input;
  const isOpen = ({ path, worldReadable }: ConfigFile): boolean =>
    path === file ? input.worldReadable === true : worldReadable && isInOpenFolders(path);
  return new Set(files.filter(isOpen).map(({ path }) => path));
}

/** The config file, and what is read with the help of its certificate files. */
type Files = {
  readonly file: string;
  readonly tls: Tls | null;
  readonly postgres: Postgres | null;
  readonly tlsOfWebhooks: TlsOfWebhooks;
  readonly certificates: readonly Certificate[];
};

/** Makes the Config out of checked values. */
function build(checked: Checked, { file, tls, postgres, tlsOfWebhooks, certificates }: Files): Config {
  const { ingest, admin, outbox, delivery, log, sources, destinations, notify = {} } = checked;
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
    sources: Object.entries(sources).map(([name, source]) => ({ name, ...buildSource(source, outbox.maxSize) })),
    destinations: Object.entries(destinations).map(([name, destination]) => {
      return { name, ...delivery, ...buildDestination(destination, tlsOfWebhooks.get(name) ?? []) };
    }),
    notify: Object.entries(notify).map(([entry, settings]) => {
      const name = notifyName(entry);
      return buildNotifier(entry, settings, { name, ...delivery, tlses: tlsOfWebhooks.get(name) ?? [] });
    }),
    certificates,
  };
}

function buildSource(checked: Checked["sources"][string], maxSize: number): Omit<Source, "name"> {
  const { writeKey, rate, burst, maxWaiting, ...source } = checked;
  return {
    ...source,
    writeKey: new Secret(writeKey),
    rate: buildRate({ rate, burst, least: 1 }),
    maxWaiting: buildPortion(maxWaiting, maxSize),
  };
}

function buildPortion(written: Checked["sources"][string]["maxWaiting"], whole: number): Portion | null {
  if (written === undefined) return null;
  return "share" in written
    ? { bytes: Math.floor(whole * written.share), share: written.share }
    : { ...written, share: null };
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
    // A request for each webhook, as they are asked together.
    rate: buildRate({ rate, burst, least: webhooks.length }),
  };
}

type NotifierAs = DeliveryPolicy & { readonly name: string; readonly tlses: readonly (WebhookTls | null)[] };

const AS_DESTINATION = { historical: "accept", order: "none" } as const;

/** It is sent to as a destination that no rule leads events to. */
function buildNotifier(
  entry: string,
  settings: NonNullable<Checked["notify"]>[string],
  { tlses, ...as }: NotifierAs,
): Notifier {
  const { on = NOTICE_KINDS, failingFor, repeat, perHour, url, headers, ca, cert, key, ...others } = settings;
  const webhooks = [{ url, headers, ca, cert, key }];
  const destination = {
    ...as,
    ...buildDestination({ ...others, ...AS_DESTINATION, webhooks }, tlses),
  };
  return { name: entry, on, failingFor, repeat, perHour, destination };
}

type Rated = Pick<Checked["destinations"][string], "rate" | "burst"> & { readonly least: number };

/** The burst is what a second allows, unless set, and so many at least. */
function buildRate({ rate, burst, least }: Rated): RateLimit | null {
  if (rate === undefined) return null;
  const { count, per } = rate;
  return { requests: count, per, burst: burst ?? Math.max(least, Math.floor((count * SECOND) / per)) };
}
