import type { CallType } from "./event.ts";
import type { Filter } from "./filter.ts";
import type { Secret } from "./secret.ts";
import type { Template } from "./template.ts";
import type { At, Ms } from "./units.ts";

/** Where to listen: a TCP address or a Unix socket. */
export type Listen =
  | {
      readonly kind: "tcp";
      readonly host: string;
      readonly port: number;
      /** Whether other processes of the same user may listen there as well. */
      readonly shared?: boolean;
    }
  | { readonly kind: "unix"; readonly path: string };

/** A certificate with its chain and its key, as PEM, and the files that they were read from. */
export type Tls = {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: Secret;
};

export const LOG_LEVELS = ["debug", "info", "warning", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_FORMATS = ["auto", "text", "json", "logfmt"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** The operator's settings, checked and complete: every default is filled in, every secret resolved. */
export type Config = {
  readonly ingest: {
    readonly listen: Listen;
    /** Whether several daemons of one machine listen on the same port. */
    readonly reusePort: boolean;
    /** Null: plain HTTP. */
    readonly tls: Tls | null;
    /** Networks whose X-Forwarded-For and similar headers are trusted, as CIDR. */
    readonly trustedProxies: readonly string[];
    /** The origins of pages that may send calls: `*`, `https://example.com` or `https://*.example.com`. */
    readonly corsOrigins: readonly string[];
    /** Most bytes of one call, and of one request (SPEC.md 8: 32 KB and 500 KB). */
    readonly maxCall: number;
    readonly maxBatch: number;
  };
  readonly admin: {
    readonly listen: Listen;
    /** Allows everything; null: so does a request without one. */
    readonly token: Secret | null;
    /** Allows to look, and nothing else; null: there is none. */
    readonly readToken: Secret | null;
    /** Whether the dashboard is served. */
    readonly dashboard: boolean;
  };
  readonly outbox: {
    /** Where it is, to be shown: the SQLite file, or the database's URL without its password. */
    readonly path: string;
    /** Null: `path` is a file. */
    readonly postgres: Postgres | null;
    /** Bytes of used pages, or of events in a database, at which ingestion answers 503. */
    readonly maxSize: number;
    /** Free bytes of its disk below which ingestion answers 503; 0: no bound, as of a database. */
    readonly freeDisk: number;
    readonly keepDelivered: Ms;
    readonly keepFailed: Ms;
  };
  /** What counts for destinations that say nothing else. Their own entries have it filled in. */
  readonly delivery: DeliveryPolicy;
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  readonly sources: readonly Source[];
  /** Who gets events. Those of `notify` are not among them: see `receiversOf`. */
  readonly destinations: readonly Destination[];
  /** The webhooks that get notifications about trouble. */
  readonly notify: readonly Notifier[];
  /** Our own certificates: the server's, and those that receivers require. */
  readonly certificates: readonly Certificate[];
};

/** An error or a warning in the config file, with its place. Lines and columns count from 1. */
export type Problem = {
  readonly severity: "error" | "warning";
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The key, as `destinations.crm.webhooks[0].url`; empty for the file itself. */
  readonly path: string;
  /** What was expected, what was found, and what to do. Never holds a secret's value. */
  readonly message: string;
  /** The line of the file, with its secrets hidden. */
  readonly text: string;
};

/** The kind of every destination. An `integrations` object may use it as the name of all of them (SPEC.md 1.4). */
export const DESTINATION_KIND = "Webhooks";

/** The source of the test calls that an operator sends, and their user. No source of a config can have this name. */
export const TEST_NAME = "fairlead:test";

/** The source of notifications. No source of a config can have this name. */
export const NOTIFY_SOURCE = "fairlead:notify";

const NOTIFY_PREFIX = "notify:";

/** The name of the destination that an entry of `notify` is. No destination of a config can have such a name. */
export function notifyName(entry: string): string {
  return NOTIFY_PREFIX + entry;
}

/** Whether a destination gets notifications, and no events. */
export function isNotifyName(destination: string): boolean {
  return destination.startsWith(NOTIFY_PREFIX);
}

/** All that is sent to: the destinations, and the webhooks of `notify`. */
export function receiversOf({ destinations, notify }: Pick<Config, "destinations" | "notify">): readonly Destination[] {
  return notify.length === 0 ? destinations : [...destinations, ...notify.map(({ destination }) => destination)];
}

/** How a destination is sent to. */
export type DeliveryPolicy = {
  /** How long a receiver may take to answer (SPEC.md 8: five seconds). */
  readonly timeout: Ms;
  /** How long after the first attempt a delivery is given up (SPEC.md 8: four hours). */
  readonly cutoff: Ms;
  /** Most attempts at once to one webhook. */
  readonly concurrency: number;
};

/** At most so many in each `per`; after a rest up to `burst` at once. Of a destination: requests, to all its webhooks together. */
export type RateLimit = { readonly requests: number; readonly per: Ms; readonly burst: number };

/** A receiver of events: one to five webhooks, of which any one has to accept (SPEC.md 2.1, 6). */
export type Destination = DeliveryPolicy & {
  readonly name: string;
  readonly enabled: boolean;
  /** The sources it takes events from; null means all. */
  readonly sources: readonly string[] | null;
  /** The calls it takes; null means all six. Delete notifications always go out. */
  readonly types: readonly CallType[] | null;
  /** Whether it takes events that were older than a day when they were received (SPEC.md 4.3 rule 5). */
  readonly historical: "accept" | "skip";
  /** What it takes by what an event says; null: everything. */
  readonly filter: Filter | null;
  /** What it gets of calls in place of the specification's body; null: that. */
  readonly template: Template | null;
  /** The same for delete notifications. */
  readonly noticeTemplate: Template | null;
  readonly webhooks: readonly Webhook[];
  /** The first signs; more than one while a secret is being replaced. Empty: requests are not signed. */
  readonly sharedSecrets: readonly Secret[];
  /** Whether requests also carry the headers of Standard Webhooks, which need a shared secret. */
  readonly standardWebhooks: boolean;
  /** Null: as fast as it takes them. */
  readonly rate: RateLimit | null;
  /** `user`: the deliveries of one user go out one after the other, in the order of acceptance. */
  readonly order: Order;
};

export type Order = "none" | "user";

/** One URL that receives POSTs, with the headers that every request to it carries. */
export type Webhook = {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: Secret])[];
  /** Null: the authorities that this machine trusts, and no certificate of our own. */
  readonly tls: WebhookTls | null;
};

/** The TLS settings of a webhook's connections, as PEM. Only requests with the same settings object share connections. */
export type WebhookTls = {
  /** The only trusted authorities; null: those that this machine trusts. */
  readonly ca: string | null;
  /** Our certificate with its chain, and its key: both or neither. */
  readonly cert: string | null;
  readonly key: Secret | null;
};

/**
 * A database of PostgreSQL. What is null is left to the variables that its other programs know: PGHOST, PGPASSFILE and their
 * like.
 */
export type Postgres = {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string | null;
  readonly port: number | null;
  readonly user: string | null;
  readonly password: Secret | null;
  readonly database: string | null;
  /** Settings of each session, as `-c search_path=fairlead`. */
  readonly options: string | null;
  readonly tls: PostgresTls | "off" | null;
  /** Most connections at once. */
  readonly connections: number;
};

/** `verify`: whether the server's certificate must be of an authority that is trusted, and of its name. */
export type PostgresTls = WebhookTls & { readonly verify: "full" | "authority" | "none" };

/** What is notified of. */
export const NOTICE_KINDS = [
  "destination_failing",
  "deliveries_given_up",
  "outbox_nearly_full",
  "config_refused",
  "certificate_expiring",
  "clock_wrong",
] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** A webhook that gets notifications about trouble. */
export type Notifier = {
  /** As in the config: `ops`. */
  readonly name: string;
  readonly on: readonly NoticeKind[];
  /** How long a destination must have failed. */
  readonly failingFor: Ms;
  /** How often lasting trouble is reported again. */
  readonly repeat: Ms;
  /** The most notifications in any hour. */
  readonly perHour: number;
  /** How it is sent to, under the name `notify:ops`. Its one webhook is that of the entry. */
  readonly destination: Destination;
};

/** A certificate of ours that somebody else checks. Times are by the wall clock. */
export type Certificate = {
  /** The key in the config that names its file. */
  readonly key: string;
  readonly file: string;
  readonly validFrom: At;
  readonly validTo: At;
};

/** A sender of calls: a website, an app, a server program. It is identified by its write key. */
export type Source = {
  readonly name: string;
  readonly writeKey: Secret;
  readonly enabled: boolean;
  /**
   * Whether calls come from the user's own device or from a server, which decides about address and user agent. `auto`:
   * decided for each call.
   */
  readonly type: SourceType;
  /** What happens to the IP address in a call's context. */
  readonly ip: IpPolicy;
  /** The most calls that are accepted; null: as fast as they come. */
  readonly rate: RateLimit | null;
  /** How much of it may wait; null: as much as the outbox takes. */
  readonly maxWaiting: Portion | null;
};

/** A part of the outbox in bytes, and the share of `outbox.maxSize` that it was written as, if it was. */
export type Portion = { readonly bytes: number; readonly share: number | null };

export const SOURCE_TYPES = ["auto", "web", "mobile", "server"] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

/** From the laxest to the strictest. `truncate` takes the last octet off an IPv4 address, and the last 80 bits off an IPv6 address. */
export const IP_POLICIES = ["keep", "truncate", "drop"] as const;
export type IpPolicy = (typeof IP_POLICIES)[number];

/** A URL without its query, which may hold a token. */
export function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, "");
}
