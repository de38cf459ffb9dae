/** The measurements. Each starts a server with an empty store, warms it up, measures, and ends it. */
import { createHmac } from "node:crypto";
import type { Worker } from "./commands.ts";
import { type Contender, SECRET, type Server, type Surroundings, startServer } from "./contender.ts";
import type { LoadCommands } from "./load.ts";
import type { Arrival, ReceiverCommands } from "./receiver.ts";
import type { Ids } from "./requests.ts";
import { percentile } from "./statistics.ts";
import { cpuSeconds, machineSeconds, mainThreadTime, peakMemory } from "./usage.ts";

export type Amounts = {
  /** Single calls in a run. */
  readonly calls: number;
  /** Events of batches in a run, at most: it ends earlier where taking them takes too long. */
  readonly events: number;
  /** Seconds of steady load. */
  readonly seconds: number;
  /** Events that are sent before anything is measured, so that code is compiled and connections are open. */
  readonly warmup: number;
};

export type Bench = Surroundings & {
  readonly load: Worker<LoadCommands>;
  readonly receiver: Worker<ReceiverCommands>;
  readonly amounts: Amounts;
};

/** What one run has given: a number for each thing measured, by name. */
export type Measured = { readonly values: Readonly<Record<string, number>>; readonly shares: Shares };

/** How busy each part was, in cores. */
export type Shares = {
  readonly server: number;
  /** Of it, the thread that runs JavaScript. */
  readonly mainThread: number;
  /** How much of the time that thread could have run, had a core been free. */
  readonly queued: number;
  readonly load: number;
  readonly receiver: number;
  /** All other programs of the machine, and the kernel's own threads. */
  readonly others: number;
};

export const CONNECTIONS = 64;
export const BATCH = 100;
const STEADY_PER_SECOND = 200;
/** In ms. Held requests end after five seconds as timeouts, and are then sent again. */
const LONGEST_HOLD = 4_000;
/** In ms, for everything to come in. */
const PATIENCE = 120_000;

/**
 * Single calls as fast as they are answered, and delivered meanwhile: the clock stops when all are acknowledged and
 * the last webhook has arrived.
 */
export function measureSingles(contender: Contender, ids: Ids, bench: Bench): Promise<Measured> {
  const { calls } = bench.amounts;
  return withServer(contender, bench, async (server) => {
    const kind = { ...kindOf(server, ids), eventsPerRequest: 1 };
    await warmUp(kind, bench);
    return watch(server, bench, async (cpu) => {
      await bench.receiver.ask("expect", { requests: calls });
      const { startedAt, endedAt } = await bench.load.ask("flood", { ...kind, requests: calls });
      const { at } = await arrival(calls, bench);
      const seconds = (Math.max(at, endedAt) - startedAt) / 1_000;
      return { perSecond: calls / seconds, cpuSeconds: (cpu() / calls) * 100_000 };
    });
  });
}

/**
 * Batches as fast as they are answered, while the receiver takes requests without answering them, so that delivery
 * stands still; then, with `drain`, it answers, and the backlog goes out.
 */
export function measureBacklog(
  contender: Contender,
  { ids, drain }: { readonly ids: Ids; readonly drain: boolean },
  bench: Bench,
): Promise<Measured> {
  const { events } = bench.amounts;
  return withServer(contender, bench, async (server) => {
    const kind = { ...kindOf(server, ids), eventsPerRequest: BATCH };
    await warmUp(kind, bench);
    return watch(server, bench, async () => {
      await bench.receiver.ask("hold");
      const flooded = await bench.load.ask("flood", { ...kind, requests: events / BATCH, longest: LONGEST_HOLD });
      const taken = flooded.requests * BATCH;
      const accepted = (taken / (flooded.endedAt - flooded.startedAt)) * 1_000;
      if (!drain) return { acceptedPerSecond: accepted };
      const releasedAt = await bench.receiver.ask("release", { requests: taken });
      const { at } = await arrival(taken, bench);
      return { acceptedPerSecond: accepted, drainedPerSecond: (taken / (at - releasedAt)) * 1_000 };
    });
  });
}

/** Acknowledgements, in ms, of single calls that come at a steady pace and are delivered meanwhile. */
export function measureSteady(contender: Contender, ids: Ids, bench: Bench): Promise<Measured> {
  const { seconds } = bench.amounts;
  return withServer(contender, bench, async (server) => {
    const kind = { ...kindOf(server, ids), eventsPerRequest: 1 };
    await warmUp(kind, bench);
    return watch(server, bench, async () => {
      await bench.receiver.ask("expect", { requests: STEADY_PER_SECOND * seconds });
      const { latencies } = await bench.load.ask("pace", { ...kind, perSecond: STEADY_PER_SECOND, seconds });
      await arrival(latencies.length, bench);
      return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
    });
  });
}

type Kind = {
  readonly port: number;
  readonly connections: number;
  readonly ids: Ids;
  readonly eventsPerRequest: number;
};

function kindOf({ port }: Server, ids: Ids): Omit<Kind, "eventsPerRequest"> {
  return { port, connections: CONNECTIONS, ids };
}

async function withServer<T>(contender: Contender, bench: Bench, run: (server: Server) => Promise<T>): Promise<T> {
  const server = await startServer(contender, bench);
  try {
    return await Promise.race([run(server), server.crashed]);
  } catch (error) {
    // That its connections broke is noticed before that it has crashed, and says less.
    await Promise.race([server.crashed, Bun.sleep(200)]);
    throw error;
  } finally {
    await server.stop();
  }
}

async function warmUp(kind: Kind, bench: Bench): Promise<void> {
  const { warmup } = bench.amounts;
  if (warmup === 0) return;
  await bench.receiver.ask("expect", { requests: warmup });
  await bench.load.ask("flood", { ...kind, requests: warmup / kind.eventsPerRequest });
  checkSample(await arrival(warmup, bench));
}

/** The first request says whether the server does its work: the body is the call, and the signature is right. */
function checkSample({ sample }: Arrival): void {
  const [head = "", body = ""] = sample.split("\r\n\r\n");
  const signature = /\r\nx-signature: *([0-9a-f]+)/i.exec(head)?.[1];
  const right = createHmac("sha1", SECRET).update(body).digest("hex");
  if (signature !== right || !body.includes('"Item Purchased"')) throw new Error(`a wrong webhook came:\n${sample}`);
}

async function arrival(expected: number, { receiver }: Bench): Promise<Arrival> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(async () => {
    const { requests } = await receiver.ask("count");
    late.reject(new Error(`${requests} of ${expected} webhooks have come, and nothing more for ${PATIENCE / 1_000} s`));
  }, PATIENCE);
  return Promise.race([receiver.ask("arrived"), late.promise]).finally(() => clearTimeout(timer));
}

type Work = (cpu: () => number) => Promise<Record<string, number>>;

/** Looks at what every process uses from the beginning of the work until its end. */
async function watch(server: Server, bench: Bench, work: Work): Promise<Measured> {
  const before = look(server, bench);
  const values = await work(() => cpuSeconds(server.pid) - before.server);
  const after = look(server, bench);
  return { values: { ...values, peakMemory: peakMemory(server.pid) }, shares: sharesOf(before, after) };
}

type Look = ReturnType<typeof look>;

function look({ pid }: Server, { load, receiver }: Bench) {
  const main = mainThreadTime(pid);
  return {
    at: performance.now() / 1_000,
    server: cpuSeconds(pid),
    mainThread: main.busy,
    queued: main.queued,
    load: cpuSeconds(load.pid),
    receiver: cpuSeconds(receiver.pid),
    machine: machineSeconds(),
  };
}

function sharesOf(before: Look, after: Look): Shares {
  const [server, load, receiver] = [share("server"), share("load"), share("receiver")];
  return {
    server,
    mainThread: share("mainThread"),
    queued: share("queued"),
    load,
    receiver,
    others: Math.max(0, share("machine") - server - load - receiver),
  };

  function share(of: keyof Look): number {
    return (after[of] - before[of]) / (after.at - before.at);
  }
}
