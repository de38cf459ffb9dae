/**
 * The whole daemon, put together: the only file that sees every part. What the machine gives comes in through `Ports`,
 * so that a test runs all of this with a false clock, false chance and a false network.
 */
import { createAccept } from "./accept/accept.ts";
import { createArrivals } from "./accept/arrivals.ts";
import { createAdmin } from "./admin/api.ts";
import { describeChanges } from "./config/changes.ts";
import { keysForRestart, withFixedKeys } from "./config/restart.ts";
import { createDeletion } from "./deletion/request.ts";
import { createActivity } from "./deliver/activity.ts";
import { createDeliver, type Deliver } from "./deliver/deliver.ts";
import { createLanes } from "./deliver/lanes.ts";
import { tellPaused } from "./deliver/paused.ts";
import { tellUnserved } from "./deliver/unserved.ts";
import { createBodies } from "./http/body.ts";
import { type Handles, openListeners } from "./http/listeners.ts";
import { createIngest } from "./ingest/api.ts";
import { createDoor, type Door } from "./ingest/door.ts";
import { createRejections } from "./ingest/rejections.ts";
import type { Config } from "./model/config.ts";
import type { Clock, Post, Random, Serve, Store } from "./model/ports.ts";
import type { Applied, Reload } from "./model/reload.ts";
import type { Report } from "./model/report.ts";
import type { Bounds, Disk } from "./model/space.ts";
import type { ConfigStatus } from "./model/status.ts";
import type { Migrating, Vitals } from "./model/supervisor.ts";
import { createJanitor, type Janitor } from "./store/janitor.ts";
import { openStore } from "./store/sqlite/store.ts";

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
  /** Hears how an outbox of an older version is brought up to date, during the start. */
  readonly migrating?: Migrating;
  /** What this program is. */
  readonly version: string;
  /** Of this process. */
  readonly pid: number;
};

export type Metrics = {
  text(): Promise<string>;
  readonly contentType: string;
  /** Where the gauges get their values from, once the store is open. */
  expose(sources: Pick<Store, "backlog" | "halts" | "health">): void;
  /** The names that counters begin with at zero, and which destinations are delivered to. */
  declare(names: ReturnType<typeof namesOf>): void;
};

export type Addresses = { readonly ingest: string; readonly admin: string };

export type App = {
  /** Resolves with the addresses once calls are taken and deliveries go out. Rejects when it cannot start. */
  start(): Promise<Addresses>;
  /**
   * Works by another config from now on, and answers what that changes. Builds all that it needs first: when it rejects,
   * nothing has changed. One at a time (`config/reloader.ts`).
   */
  reload(config: Config): Promise<Applied>;
  /** Takes no new calls, finishes what runs, commits, and closes. May be called twice. */
  stop(): Promise<void>;
  /** Whether all that has to go round does so, while it runs. */
  vitals(): Vitals;
  /** Lets go of running attempts, so that a stop is over soon: they begin anew after the next start. */
  release(): void;
};

export function createApp(first: Config, ports: Ports): App {
  let config = first;
  let door = createDoor(config, doubted);
  let daemon: Promise<Daemon> | null = null;
  let stopped: Promise<void> | null = null;
  let release = (): void => {};
  let vitals = (): Vitals => ({ store: Promise.resolve(true), stuckLoops: [] });

  function doubted(address: string): void {
    ports.report.daemon("untrusted_proxy", { address, hint: FORGOTTEN_PROXY });
  }

  return {
    async start() {
      daemon ??= startDaemon({ config: () => config, door: () => door }, ports);
      const running = await daemon;
      ({ vitals } = running);
      release = running.deliver.release;
      return running.addresses;
    },
    async reload(next) {
      const wanted = withFixedKeys(config, next);
      const nextDoor = createDoor(wanted, doubted);
      const running = await daemon;
      await running?.renew(wanted);
      const applied = { changes: describeChanges(config, wanted), needsRestart: keysForRestart(config, next) };
      config = wanted;
      door = nextDoor;
      running?.serve(config);
      return applied;
    },
    stop() {
      // A daemon that could not start has cleaned up after itself.
      stopped ??= Promise.resolve(daemon).then(
        (running) => running?.stop(),
        () => {},
      );
      return stopped;
    },
    vitals: () => vitals(),
    release: () => release(),
  };
}

const FORGOTTEN_PROXY =
  "it sends X-Forwarded-For, which is not believed: if it is your proxy, list it in ingest.trustedProxies, " +
  "or all calls of pages and apps have its address";

type Current = { readonly config: () => Config; readonly door: () => Door };

type Daemon = {
  readonly addresses: Addresses;
  readonly deliver: Deliver;
  readonly vitals: App["vitals"];
  /** Does what can fail before another config counts. */
  renew(next: Config): Promise<void>;
  serve(config: Config): void;
  stop(): Promise<void>;
};

type World = Current & Ports & { readonly leaving: AbortSignal };

type Parts = { readonly deliver: Deliver; readonly janitor: Janitor; readonly handles: Handles };

/** Bytes in at `ingest` → events through `accept` → rows in `store` → POSTs by `deliver` → rows again. */
async function startDaemon(current: Current, ports: Ports): Promise<Daemon> {
  const leaving = new AbortController();
  const world: World = { ...current, ...ports, leaving: leaving.signal };
  let parts: Parts | null = null;
  const store = await openOutbox(world, () => parts);
  parts = wire(store, world);
  const { deliver, janitor, handles } = parts;
  const closing = new AbortController();
  const cleaning = janitor.run(closing.signal);
  const listeners = await openListeners(ports.serve, current.config(), handles).catch(closeAll);
  serve(current.config());
  deliver.start();
  const addresses = { ingest: listeners.ingest.address, admin: listeners.admin.address };
  const vitals = (): Vitals => ({ store: store.health.responds(), stuckLoops: deliver.knock() });
  return { addresses, deliver, vitals, renew: listeners.renew, serve, stop };

  function serve(next: Config): void {
    ports.metrics.declare(namesOf(next));
    deliver.serve(next.destinations);
    tellUnserved(next.destinations, store.backlog, ports.report);
    tellPaused(next.destinations, { ...ports, ...store, pauses: deliver.pauses });
  }

  /** The operator's listener stays until the end: what the daemon does while it stops can be watched. */
  async function stop(): Promise<void> {
    leaving.abort();
    await listeners.ingest.stop();
    await deliver.stop();
    closing.abort();
    await cleaning;
    await listeners.admin.stop();
    await store.close();
  }

  async function closeAll(error: unknown): Promise<never> {
    closing.abort();
    await cleaning;
    await store.close();
    throw error;
  }
}

/** `parts` are there before anything is written; null until then. */
async function openOutbox(world: World, parts: () => Parts | null): Promise<Store> {
  const { config, metrics, clock } = world;
  const bounds = (): Bounds => config().outbox;
  const crowded = (): void => parts()?.janitor.wake();
  const moved = (): void => parts()?.deliver.readAgain();
  const withdrawn: Deliver["withdraw"] = (deliveries) => parts()?.deliver.withdraw(deliveries);
  const store = await openStore({ ...world, path: config().outbox.path, bounds, crowded, moved, withdrawn });
  if (store.lastAt !== null) clock.notBefore(store.lastAt);
  metrics.expose(store);
  return store;
}

/** Gives each part what it asks for. */
function wire(store: Store, world: World): Parts {
  const { config, door, clock, random, report, leaving } = world;
  const activity = createActivity(clock);
  const arrivals = createArrivals(clock);
  const lanes = createLanes(report);
  const deliver = createDeliver({ ...world, ...store, lanes, activity, delivery: () => config().delivery });
  const accept = createAccept({ config, append: store.append, offer: deliver.offer, arrivals, report });
  const rejections = createRejections({ clock, report });
  const bodies = createBodies(clock);
  const stopping = (): boolean => leaving.aborted;
  const ingest = createIngest({ clock, random, door, stopping, bodies, accept, rejections, report });
  const requestDeletion = createDeletion({ config, accept, clock, random, report });
  const { whileIdle, pauses } = deliver;
  const parts = {
    admin: () => config().admin,
    outbox: () => config().outbox,
    sources: () => config().sources,
    destinations: () => config().destinations,
    startedAt: clock.wall(),
    ...{ whileIdle, pauses, activity, arrivals, rejections, requestDeletion },
  };
  // With bodies of its own: whatever comes in at the other door, the operator can get in.
  const admin = createAdmin({ ...world, ...store, ...parts, bodies: createBodies(clock) });
  const janitor = createJanitor({ ...store, outbox: () => config().outbox, clock, report });
  return { deliver, janitor, handles: { ingest, admin } };
}

function namesOf({ sources, destinations }: Config) {
  const served = destinations.filter(({ enabled }) => enabled);
  return { sources: sources.map(nameOf), destinations: destinations.map(nameOf), served: served.map(nameOf) };
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
