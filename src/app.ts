/**
 * The whole daemon, put together: the only file that sees every part. What the machine gives comes in through `Ports`,
 * so that a test runs all of this with a false clock, false chance and a false network.
 */
import { createAccept } from "./accept/accept.ts";
import { createAdmin } from "./admin/api.ts";
import { createDeletion } from "./deletion/request.ts";
import { createDeliver, type Deliver } from "./deliver/deliver.ts";
import { createLanes } from "./deliver/lanes.ts";
import { createBodies } from "./http/body.ts";
import { createIngest } from "./ingest/api.ts";
import { createDoor, type Door } from "./ingest/door.ts";
import { createRejections } from "./ingest/rejections.ts";
import type { Config } from "./model/config.ts";
import type {
  Backlog,
  Clock,
  Handle,
  Listener,
  Post,
  Random,
  Report,
  Serve,
  Store,
  StoreHealth,
} from "./model/ports.ts";
import { createJanitor } from "./store/janitor.ts";
import { openStore } from "./store/sqlite/store.ts";

export type Ports = {
  readonly clock: Clock;
  readonly random: Random;
  readonly post: Post;
  readonly serve: Serve;
  readonly report: Report;
  readonly metrics: Metrics;
  /** Of this process. */
  readonly pid: number;
};

export type Metrics = {
  text(): Promise<string>;
  readonly contentType: string;
  /** Where the gauges get their values from, once the store is open. */
  expose(sources: { readonly backlog: Backlog; readonly health: StoreHealth }): void;
  /** The names that counters begin with at zero. */
  declare(names: { readonly sources: readonly string[]; readonly destinations: readonly string[] }): void;
};

export type Addresses = { readonly ingest: string; readonly admin: string };

export type App = {
  /** Resolves with the addresses once calls are taken and deliveries go out. Rejects when it cannot start. */
  start(): Promise<Addresses>;
  /** Works by another config from now on. Answers the keys that keep their old value until a restart. */
  reload(config: Config): Promise<readonly string[]>;
  /** Takes no new calls, finishes what runs, commits, and closes. May be called twice. */
  stop(): Promise<void>;
  /** Lets go of running attempts, so that a stop is over soon: they begin anew after the next start. */
  release(): void;
};

export function createApp(first: Config, ports: Ports): App {
  let config = first;
  let door = createDoor(config, doubted);
  let daemon: Promise<Daemon> | null = null;
  let stopped: Promise<void> | null = null;
  let release = (): void => {};

  function doubted(address: string): void {
    ports.report.daemon("untrusted_proxy", { address, hint: FORGOTTEN_PROXY });
  }

  return {
    async start() {
      daemon ??= startDaemon({ config: () => config, door: () => door }, ports);
      const { addresses, deliver } = await daemon;
      release = deliver.release;
      return addresses;
    },
    async reload(next) {
      const kept = restartKeys(config, next);
      config = withOldKeys(config, next);
      door = createDoor(config, doubted);
      (await daemon)?.serve(config);
      return kept;
    },
    stop() {
      // A daemon that could not start has cleaned up after itself.
      stopped ??= Promise.resolve(daemon).then(
        (running) => running?.stop(),
        () => {},
      );
      return stopped;
    },
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
  serve(config: Config): void;
  stop(): Promise<void>;
};

/** Bytes in at `ingest` → events through `accept` → rows in `store` → POSTs by `deliver` → rows again. */
async function startDaemon({ config, door }: Current, ports: Ports): Promise<Daemon> {
  const { clock, random, report, metrics, pid } = ports;
  const maxSize = (): number => config().outbox.maxSize;
  const crowded = (): void => janitor.wake();
  const moved = (): void => deliver.readAgain();
  const store = await openStore({ path: config().outbox.path, maxSize, crowded, moved, pid, clock, report });
  if (store.lastAt !== null) clock.notBefore(store.lastAt);
  metrics.expose(store);

  const lanes = createLanes(report);
  const deliver = createDeliver({ ...ports, ...store, lanes, delivery: () => config().delivery });
  const accept = createAccept({ config, append: store.append, offer: deliver.offer, report });
  const requestDeletion = createDeletion({ config, accept, clock, random, report });
  const bodies = createBodies(clock);
  let isStopping = false;
  const stopping = (): boolean => isStopping;
  const rejections = createRejections({ clock, report });
  const ingest = createIngest({ clock, random, door, stopping, bodies, accept, rejections, report });
  const { health } = store;
  const known = { clock, bodies, health, metrics, requestDeletion, rejections, report };
  const admin = createAdmin({ admin: () => config().admin, ...known });

  const closing = new AbortController();
  const janitor = createJanitor({ ...store, outbox: () => config().outbox, clock, report });
  const cleaning = janitor.run(closing.signal);
  const listeners = await listen(ports.serve, config(), { ingest, admin }).catch(closeAll);
  serve(config());
  deliver.start();
  return { addresses: { ingest: listeners.ingest.address, admin: listeners.admin.address }, deliver, serve, stop };

  function serve(next: Config): void {
    metrics.declare({ sources: next.sources.map(nameOf), destinations: next.destinations.map(nameOf) });
    deliver.serve(next.destinations);
    tellUnserved(next, store, report);
  }

  /** The operator's listener stays until the end: what the daemon does while it stops can be watched. */
  async function stop(): Promise<void> {
    isStopping = true;
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

type Handles = { readonly ingest: Handle; readonly admin: Handle };
type Listeners = { readonly ingest: Listener; readonly admin: Listener };

async function listen(serve: Serve, { ingest, admin }: Config, handles: Handles): Promise<Listeners> {
  const first = await serve(admin.listen, handles.admin);
  try {
    return { admin: first, ingest: await serve(ingest.listen, handles.ingest) };
  } catch (error) {
    await first.stop();
    throw error;
  }
}

/** What waits for a destination that is gone or disabled stays, and the operator should know. */
function tellUnserved(config: Config, { backlog }: Store, report: Report): void {
  const served = new Set(config.destinations.filter((destination) => destination.enabled).map(nameOf));
  for (const { destination, state, count } of backlog.counts()) {
    if (state !== "waiting" || count === 0 || served.has(destination)) continue;
    report.daemon("unserved", { destination, waiting: count });
  }
}

/** The keys that a running daemon cannot change. */
function restartKeys(old: Config, next: Config): readonly string[] {
  const keys: Readonly<Record<string, (config: Config) => unknown>> = {
    "ingest.listen": (config) => config.ingest.listen,
    "admin.listen": (config) => config.admin.listen,
    "outbox.path": (config) => config.outbox.path,
  };
  return Object.keys(keys).filter((key) => JSON.stringify(keys[key]?.(old)) !== JSON.stringify(keys[key]?.(next)));
}

/** While the operator's listener stays where it was, so does the rule of who may talk to it. */
function withOldKeys(old: Config, next: Config): Config {
  const sameAdmin = JSON.stringify(old.admin.listen) === JSON.stringify(next.admin.listen);
  return {
    ...next,
    ingest: { ...next.ingest, listen: old.ingest.listen },
    admin: sameAdmin ? next.admin : old.admin,
    outbox: { ...next.outbox, path: old.outbox.path },
  };
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
