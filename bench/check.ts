/**
 * Whether load and receiver could be the bottleneck: the load is sent straight to the receiver, which answers at once
 * as a server that takes no time would. So both are measured at the most they can do.
 */
import { type Bench, CONNECTIONS } from "./run.ts";
import { percentile } from "./statistics.ts";
import { cpuSeconds } from "./usage.ts";

export type Ceiling = {
  readonly what: string;
  readonly requestsPerSecond: number;
  /** Processor time that each of them takes for a request. */
  readonly loadMicros: number;
  readonly receiverMicros: number;
};

export type Check = {
  readonly ceilings: readonly Ceiling[];
  /** What the load measures as an acknowledgement that takes no time, in ms. */
  readonly latency: { readonly p50: number; readonly p99: number };
};

const CALLS = 200_000;
const BATCHES = 10_000;

export async function checkLimits(bench: Bench): Promise<Check> {
  await limitOf(1, CALLS / 4, bench);
  return {
    ceilings: [await limitOf(1, CALLS, bench), await limitOf(100, BATCHES, bench)],
    latency: await latencyOf(bench),
  };
}

async function limitOf(eventsPerRequest: number, requests: number, bench: Bench): Promise<Ceiling> {
  const { load, receiver, receiverPort } = bench;
  await receiver.ask("expect", { requests });
  const before = [cpuSeconds(load.pid), cpuSeconds(receiver.pid)] as const;
  const kind = { ids: "random", eventsPerRequest, port: receiverPort, connections: CONNECTIONS } as const;
  const { startedAt, endedAt } = await load.ask("flood", { ...kind, requests });
  return {
    what: eventsPerRequest === 1 ? "single calls" : `batches of ${eventsPerRequest}`,
    requestsPerSecond: (requests / (endedAt - startedAt)) * 1_000,
    loadMicros: ((cpuSeconds(load.pid) - before[0]) / requests) * 1_000_000,
    receiverMicros: ((cpuSeconds(receiver.pid) - before[1]) / requests) * 1_000_000,
  };
}

async function latencyOf({ load, receiver, receiverPort }: Bench): Promise<Check["latency"]> {
  await receiver.ask("expect", { requests: 1 });
  const kind = { ids: "none", eventsPerRequest: 1, port: receiverPort, connections: CONNECTIONS } as const;
  const { latencies } = await load.ask("pace", { ...kind, perSecond: 200, seconds: 2 });
  return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
}
