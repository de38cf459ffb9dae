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
import { createRejections, type Rejecting } from "./ingest/rejections.ts";
import type { Audiences } from "./model/audience.ts";
import type { Config } from "./model/config.ts";
import type { Addresses, App, Names, Ports } from "./model/daemon.ts";
import type { DeliveryKey } from "./model/delivery.ts";
import type { StoredClock } from "./model/destination-clock.ts";
import type { Fault } from "./model/fault.ts";
import { never } from "./model/never.ts";
import type { Accept, Handle, RequestDeletion, Store, StoreChange } from "./model/ports.ts";
import type { Report } from "./model/report.ts";
import type { Activity, Arrivals, Health } from "./model/status.ts";
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

type World = Current & { readonly ports: Ports; readonly leaving: AbortSignal };

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
  const store = await (ports.openStore ?? openStore)({
    ...ports,
    path: current.config().outbox.path,
    bounds: () => current.config().outbox,
  });
  ports.metrics.expose(store);
  const parts = wire(store, await store.clocks.all(), { ...current, ports, leaving: leaving.signal });
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

/** Gives each part what it asks for, in the order in which an event passes them. */
function wire(store: Store, storedClocks: readonly StoredClock[], world: World): Parts {
  const { config, door, ports, leaving } = world;
  const { clock, random, report } = ports;
  const stopping = (): boolean => leaving.aborted;
  const activity = createActivity(clock);
  const arrivals = createArrivals(clock, store.timeline);
  const rejections = createRejections({ clock, timeline: store.timeline, report });
  const lanes = createLanes(report);
  const deliver = createDeliver({
    claims: store.claims,
    settle(delivery, settlement) {
      if (delivery.type === "delete" && settlement.state !== "waiting") users.deletion.settled();
      return store.settle(delivery, settlement);
    },
    delivery: () => config().delivery,
    clocks: store.clocks,
    storedClocks,
    backlog: store.backlog,
    lanes,
    activity,
    post: ports.post,
    clock,
    random,
    report,
  });
  const accept = createAccept({ config, append: store.append, enqueue: deliver.enqueue, arrivals, report });
  const bodies = createBodies(clock, ports.freeMemory);
  const ingest = createIngest({ accept, door, rejections, bodies, stopping, clock, random, report });
  const users = wireUsers(store, { accept, rejections }, world);
  const health = createHealth(lanes, clock);
  ports.metrics.watch(() => {
    const served = config().destinations.filter(({ enabled }) => enabled);
    return served.map((one) => ({ destination: one.name, webhooks: health.of(one).webhooks }));
  });
  const admin = wireAdmin(store, { deliver, activity, arrivals, rejections, health, users }, world);
  const outbox = (): Config["outbox"] => config().outbox;
  const janitor = createJanitor({ prune: store.prune, health: store.health, outbox, clock, report });
  return { deliver, janitor, deletion: users.deletion, syncs: users.syncs, handles: { ingest, admin } };
}

type Users = {
  readonly deletion: DeletionWorker;
  readonly requestDeletion: RequestDeletion;
  readonly syncs: SyncWorker;
  readonly audiences: Audiences;
};

/** What is done about users by the operator: deletions, and memberships of audiences. Their events go through `accept`, too. */
function wireUsers(
  { deletions, backlog, members, withdraw }: Store,
  { accept, rejections }: { readonly accept: Accept; readonly rejections: Rejecting },
  { config, ports, leaving }: World,
): Users {
  const { clock, random, report } = ports;
  const destinations = (): Config["destinations"] => config().destinations;
  const deletion = createDeletionWorker({
    deletions,
    backlog,
    withdraw,
    destinations,
    accept,
    rejections,
    clock,
    report,
  });
  const { wake } = deletion;
  const requestDeletion = createRequestDeletion({ config, deletions, backlog, wake, clock, random, report });
  const refusalOf = (source: string): Fault | null => refuseSource(source, config().sources);
  const syncs = createSyncWorker({ members, accept, refusalOf, clock, report });
  const audiences = createAudiences({
    members,
    worker: syncs,
    suppressed: deletions.suppressed,
    refusalOf,
    stopping: () => leaving.aborted,
    clock,
    random,
    report,
  });
  return { deletion, requestDeletion, syncs, audiences };
}

type Watched = {
  readonly deliver: Deliver;
  readonly activity: Activity;
  readonly arrivals: Arrivals;
  readonly rejections: Rejecting;
  readonly health: Health;
  readonly users: Users;
};

function wireAdmin(store: Store, { deliver, health, users, ...watched }: Watched, { config, ports }: World): Handle {
  const { clock, report } = ports;
  return createAdmin({
    version: ports.version,
    pid: ports.pid,
    startedAt: clock.now(),
    admin: () => config().admin,
    outbox: () => config().outbox,
    sources: () => config().sources,
    destinations: () => config().destinations,
    reload: ports.reload,
    lastReload: ports.lastReload,
    metrics: ports.metrics,
    // Not those of ingestion: however much comes in there, the operator's requests are read.
    bodies: createBodies(clock),
    streams: createStreams(clock),
    pauses: deliver.pauses,
    whileIdle: deliver.whileIdle,
    tryNow: deliver.tryNow,
    ...watched,
    webhooks: health,
    health: store.health,
    rescue: store.rescue,
    replay: store.replay,
    unserved: store.unserved,
    backlog: store.backlog,
    lookup: store.lookup,
    timeline: store.timeline,
    deletions: store.deletions,
    requestDeletion: users.requestDeletion,
    wakeDeletion: users.deletion.wake,
    audiences: users.audiences,
    clock,
    report,
  });
}

function namesOf({ sources, destinations }: Config): Names {
  const served = destinations.filter(({ enabled }) => enabled).map(nameOf);
  const webhooks = new Map(destinations.map(({ name, webhooks }) => [name, webhooks.map(({ url }) => url)]));
  return { sources: sources.map(nameOf), destinations: destinations.map(nameOf), webhooks, served };
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
