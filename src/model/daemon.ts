/** The daemon as a whole: what it needs from the machine, and what can be done with it (app.ts). */
import type { Config } from "./config.ts";
import type { BeginFile, BeginScratch } from "./new-file.ts";
import type { Clock, OpenStore, Post, Random, Serve, Store } from "./ports.ts";
import type { Applied, Reload } from "./reload.ts";
import type { Report } from "./report.ts";
import type { Disk } from "./space.ts";
import type { ConfigStatus, WebhookHealth } from "./status.ts";
import type { Migrating, Vitals } from "./supervisor.ts";

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
  /** The storage engine. Default: SQLite. */
  readonly openStore?: OpenStore;
  /** Called before each step of a migration, during the start. */
  readonly migrating?: Migrating;
  /** Writes the copy that is kept before a large migration step. If left out, no copy is kept. */
  readonly beginFile?: BeginFile | undefined;
  /** Creates the file for a copy that an operator downloads. If left out, downloads are refused. */
  readonly beginScratch?: BeginScratch | undefined;
  /** Frees unused memory. Called before a large body is read, so that the previous ones do not add up. */
  readonly freeMemory?: () => void;
  readonly version: string;
  /** The id of this process. */
  readonly pid: number;
};

export type Metrics = {
  text(): Promise<string>;
  readonly contentType: string;
  /** Gives the gauges their store, once it is open. */
  expose(sources: Pick<Store, "backlog" | "clocks" | "health" | "members" | "timeline">): void;
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

export type WatchedWebhooks = { readonly destination: string; readonly webhooks: readonly WebhookHealth[] };

/** The names whose counters start at zero. */
export type Names = {
  readonly sources: readonly string[];
  readonly destinations: readonly string[];
  /** The URLs of each destination, in the order of the config. */
  readonly webhooks: ReadonlyMap<string, readonly string[]>;
  /** Destinations that receive deliveries. */
  readonly served: readonly string[];
};
