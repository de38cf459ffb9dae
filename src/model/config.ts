import type { Destination } from "./destination.ts";
import type { Secret } from "./secret.ts";
import type { Source } from "./source.ts";
import type { Ms } from "./units.ts";

/** Where to listen: a TCP address or a Unix socket. */
export type Listen =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
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
  readonly admin: { readonly listen: Listen; readonly token: Secret | null };
  readonly outbox: {
    readonly path: string;
    /** Bytes of used pages at which ingestion answers 503. */
    readonly maxSize: number;
    /** Free bytes of its disk below which ingestion answers 503; 0: no bound. */
    readonly freeDisk: number;
    readonly keepDelivered: Ms;
    readonly keepFailed: Ms;
  };
  readonly delivery: {
    /** How long a receiver may take to answer (SPEC.md 8: five seconds). */
    readonly timeout: Ms;
    /** How long after the first attempt a delivery is given up (SPEC.md 8: four hours). */
    readonly cutoff: Ms;
    /** Most attempts at once to one webhook. */
    readonly concurrency: number;
  };
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  readonly sources: readonly Source[];
  readonly destinations: readonly Destination[];
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
