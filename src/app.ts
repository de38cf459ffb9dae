/**
 * Puts the whole daemon together; the only file that sees every part. The machine comes in through `Ports`, so a test
 * can run all of this with a fake clock, fake randomness and a fake network.
 */
import { createAccept } from "./accept/accept.ts";
import { createArrivals } from "./accept/arrivals.ts";
import { withMovedPayloads } from "./accept/payloads.ts";
import { createSendTest } from "./accept/test-call.ts";
import { createTryCall } from "./accept/try-call.ts";
import { createWaitingBytes, type WaitingBytes } from "./accept/waiting-bytes.ts";
import { createAdmin } from "./admin/api.ts";
import type { AdminWorld } from "./admin/world.ts";
import { createAudiences, refuseSource } from "./audience/audiences.ts";
import { createSyncWorker, type Worker as SyncWorker } from "./audience/worker.ts";
import { describeChanges, keysForRestart, withFixedKeys } from "./config/changes.ts";
import { createRequestDeletion } from "./deletion/request.ts";
import { createDeletionWorker, type Worker as DeletionWorker } from "./deletion/worker.ts";
import { createDeliver, type Deliver } from "./deliver/deliver.ts";
import { createActivity, createHealth } from "./deliver/health.ts";
import { createLanes } from "./deliver/lanes.ts";
import { applyStoreChange } from "./deliver/store-changes.ts";
import { createBodies } from "./http/body.ts";
import { type Handles, type Listeners, openListeners } from "./http/listeners.ts";
import { createStreams } from "./http/stream.ts";
import { createIngest } from "./ingest/api.ts";
import { createDoor, type Door } from "./ingest/door.ts";
import { createLimits } from "./ingest/limits.ts";
import { createRejections, type RejectionLog } from "./ingest/rejections.ts";
import type { Audiences } from "./model/audience.ts";
import { type Config, isNotifyName, receiversOf } from "./model/config.ts";
import { type Addresses, type App, namesOf, type Ports, type Vitals, type WatchedWebhooks } from "./model/daemon.ts";
import type { StoredClock } from "./model/destination-clock.ts";
import type { Fault } from "./model/fault.ts";
import { observeBy } from "./model/observer.ts";
import type {
  Accept,
  Clock,
  DaemonAbout,
  DeliveryCount,
  Handle,
  RequestDeletion,
  SendTest,
  Store,
} from "./model/ports.ts";
import type { Report } from "./model/report.ts";
import type { Rounds } from "./model/rounds.ts";
import type { Health } from "./model/status.ts";
import { createNotifying, type Notifying } from "./notify/notifying.ts";
import { createLive } from "./observe/live.ts";
import { createSeries, type SeriesRecorder } from "./observe/series.ts";
import { createJanitor } from "./store/janitor.ts";
import { openStore } from "./store/open.ts";

export type { Addresses, App, Metrics, Ports } from "./model/daemon.ts";

export function createApp(initial: Config, ports: Ports): App {
  let config = initial;
  let given = initial;
  let door = createDoor(config, reportUntrustedProxy);
  let starting: Promise<Daemon> | null = null;
  let running: Daemon | null = null;
  let stopped: Promise<void> | null = null;

  return {
    async start() {
      starting ??= startDaemon({ config: () => config, door: () => door }, ports);
      running = await starting;
      return running.addresses;
    },
    async reload(next) {
      const wanted = withFixedKeys(config, next);
      // An unchanged file is the same config again.
      const nextDoor = next === given ? door : createDoor(wanted, reportUntrustedProxy);
      const daemon = await starting;
      const counts = await daemon?.prepareReload(wanted);
      const applied = { changes: describeChanges(config, wanted), needsRestart: keysForRestart(config, next) };
      config = wanted;
      given = next;
      door = nextDoor;
      if (counts) daemon?.applyDestinations(counts);
      for (const { name } of receiversOf(config)) daemon?.deliver.tryNow(name);
      return applied;
    },
    stop() {
      // A daemon that could not start has cleaned up after itself.
      stopped ??= Promise.resolve(starting).then(
        (daemon) => daemon?.stop(),
        () => {},
      );
      return stopped;
    },
    vitals: () => running?.vitals() ?? { store: Promise.resolve(true), stuckLoops: [] },
    release: () => running?.deliver.release(),
  };

  function reportUntrustedProxy(address: string): void {
    ports.report.daemon("untrusted_proxy", { address, hint: UNTRUSTED_PROXY_HINT });
  }
}

const UNTRUSTED_PROXY_HINT =
  "it sends X-Forwarded-For, which is ignored: if it is your proxy, list it in ingest.trustedProxies; " +
  "otherwise all calls of pages and apps have its address";

/** The config in force, and the ingestion door made from it. Both are functions, because a reload replaces them. */
type Current = { readonly config: () => Config; readonly door: () => Door };

type Daemon = {
  readonly addresses: Addresses;
  readonly deliver: Deliver;
  readonly vitals: App["vitals"];
  /**
   * The steps of a reload that can fail. They run before the new config is in force. Answers what `applyDestinations`
   * needs.
   */
  prepareReload(next: Config): Promise<readonly DeliveryCount[]>;
  /** Delivers to the destinations of the config in force. */
  applyDestinations(counts: readonly DeliveryCount[]): void;
  stop(): Promise<void>;
};

/**
 * What all the wiring needs. `stopping` is aborted when the daemon begins to stop; `closing` when nothing is written
 * any longer. Until then the janitor makes room for writes.
 */
type Context = Current & { readonly ports: Ports; readonly stopping: AbortSignal; readonly closing: AbortSignal };

type Parts = {
  readonly deliver: Deliver;
  readonly janitor: Rounds;
  readonly deletion: DeletionWorker;
  readonly syncs: SyncWorker;
  readonly series: SeriesRecorder;
  readonly notifying: Notifying;
  readonly waitingBytes: WaitingBytes;
  readonly handles: Handles;
};

/** Starts ingestion, delivery and cleaning. The order of both start and stop is here. */
async function startDaemon(current: Current, ports: Ports): Promise<Daemon> {
  const stopping = new AbortController();
  const closing = new AbortController();
  const store = await (ports.openStore ?? openStore)({
    ...ports,
    path: current.config().outbox.path,
    postgres: current.config().outbox.postgres,
    about: aboutOf(ports),
    bounds: () => current.config().outbox,
  });
  const context = { ...current, ports, stopping: stopping.signal, closing: closing.signal };
  const parts = wire(store, await store.clocks.all(), context);
  store.changes((change) => applyStoreChange(change, parts, ports.report), parts.deliver.sending);
  const { deliver, janitor, deletion, syncs, series, waitingBytes, notifying, handles } = parts;
  const cleaning = Promise.all([janitor.run(closing.signal), waitingBytes.run(closing.signal)]);
  const deleting = deletion.run(stopping.signal);
  const listeners = await store.backlog
    .counts()
    .then(applyDestinations)
    .then(() => openListeners(ports.serve, current.config(), handles))
    .catch(closeAll);
  deliver.start();
  series.start(closing.signal);
  const working = Promise.all([syncs.run(stopping.signal), notifying.run(stopping.signal)]);
  const addresses = { ingest: listeners.ingest.address, admin: listeners.admin.address };
  const vitals = (): Vitals => ({ store: store.health.responds(), stuckLoops: deliver.checkLiveness() });
  const prepareReload = (next: Config) => prepare(next, { store, listeners });
  return { addresses, deliver, vitals, prepareReload, applyDestinations, stop };

  function applyDestinations(counts: readonly DeliveryCount[]): void {
    const config = current.config();
    for (const one of [ports.metrics, series]) one.declare(namesOf(config));
    waitingBytes.watch(config.sources);
    deliver.setDestinations(receiversOf(config), counts);
  }

  /** The operator's listener stays open almost to the end, so that the stop can be watched. */
  async function stop(): Promise<void> {
    stopping.abort();
    store.hurry();
    await listeners.ingest.stop();
    await Promise.all([deleting, working]);
    await deliver.stop();
    await notifying.end();
    closing.abort();
    await cleaning;
    await listeners.admin.stop();
    await store.close();
  }

  async function closeAll(error: unknown): Promise<never> {
    stopping.abort();
    closing.abort();
    await Promise.all([cleaning, deleting]);
    await store.close();
    throw error;
  }
}

type Reloading = { readonly store: Store; readonly listeners: Pick<Listeners, "renew"> };

async function prepare(next: Config, { store, listeners }: Reloading): Promise<readonly DeliveryCount[]> {
  const counts = await store.backlog.counts();
  await listeners.renew(next);
  return counts;
}

function aboutOf({ random, version, host = "", pid, clock }: Ports): DaemonAbout {
  return { name: random.hex(8), version, host, pid, startedAt: clock.wall() };
}

/**
 * Gives each part what it needs. A call comes in through `ingest`, goes through `accept` into the store and on to
 * `deliver`, whose settlements go back into the store.
 */
function wire(store: Store, storedClocks: readonly StoredClock[], context: Context): Parts {
  const { config, door, ports, stopping, closing } = context;
  const { clock, random, report } = ports;
  const activity = createActivity(clock);
  const arrivals = createArrivals(clock, store.timeline);
  const series = createSeries({ backlog: store.backlog, clock, report });
  const live = createLive({ clock, timeline: store.timeline, random, closing });
  const { waitingBytes, limits } = wireLimits(store, clock, report);
  const settle = waitingBytes.noting(store.settle);
  // Everything below is created before anything is delivered.
  const givenUp: Notifying["givenUp"] = (...ended) => notifying.givenUp(...ended);
  const observer = observeBy([arrivals, activity, series, live, waitingBytes, { givenUp }]);
  const rejections = createRejections({ clock, timeline: store.timeline, observer, report });
  const lanes = createLanes(report);
  const deliver = createDeliver({
    readQueue: store.readQueue,
    settle(delivery, settlement) {
      // A deletion continues when its notices are settled.
      if (delivery.type === "delete" && settlement.state !== "waiting") users.deletion.settled();
      return settle(delivery, settlement);
    },
    backlog: store.backlog,
    clockStore: store.clocks,
    storedClocks,
    announce: store.sharing?.announce ?? null,
    lanes,
    observer,
    post: ports.post,
    clock,
    random,
    report,
  });
  const accept = createAccept({ config, append: store.append, enqueue: deliver.enqueue, observer, report });
  const ingest = createIngest({
    accept,
    door,
    limits,
    rejections,
    bodies: createBodies(clock, ports.freeMemory),
    stopping: () => stopping.aborted,
    clock,
    random,
    report,
  });
  const users = wireUsers(store, { accept, rejections }, context);
  const health = createHealth(lanes, clock);
  ports.metrics.expose(store);
  ports.metrics.watch(() => servedWebhooks(config(), { health, deliver }));
  const { notifying, sendTest } = wireNotifying(store, { accept, health, deliver }, context);
  const adminParts = { deliver, activity, arrivals, limits, rejections, health, users, series, live, sendTest };
  const admin = wireAdmin({ ...store, waiting: waitingBytes.countingAfter(store.waiting) }, adminParts, context);
  const janitor = createJanitor({
    prune: store.prune,
    health: store.health,
    outbox: () => config().outbox,
    clock,
    report,
  });
  return { ...users, deliver, janitor, series, waitingBytes, notifying, handles: { ingest, admin } };
}

type Served = { readonly health: Health; readonly deliver: Pick<Deliver, "heldBack"> };

function servedWebhooks(config: Config, { health, deliver }: Served): readonly WatchedWebhooks[] {
  const served = receiversOf(config).filter(({ enabled }) => enabled);
  return served.map((one) => ({
    destination: one.name,
    webhooks: health.of(one).webhooks,
    heldBack: deliver.heldBack.of(one).counts,
  }));
}

/** The limits of sources: their rates, and how much of theirs may wait. */
function wireLimits({ readQueue, backlog, sharing }: Store, clock: Clock, report: Report) {
  const waitingBytes = createWaitingBytes({ readQueue, backlog, clock, report });
  const { of, countAnew } = waitingBytes;
  const limits = createLimits({ clock, daemons: () => sharing?.alive() ?? 1, waitingBytes: of, countAnew });
  return { waitingBytes, limits };
}

type Told = { readonly accept: Accept; readonly health: Health; readonly deliver: Deliver };

/** Notifications about trouble, and test calls of operators. Both go through `accept`. */
function wireNotifying(store: Store, { accept, health, deliver }: Told, { config, ports }: Context) {
  const { clock, random, report, lastReload, host = "" } = ports;
  const { pauses } = deliver;
  const world = { config, accept, webhooks: health, pauses, lastReload, host, clock, random, report };
  const notifying = createNotifying({ ...store, ...world });
  const testCall = createSendTest({ accept, clock, random });
  const sendTest: SendTest = (name) => (isNotifyName(name) ? notifying.test(name) : testCall(name));
  return { notifying, sendTest };
}

type UserParts = {
  readonly deletion: DeletionWorker;
  readonly requestDeletion: RequestDeletion;
  readonly syncs: SyncWorker;
  readonly audiences: Audiences;
};

/** What the operator does about users: deletions and audiences. Their events go through `accept`, as calls do. */
function wireUsers(
  { deletions, backlog, members, withdraw }: Store,
  { accept, rejections }: { readonly accept: Accept; readonly rejections: RejectionLog },
  { config, ports, stopping }: Context,
): UserParts {
  const { clock, random, report } = ports;
  const deletion = createDeletionWorker({
    deletions,
    backlog,
    withdraw,
    destinations: () => config().destinations,
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
    stopping: () => stopping.aborted,
    clock,
    random,
    report,
  });
  return { deletion, requestDeletion, syncs, audiences };
}

type AdminParts = Pick<
  AdminWorld,
  "activity" | "arrivals" | "limits" | "rejections" | "series" | "live" | "sendTest"
> & {
  readonly deliver: Deliver;
  readonly health: Health;
  readonly users: UserParts;
};

function wireAdmin(store: Store, parts: AdminParts, { config, ports }: Context): Handle {
  const { deliver, health, users, ...others } = parts;
  const { clock, report } = ports;
  return createAdmin({
    ...others,
    version: ports.version,
    pid: ports.pid,
    startedAt: clock.now(),
    admin: () => config().admin,
    outbox: () => config().outbox,
    sources: () => config().sources,
    destinations: () => receiversOf(config()),
    reload: ports.reload,
    lastReload: ports.lastReload,
    configText: ports.configText,
    metrics: ports.metrics,
    // Separate from ingestion's: the operator's requests are read, however much traffic ingestion has.
    bodies: createBodies(clock),
    streams: createStreams(clock),
    pauses: deliver.pauses,
    whileIdle: deliver.whileIdle,
    tryNow: deliver.tryNow,
    retry: deliver.retry,
    webhooks: health,
    heldBack: deliver.heldBack,
    health: store.health,
    rescue: store.rescue,
    replay: store.replay,
    waiting: withMovedPayloads(store.waiting, config, report),
    backlog: store.backlog,
    lookup: store.lookup,
    timeline: store.timeline,
    sharing: store.sharing,
    deletions: store.deletions,
    requestDeletion: users.requestDeletion,
    tryCall: createTryCall({ config, clock }),
    wakeDeletion: users.deletion.wake,
    audiences: users.audiences,
    clock,
    report,
  });
}
