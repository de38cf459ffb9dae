import type { Postgres, PostgresTls, WebhookTls } from "../model/config.ts";
import { Secret } from "../model/secret.ts";
import { isLocal } from "./addresses.ts";
import { errorAt, type Finding, keyPlace, warningAt } from "./problems.ts";
import type { TextRule } from "./text-rules.ts";
import { readClientTls, type TlsReading } from "./tls.ts";
import { BROKEN, child, type Tree, textOf, withGot } from "./tree.ts";

/** What `outbox.url` says. */
type ParsedUrl = Pick<Postgres, "host" | "port" | "user" | "password" | "database" | "options"> & {
  readonly sslmode: SslMode | null;
};

/** Those of libpq that do not fall back to a connection without TLS. */
const SSL_MODES = ["disable", "require", "verify-ca", "verify-full"] as const;
type SslMode = (typeof SSL_MODES)[number];

const URL_START = "must start with postgres:// or postgresql://";
const URL_EXAMPLE = "postgres://fairlead@db.example.com/fairlead?sslmode=verify-full";

/** The password goes up to the last @: that of a file may hold anything. */
const URL_PARTS =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^:]*?)(?::(?<password>.*))?@)?(?<host>\[[^\]@]*\]|[^:/?#@[\]]*)(?::(?<port>\d*))?(?:\/(?<database>[^/?#@]*))?(?:\?(?<query>[^#@]*))?$/is;

/** The URL of a database, as libpq knows it. */
export const POSTGRES_URL: TextRule = {
  pattern: /^[Pp][Oo][Ss][Tt][Gg][Rr][Ee][Ss]([Qq][Ll])?:\/\//,
  must: URL_START,
  form: "URL",
  fault(text) {
    const parsed = parseUrl(text);
    return typeof parsed === "string" ? parsed : null;
  },
};

/** Answers what is wrong as text, without any of the password. */
export function parseUrl(text: string): ParsedUrl | string {
  if (!/^postgres(ql)?:\/\//i.test(text)) return URL_START;
  if (/\p{Cc}/u.test(text)) return "must not contain line breaks or other control characters";
  const { groups } = URL_PARTS.exec(text) ?? {};
  if (!groups) return `must be a URL of PostgreSQL, as in ${URL_EXAMPLE}`;
  const decoded = Object.values(groups).every((part) => part === undefined || decode(part) !== null);
  if (!decoded) return "has a % that encodes nothing: write %25 for the character itself";
  const query = new URLSearchParams(groups.query ?? "");
  const unknown = [...query.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) {
    return `has the parameter ${unknown.slice(0, 40)}, which is not supported: known are ${PARAMETERS.join(", ")}`;
  }
  const part = (name: string) => decode(groups[name] ?? "") || null;
  const host = query.get("host") || part("host")?.replace(/^\[|\]$/g, "") || null;
  const port = query.get("port") || groups.port || null;
  if (host?.includes(",")) return "names several hosts: name the one that takes writes, or a proxy before them";
  if (port !== null && !isPort(port)) return "must have a port from 1 to 65535";
  const sslmode = query.get("sslmode");
  if (sslmode !== null && !isSslMode(sslmode))
    return `must have an sslmode of ${SSL_MODES.join(", ")}${WHY_NOT_PREFER}`;
  const password = part("password");
  return {
    host,
    port: port === null ? null : Number(port),
    user: part("user"),
    password: password === null ? null : new Secret(password),
    database: part("database"),
    options: query.get("options") || null,
    sslmode,
  };
}

const PARAMETERS = ["host", "port", "sslmode", "options"];
const WHY_NOT_PREFER = ": the others may go on without TLS";

function isSslMode(mode: string): mode is SslMode {
  return (SSL_MODES as readonly string[]).includes(mode);
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Whether a URL has a password in it, so that it is a secret. */
export function hasPassword(text: string): boolean {
  return /:\/\/[^:@]*:.*@/s.test(text);
}

/** The URL as it may be shown: without its password. */
export function shownUrl(text: string): string {
  return text.replace(/^([a-z]+:\/\/[^:@]*):.*@/is, "$1@");
}

/** Reads the database that `outbox.url` names, and what belongs to it. Null without that key, or if it cannot be used. */
export function readPostgres(root: Tree, reading: TlsReading): Postgres | null {
  const outbox = child(root, "outbox");
  const url = child(outbox, "url");
  reading.findings.push(...(url ? keysOfFile(outbox) : keysOfDatabase(outbox)));
  const section = child(outbox, "tls");
  const files = section?.value instanceof Map ? readClientTls(section, { ...reading, ...REFUSING }) : null;
  const parsed = parseUrl(textOf(url) ?? "");
  if (!url || url.value === BROKEN || typeof parsed === "string") return null;
  const { sslmode, ...address } = parsed;
  reading.findings.push(...misfits({ url, section, parsed, files }));
  const connections = child(outbox, "connections")?.value;
  return {
    ...address,
    tls: tlsOf(parsed, files),
    connections: typeof connections === "number" ? connections : CONNECTIONS,
  };
}

/** A database by a URL alone. `concern`: what others on the network could do with the connection; null if nothing. */
export type PostgresAt = { readonly postgres: Postgres; readonly concern: string | null };

/** Answers what is wrong with the URL as text, without any of the password. */
export function postgresAt(text: string): PostgresAt | string {
  const parsed = parseUrl(text);
  if (typeof parsed === "string") return parsed;
  const { sslmode, ...address } = parsed;
  if (sslmode === "verify-ca" && !isSocket(address.host)) return NEEDS_CA;
  const postgres = { ...address, tls: tlsOf(parsed, null), connections: CONNECTIONS };
  return { postgres, concern: concernOf(parsed, { hasAuthority: false, hasFiles: false }) };
}

/** Most connections by default. */
export const CONNECTIONS = 10;

const REFUSING = { refusers: "servers", owner: "outbox.tls" };

/** The keys beside `outbox.url` that are about a file. */
function keysOfFile(outbox: Tree | undefined): readonly Finding[] {
  const [path, freeDisk] = ["path", "freeDisk"].map((name) => child(outbox, name));
  const found: Finding[] = [];
  if (path)
    found.push(errorAt(keyPlace(path), "names a file beside outbox.url: remove the one that is not the outbox"));
  if (freeDisk) found.push(errorAt(keyPlace(freeDisk), NO_DISK));
  return found;
}

const NO_DISK = "is about the disk of outbox.path, and that of outbox.url cannot be seen from here: remove this key";

/** The keys that are about a database, where there is none. */
function keysOfDatabase(outbox: Tree | undefined): readonly Finding[] {
  const trees = ["tls", "connections"].flatMap((name) => child(outbox, name) ?? []);
  return trees.map((tree) => errorAt(keyPlace(tree), "is for a database: add outbox.url, or remove this key"));
}

type Written = {
  readonly url: Tree;
  readonly section: Tree | undefined;
  readonly parsed: ParsedUrl;
  readonly files: WebhookTls | null;
};

/** TLS settings that cannot be together, and a connection that others can read. */
function misfits({ url, section, parsed: { host, sslmode }, files }: Written): readonly Finding[] {
  if (section && isSocket(host)) return [errorAt(keyPlace(section), "is for TCP, and outbox.url names a Unix socket")];
  if (section && sslmode === "disable") {
    return [errorAt(keyPlace(section), "contradicts sslmode=disable in outbox.url: remove one of them")];
  }
  const hasAuthority = child(section, "ca") !== undefined;
  if (sslmode === "verify-ca" && !hasAuthority && !isSocket(host)) return [errorAt(url, withGot(NEEDS_CA, url))];
  const concern = concernOf({ host, sslmode }, { hasAuthority, hasFiles: files !== null });
  return concern === null ? [] : [warningAt(url, withGot(concern, url))];
}

type Known = { readonly hasAuthority: boolean; readonly hasFiles: boolean };

/** What others on the network could do with the connection; null if nothing. */
function concernOf({ host, sslmode }: Pick<ParsedUrl, "host" | "sslmode">, known: Known): string | null {
  const isNear = host === null || isSocket(host) || isLocal({ kind: "tcp", host, port: 1 });
  if (isNear || sslmode === "disable") return null;
  if (sslmode === "require" && !known.hasAuthority) return UNCHECKED;
  return sslmode === null && !known.hasFiles ? IN_THE_OPEN : null;
}

const NEEDS_CA =
  "has sslmode=verify-ca, which needs outbox.tls.ca: add it, or write verify-full for a public authority";
const UNCHECKED = "has sslmode=require, with which any server is trusted: write verify-full, or add outbox.tls.ca";
const IN_THE_OPEN =
  "does not ask for TLS, so that the network may read all events: add ?sslmode=verify-full, or disable if that is meant";

function isSocket(host: string | null): boolean {
  return host?.startsWith("/") ?? false;
}

/** As libpq: `require` checks the authority if there is one. Nothing of this counts for a Unix socket. */
function tlsOf({ host, sslmode }: ParsedUrl, files: WebhookTls | null): PostgresTls | "off" | null {
  if (sslmode === "disable" || isSocket(host)) return "off";
  if (sslmode === null && files === null) return null;
  const { ca, cert, key } = files ?? { ca: null, cert: null, key: null };
  const required = ca === null ? "none" : "authority";
  const verify = { require: required, "verify-ca": "authority", "verify-full": "full" } as const;
  return { verify: verify[sslmode ?? "verify-full"], ca, cert, key };
}
