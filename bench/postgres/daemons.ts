/** One or several daemons on one store, under the same load. */
import { writeSharedConfig, writeSmallConfig } from "../config.ts";
import type { Server } from "../contender.ts";
import type { Flooded, LoadCommands } from "../load.ts";
import { startWorker, type Worker } from "../processes.ts";
import type { Ids } from "../requests.ts";
import { arrival, CONNECTIONS, checkSample, type Tools, withServer } from "../run.ts";
import { cpuSecondsOf } from "../usage.ts";
import type { Base, Postgres, Used } from "./database.ts";
import type { PostgresOptions } from "./options.ts";

/** Daemons that share a PostgreSQL, or have a SQLite file each: these show what sharing the cores costs by itself. */
export type Crew = { readonly store: "sqlite" | "postgres"; readonly daemons: number };
export type Setup = Crew & { readonly work: Work; readonly ids: Ids };
export type Work = "singles" | "batches";

export type Phase = "single calls delivered" | "batches accepted" | "backlog drained";

/** What a phase has taken. Processor time is in µs; only a database has the last three. */
export type Cost = {
  readonly phase: Phase;
  readonly eventsPerSecond: number;
  readonly daemonMicros: number;
  readonly serverMicros: number;
  readonly walBytes: number;
  readonly transactions: number;
};

export type Cluster = {
  readonly servers: readonly Server[];
  readonly base: Base | null;
  /** One program for each daemon. */
  readonly loads: readonly Worker<LoadCommands>[];
  readonly tools: Tools;
};

export type Around = { readonly tools: Tools; readonly postgres: Postgres };

/** Starts that many daemons, each with ports of its own, and ends them when the work is done. */
export async function withCluster<T>(
  { store, daemons }: Crew,
  { tools, postgres }: Around,
  run: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const base = store === "sqlite" ? null : await postgres.createBase();
  const { receiverPort } = tools;
  const config = base ? writeSharedConfig(receiverPort, base.url) : writeSmallConfig(receiverPort);
  try {
    return await startNext([]);
  } finally {
    await base?.drop();
  }

  function startNext(servers: readonly Server[]): Promise<T> {
    if (servers.length === daemons) return run({ servers, base, loads: loadsOf(daemons, tools), tools });
    return withServer("fairlead", { ...tools, config }, (server) => startNext([...servers, server]));
  }
}

const others: Worker<LoadCommands>[] = [];

function loadsOf(count: number, { load }: Tools): readonly Worker<LoadCommands>[] {
  while (others.length < count - 1) others.push(startWorker<LoadCommands>("load.ts"));
  return [load, ...others].slice(0, count);
}

export function measureSetup(
  { work, ids, ...crew }: Setup,
  around: Around,
  options: PostgresOptions,
): Promise<readonly Cost[]> {
  return withCluster(crew, around, async (cluster) => {
    const { warmup } = options;
    const kind = { ids, eventsPerRequest: work === "singles" ? 1 : BATCH };
    await cluster.tools.receiver.ask("expect", { requests: wholeEvents(warmup, kind, cluster) });
    await flood(warmup, kind, cluster);
    checkSample(await arrival(wholeEvents(warmup, kind, cluster), cluster.tools));
    return work === "singles"
      ? [await measureSingles(options.calls, kind, cluster)]
      : measureBatches(options.events, kind, cluster);
  });
}

const BATCH = 100;
/** In ms. Held requests end after five seconds as timeouts, and are then sent again. */
const LONGEST_HOLD = 4_000;

type Kind = { readonly ids: Ids; readonly eventsPerRequest: number };

async function measureSingles(calls: number, kind: Kind, cluster: Cluster): Promise<Cost> {
  const { receiver } = cluster.tools;
  const events = wholeEvents(calls, kind, cluster);
  const clock = await startClock(cluster);
  await receiver.ask("expect", { requests: events });
  const { startedAt, endedAt } = await flood(calls, kind, cluster);
  const { at } = await arrival(events, cluster.tools);
  return clock.stop("single calls delivered", events, Math.max(at, endedAt) - startedAt);
}

/** Batches while the receiver holds its answers back; then it answers, and the backlog goes out. */
async function measureBatches(wanted: number, kind: Kind, cluster: Cluster): Promise<readonly Cost[]> {
  const { receiver } = cluster.tools;
  await receiver.ask("hold");
  const taking = await startClock(cluster);
  const { requests, startedAt, endedAt } = await flood(wanted, kind, cluster, LONGEST_HOLD);
  const events = requests * kind.eventsPerRequest;
  const accepted = await taking.stop("batches accepted", events, endedAt - startedAt);
  const draining = await startClock(cluster);
  const releasedAt = await receiver.ask("release", { requests: events });
  const { at } = await arrival(events, cluster.tools);
  await Bun.sleep(SETTLING);
  return [accepted, await draining.stop("backlog drained", events, at - releasedAt)];
}

/** In ms. The last outcomes are written a little after their webhooks were answered. */
const SETTLING = 300;

/** Each daemon gets the load that one alone gets: with less, it would be colder, and its groups smaller. */
function wholeEvents(events: number, { eventsPerRequest }: Kind, { servers }: Cluster): number {
  return Math.ceil(events / eventsPerRequest) * eventsPerRequest * servers.length;
}

/** All daemons at once. `events`: for each. */
async function flood(
  events: number,
  { ids, eventsPerRequest }: Kind,
  { servers, loads }: Cluster,
  longest?: number,
): Promise<Pick<Flooded, "requests" | "startedAt" | "endedAt">> {
  const requests = Math.ceil(events / eventsPerRequest);
  const limit = longest === undefined ? {} : { longest };
  const floods = await Promise.all(
    servers.map(({ port }, nth) =>
      (loads[nth] as Worker<LoadCommands>).ask("flood", {
        port,
        connections: CONNECTIONS,
        ids,
        eventsPerRequest,
        requests,
        ...limit,
      }),
    ),
  );
  return {
    requests: floods.reduce((sum, one) => sum + one.requests, 0),
    startedAt: Math.min(...floods.map((one) => one.startedAt)),
    endedAt: Math.max(...floods.map((one) => one.endedAt)),
  };
}

const NOTHING: Used = { cpuSeconds: 0, walBytes: 0, transactions: 0 };
const MICROS = 1_000_000;

export async function startClock({ servers, base }: Pick<Cluster, "servers" | "base">) {
  const pids = servers.flatMap((server) => server.pids);
  const before = (await base?.used()) ?? NOTHING;
  const daemonsBefore = cpuSecondsOf({ pids });
  return {
    /** `elapsed`: in ms. */
    async stop(phase: Phase, events: number, elapsed: number): Promise<Cost> {
      const daemonMicros = ((cpuSecondsOf({ pids }) - daemonsBefore) / events) * MICROS;
      const after = (await base?.used()) ?? NOTHING;
      const each = (of: keyof Used): number => (after[of] - before[of]) / events;
      return {
        phase,
        eventsPerSecond: (events / elapsed) * 1_000,
        daemonMicros,
        serverMicros: each("cpuSeconds") * MICROS,
        walBytes: each("walBytes"),
        transactions: each("transactions"),
      };
    },
  };
}
