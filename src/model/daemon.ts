/** The daemon as a whole: what it needs of the machine, and what can be done with it (app.ts). */
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
  /** Reads the config anew, and ends in `App.reload`. */
  readonly reload: Reload;
  readonly lastReload: () => ConfigStatus;
  /** The engine of the store. Left out, SQLite. */
  readonly openStore?: OpenStore;
  /** Hears how an outbox of an older version is brought up to date, during the start. */
  readonly migrating?: Migrating;
  /** Writes the copy of the outbox that is kept before a large step of that. Left out, none is kept. */
  readonly beginFile?: BeginFile | undefined;
  /** Where a copy is made that the operator gets through the daemon. Left out, none is. */
  readonly beginScratch?: BeginScratch | undefined;
  /** Gives back what is not used any more: before a large body is read, so that those before it do not add up. */
  readonly freeMemory?: () => void;
  /** What this program is. */
  readonly version: string;
  /** Of this process. */
  readonly pid: number;
};

export type Metrics = {
  text(): Promise<string>;
  readonly contentType: string;
  /** Where the gauges get their values from, once the store is open. */
  expose(sources: Pick<Store, "backlog" | "clocks" | "health" | "members" | "timeline">): void;
  /** Where the gauges of webhooks get their values from: those of the destinations that are delivered to. */
  watch(read: () => readonly WatchedWebhooks[]): void;
  /** The names that counters begin with at zero, and which destinations are delivered to. */
  declare(names: Names): void;
};

export type Addresses = { readonly ingest: string; readonly admin: string };

export type App = {
  /** Resolves with the addresses once calls are taken and deliveries go out. Rejects when it cannot start. */
  start(): Promise<Addresses>;
  /**
   * Works by another config from now on, and answers what that changes. Builds all that it needs first: when it rejects,
   * nothing has changed. One at a time (`config/reload.ts`).
   */
  reload(config: Config): Promise<Applied>;
  /** Takes no new calls, finishes what runs, commits, and closes. May be called twice. */
  stop(): Promise<void>;
  /** Whether all that has to go round does so, while it runs. */
  vitals(): Vitals;
  /** Lets go of running attempts, so that a stop is over soon: they begin anew after the next start. */
  release(): void;
};

export type WatchedWebhooks = { readonly destination: string; readonly webhooks: readonly WebhookHealth[] };

/** What counters begin with. */
export type Names = {
  readonly sources: readonly string[];
  readonly destinations: readonly string[];
  /** The URLs of each destination, in the order of the config. */
  readonly webhooks: ReadonlyMap<string, readonly string[]>;
  /** The destinations that are delivered to. */
  readonly served: readonly string[];
};
