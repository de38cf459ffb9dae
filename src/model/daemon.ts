import { type Config, type Problem, receiversOf } from "./config.ts";
import type { BeginFile, BeginScratch, Disk } from "./disk.ts";
import type { Clock, OpenStore, Post, Random, Serve, Store } from "./ports.ts";
import type { Report } from "./report.ts";
import type { ConfigStatus, HoldReason, WebhookHealth } from "./status.ts";
import type { Ms } from "./units.ts";

/** The daemon as a whole: what it needs from the machine, and what can be done with it (app.ts). */

export type Ports = {
  readonly clock: Clock;
  readonly random: Random;
  readonly post: Post;
  readonly serve: Serve;
  readonly disk: Disk;
  readonly report: Report;
  readonly metrics: Metrics;
  /** Reads the config again and calls `App.reload`. */
  readonly reload: Reload;
  readonly lastReload: () => ConfigStatus;
  /** The config in force as YAML, without secrets. */
  readonly configText: () => Promise<string>;
  /** The storage engine. Default: that of the config. */
  readonly openStore?: OpenStore;
  /** Called before each step of a migration, during the start. */
  readonly migrating?: Migrating;
  /** Writes the copy that is kept before the first migration step. If left out, no copy is kept. */
  readonly beginFile?: BeginFile | undefined;
  /** Creates the file for a copy that an operator downloads. If left out, downloads are refused. */
  readonly beginScratch?: BeginScratch | undefined;
  /** Frees unused memory. Called before a large body is read, so that the previous ones do not add up. */
  readonly freeMemory?: () => void;
  readonly version: string;
  /** The id of this process, and the name of its machine. */
  readonly pid: number;
  readonly host?: string;
};

export type Metrics = {
  text(): Promise<string>;
  readonly contentType: string;
  /** Gives the gauges their store, once it is open. */
  expose(sources: Pick<Store, "backlog" | "clocks" | "health" | "members" | "sharing" | "timeline">): void;
  /** Gives the gauges of webhooks their values, for destinations that receive deliveries. */
  watch(read: () => readonly WatchedWebhooks[]): void;
  /** Starts counters of configured names at zero, and sets which destinations receive deliveries. */
  declare(names: Names): void;
};

export type Addresses = { readonly ingest: string; readonly admin: string };

export type App = {
  /** Resolves with the addresses once it accepts calls and sends deliveries. Rejects when it cannot start. */
  start(): Promise<Addresses>;
  /**
   * Switches to another config and answers what that changes. Everything it needs is built first: when it rejects, nothing
   * has changed. One reload at a time (`config/reload.ts`).
   */
  reload(config: Config): Promise<Applied>;
  /** Refuses new calls, finishes running work, commits, and closes. May be called twice. */
  stop(): Promise<void>;
  /** Whether the store and all loops still respond. */
  vitals(): Vitals;
  /** Abandons running attempts so that a stop is quick. They are made again after the next start. */
  release(): void;
};

export type WatchedWebhooks = {
  readonly destination: string;
  readonly webhooks: readonly WebhookHealth[];
  /** How many of its deliveries are held back. */
  readonly heldBack: Readonly<Record<HoldReason, number>>;
};

/** The names whose counters start at zero. */
export type Names = {
  readonly sources: readonly string[];
  readonly destinations: readonly string[];
  /** The URLs of each destination, in the order of the config. */
  readonly webhooks: ReadonlyMap<string, readonly string[]>;
  /** Destinations that receive deliveries. */
  readonly served: readonly string[];
};

export function namesOf(config: Config): Names {
  const { sources } = config;
  const destinations = receiversOf(config);
  const served = destinations.filter(({ enabled }) => enabled).map(nameOf);
  const webhooks = new Map(destinations.map(({ name, webhooks }) => [name, webhooks.map(({ url }) => url)]));
  return { sources: sources.map(nameOf), destinations: destinations.map(nameOf), webhooks, served };
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

/** The service manager that started the daemon, such as systemd, and the messages it gets. */

/** Does nothing without a service manager. Never throws. */
export type Supervisor = {
  /** The daemon accepts calls, or has reloaded its config. `status` is one line for people. */
  ready(status: string): void;
  /** A reload has begun. It ends with `ready`. */
  reloading(): void;
  /** The daemon accepts no more calls. */
  stopping(): void;
  /** The start needs at most this much longer and has not failed. */
  extend(by: Ms, status: string): void;
  /** All loops respond. */
  alive(): void;
  /** The longest time between two `alive` before the daemon is killed; null if there is no limit. */
  readonly patience: Ms | null;
};

/** What must respond in a healthy daemon. */
export type Vitals = {
  /** Whether the store answers; it may never resolve. */
  readonly store: Promise<boolean>;
  /** Destinations whose loop has made no round since the last call. */
  readonly stuckLoops: readonly string[];
};

/** Called before each migration step of the outbox. */
export type Migrating = (now: MigrationStep) => void;

export type MigrationStep = {
  readonly step: number;
  readonly of: number;
  /** The size of the outbox's file. */
  readonly bytes: number;
  /** The path of the copy that is being written before this step. */
  readonly copy?: string;
};

/** Reads the config again, and applies it if it has no errors. Never rejects. */
export type Reload = () => Promise<Reloaded>;

/** The result of a reload. All or nothing: a refused config changes nothing. */
export type Reloaded =
  | {
      readonly kind: "reloaded";
      /** The changes, in words and without secrets. Empty if nothing changed. */
      readonly changes: readonly string[];
      /** The keys that keep their old value until a restart. */
      readonly needsRestart: readonly string[];
      /** Warnings only. */
      readonly problems: readonly Problem[];
    }
  | Refused;

export type Refused = {
  readonly kind: "refused";
  readonly reason: string;
  /** All problems, if the file could be read. */
  readonly problems: readonly Problem[];
  /** Whether to retry later even if no file changes. */
  readonly again?: boolean;
};

/** How a running daemon applied another config. */
export type Applied = Pick<Extract<Reloaded, { kind: "reloaded" }>, "changes" | "needsRestart">;

/**
 * Identifies a state of a file: which file the path leads to, and when it was changed. A missing or unreadable file has a
 * state too.
 */
export type FileState = string;

/** Looks at the file behind a path, without reading it. Never rejects. */
export type Look = (path: string) => Promise<FileState>;
