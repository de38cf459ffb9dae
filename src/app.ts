/**
 * The whole daemon, put together: the only file that sees every part. What the machine gives comes in through `Ports`,
 * so that a test runs all of this with a false clock, false chance and a false network.
 */
import { createAccept } from "./accept/accept.ts";
import { createArrivals } from "./accept/arrivals.ts";
import { createAdmin } from "./admin/api.ts";
import { createAudiences, refuseSource } from "./audience/audiences.ts";
import { createSyncWorker, type Worker as SyncWorker } from "./audience/worker.ts";
import { describeChanges, keysForRestart, withFixedKeys } from "./config/changes.ts";
import { createRequestDeletion } from "./deletion/request.ts";
import { createDeletionWorker, type Worker as DeletionWorker } from "./deletion/worker.ts";
import { createDeliver, type Deliver } from "./deliver/deliver.ts";
import { createActivity, createHealth } from "./deliver/health.ts";
import { createLanes } from "./deliver/lanes.ts";
import { createBodies } from "./http/body.ts";
import { type Handles, openListeners } from "./http/listeners.ts";
import { createStreams } from "./http/stream.ts";
import { createIngest } from "./ingest/api.ts";
import { createDoor, type Door } from "./ingest/door.ts";
import { createRejections } from "./ingest/rejections.ts";
import type { Config } from "./model/config.ts";
import type { Addresses, App, Names, Ports } from "./model/daemon.ts";
import type { DeliveryKey } from "./model/delivery.ts";
import type { Fault } from "./model/fault.ts";
import { never } from "./model/never.ts";
import type { Store, StoreChange } from "./model/ports.ts";
import type { Report } from "./model/report.ts";
import type { Vitals } from "./model/supervisor.ts";
import { createJanitor, type Janitor } from "./store/janitor.ts";
import { openStore } from "./store/sqlite/store.ts";

export type { Addresses, App, Metrics, Ports } from "./model/daemon.ts";

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
      await running?.serve(config);
      for (const { name } of config.destinations) running?.deliver.tryNow(name);
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
  serve(config: Config): Promise<void>;
  stop(): Promise<void>;
};

type World = Current & Ports & { readonly leaving: AbortSignal };

type Parts = {
  readonly deliver: Deliver;
  readonly janitor: Janitor;
  readonly deletion: DeletionWorker;
  readonly syncs: SyncWorker;
  readonly handles: Handles;
};

/** Bytes in at `ingest` → events through `accept` → rows in `store` → POSTs by `deliver` → rows again. */
async function startDaemon(current: Current, ports: Ports): Promise<Daemon> {
  const leaving = new AbortController();
  const world: World = { ...current, ...ports, leaving: leaving.signal };
  const store = await (ports.openStore ?? openStore)({
    ...ports,
    path: current.config().outbox.path,
    bounds: () => current.config().outbox,
  });
  ports.metrics.expose(store);
  const parts = wire(store, world);
  store.changes((change) => hear(change, parts, ports.report));
  const { deliver, janitor, deletion, syncs, handles } = parts;
  const closing = new AbortController();
  const cleaning = janitor.run(closing.signal);
  const deleting = deletion.run(AbortSignal.any([leaving.signal, closing.signal]));
  let syncing = Promise.resolve();
  const listeners = await openListeners(ports.serve, current.config(), handles).catch(closeAll);
  await serve(current.config());
  deliver.start();
  syncing = syncs.run(leaving.signal);
  const addresses = { ingest: listeners.ingest.address, admin: listeners.admin.address };
  const vitals = (): Vitals => ({ store: store.health.responds(), stuckLoops: deliver.checkLiveness() });
  return { addresses, deliver, vitals, renew: listeners.renew, serve, stop };

  async function serve(next: Config): Promise<void> {
    ports.metrics.declare(namesOf(next));
    deliver.serve(next.destinations, await store.backlog.counts());
  }

  /** The operator's listener stays until the end: what the daemon does while it stops can be watched. */
  async function stop(): Promise<void> {
    leaving.abort();
    await listeners.ingest.stop();
    await deleting;
    await syncing;
    await deliver.stop();
    closing.abort();
    await cleaning;
    await listeners.admin.stop();
    await store.close();
  }

  async function closeAll(error: unknown): Promise<never> {
    closing.abort();
    await cleaning;
    await deleting;
    await store.close();
    throw error;
  }
}

/** What the store has changed by itself, or for another part. */
function hear(change: StoreChange, { deliver, janitor }: Parts, report: Report): void {
  switch (change.kind) {
    case "moved":
      deliver.readAgain();
      break;
    case "lost":
      deliver.forget(change.has);
      break;
    case "crowded":
      janitor.wake();
      break;
    case "withdrawn":
      deliver.withdraw(change.deliveries);
      reportWithdrawn(change.deliveries, report);
      break;
    default:
      never(change);
  }
}

function reportWithdrawn(deliveries: readonly DeliveryKey[], report: Report): void {
  const byName = Map.groupBy(deliveries, ({ destination }) => destination);
  for (const [name, those] of byName) report.withdrawn(name, those.length);
}

/** Gives each part what it asks for. */
function wire(store: Store, world: World): Parts {
  const { config, door, clock, random, report, leaving } = world;
  const { timeline } = store;
  const activity = createActivity(clock);
  const arrivals = createArrivals(clock, timeline);
  const lanes = createLanes(report);
  const settle: Store["settle"] = (delivery, settlement) => {
    if (delivery.type === "delete" && settlement.state !== "waiting") deletion.settled();
    return store.settle(delivery, settlement);
  };
  const deliver = createDeliver({ ...world, ...store, settle, lanes, activity, delivery: () => config().delivery });
  const accept = createAccept({ config, append: store.append, enqueue: deliver.enqueue, arrivals, report });
  const rejections = createRejections({ clock, timeline, report });
  const bodies = createBodies(clock, world.freeMemory);
  const stopping = (): boolean => leaving.aborted;
  const { suppressed } = store.deletions;
  const ingest = createIngest({ clock, random, door, stopping, bodies, accept, rejections, report });
  const destinations = (): Config["destinations"] => config().destinations;
  const deletion = createDeletionWorker({ ...world, ...store, destinations, accept, rejections });
  const requestDeletion = createRequestDeletion({ ...world, ...store, wake: deletion.wake });
  const refusalOf = (source: string): Fault | null => refuseSource(source, config().sources);
  const syncing = { clock, random, report, refusalOf, stopping, accept, suppressed, members: store.members };
  const syncs = createSyncWorker(syncing);
  const audiences = createAudiences({ ...syncing, worker: syncs });
  const webhooks = createHealth(lanes, clock);
  world.metrics.watch(() => {
    const served = config().destinations.filter(({ enabled }) => enabled);
    return served.map((one) => ({ destination: one.name, webhooks: webhooks.of(one).webhooks }));
  });
  const { whileIdle, pauses, tryNow } = deliver;
  const parts = {
    admin: () => config().admin,
    outbox: () => config().outbox,
    sources: () => config().sources,
    destinations,
    startedAt: clock.now(),
    ...{ whileIdle, pauses, tryNow, webhooks, activity, arrivals, rejections, requestDeletion, audiences },
    streams: createStreams(clock),
    wakeDeletion: deletion.wake,
  };
  // With bodies of its own: whatever comes in at the other door, the operator can get in.
  const admin = createAdmin({ ...world, ...store, ...parts, bodies: createBodies(clock) });
  const janitor = createJanitor({ ...store, outbox: () => config().outbox, clock, report });
  return { deliver, janitor, deletion, syncs, handles: { ingest, admin } };
}

function namesOf({ sources, destinations }: Config): Names {
  const served = destinations.filter(({ enabled }) => enabled).map(nameOf);
  const webhooks = new Map(destinations.map(({ name, webhooks }) => [name, webhooks.map(({ url }) => url)]));
  return { sources: sources.map(nameOf), destinations: destinations.map(nameOf), webhooks, served };
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
