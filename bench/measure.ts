/** The measurements. Each starts a server with an empty store, warms it up, measures, and ends it. */
import { createLargeConfig, type LargeConfig } from "./config.ts";
import type { Contender } from "./contender.ts";
import { whileReloading } from "./reloading.ts";
import type { Ids } from "./requests.ts";
import { arrival, type Bench, CONNECTIONS, type Kind, kindOf, warmUp, withServer } from "./run.ts";
import { percentile } from "./statistics.ts";
import { type Measured, watch } from "./watch.ts";

export const BATCH = 100;
const STEADY_PER_SECOND = 200;
/** In ms. Held requests end after five seconds as timeouts, and are then sent again. */
const LONGEST_HOLD = 4_000;

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
export async function measureBacklog(
  contender: Contender,
  { ids, drain }: { readonly ids: Ids; readonly drain: boolean },
  bench: Bench,
): Promise<Measured> {
  const { amounts, receiver, sources = 1 } = bench;
  const { events } = amounts;
  const opened = await receiver.ask("opened");
  return withServer(contender, bench, async (server) => {
    const kind = { ...kindOf(server, ids), eventsPerRequest: BATCH, sources };
    await warmUp(kind, bench);
    return watch(server, bench, async (cpu) => {
      await receiver.ask("hold");
      const flooded = await bench.load.ask("flood", { ...kind, requests: events / BATCH, longest: LONGEST_HOLD });
      const taken = flooded.requests * BATCH;
      const accepted = (taken / (flooded.endedAt - flooded.startedAt)) * 1_000;
      if (!drain) return { acceptedPerSecond: accepted };
      const cpuBefore = cpu();
      const releasedAt = await receiver.ask("release", { requests: taken });
      const { at } = await arrival(taken, bench);
      const { connections, handshakes } = await receiver.ask("opened");
      return {
        acceptedPerSecond: accepted,
        drainedPerSecond: (taken / (at - releasedAt)) * 1_000,
        cpuMicros: ((cpu() - cpuBefore) / taken) * 1_000_000,
        connections: connections - opened.connections,
        handshakes: handshakes - opened.handshakes,
      };
    });
  });
}

/** Acknowledgements, in ms, of single calls that come at a steady pace and are delivered meanwhile. */
export function measureSteady(contender: Contender, ids: Ids, bench: Bench): Promise<Measured> {
  return withServer(contender, bench, async (server) => {
    const kind = { ...kindOf(server, ids), eventsPerRequest: 1 };
    await warmUp(kind, bench);
    return watch(server, bench, async () => acknowledgements(await SEND.steady(kind, bench)));
  });
}

/** How single calls come: at a steady pace, or as fast as they are answered. */
export type Rate = "steady" | "full";

export type UnderReloads = Pick<LargeConfig, "sources"> & { readonly rate: Rate; readonly reloads: boolean };

/** Acknowledgements, in ms, of Fairlead with a large config, which is reloaded all the while or not at all. */
export function measureReloads({ rate, sources, reloads }: UnderReloads, bench: Bench): Promise<Measured> {
  const configOf = createLargeConfig({ port: bench.receiverPort, sources });
  return withServer("fairlead", { ...bench, config: configOf(0) }, async (server) => {
    const kind = { ...kindOf(server, "none"), eventsPerRequest: 1 };
    await warmUp(kind, bench);
    return watch(server, bench, async () => {
      const send = (): Promise<readonly number[]> => SEND[rate]({ ...kind, connections: CONNECTIONS_AT[rate] }, bench);
      if (!reloads) return acknowledgements(await send());
      const { result, durations } = await whileReloading({ server, configOf }, send);
      return { ...acknowledgements(result), reloads: durations.length, reload: percentile(durations, 0.5) };
    });
  });
}

/** At a steady pace each call needs a free connection, also those that come while a reload takes a second. */
const CONNECTIONS_AT: Readonly<Record<Rate, number>> = { steady: 256, full: CONNECTIONS };

function acknowledgements(latencies: readonly number[]) {
  return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
}

/** Each sends single calls, and answers how long each acknowledgement took once all webhooks have come. */
const SEND: Readonly<Record<Rate, (kind: Kind, bench: Bench) => Promise<readonly number[]>>> = {
  async steady(kind, bench) {
    const { seconds } = bench.amounts;
    await bench.receiver.ask("expect", { requests: STEADY_PER_SECOND * seconds });
    const { latencies } = await bench.load.ask("pace", { ...kind, perSecond: STEADY_PER_SECOND, seconds });
    await arrival(latencies.length, bench);
    return latencies;
  },
  async full(kind, bench) {
    const { calls } = bench.amounts;
    await bench.receiver.ask("expect", { requests: calls });
    const { latencies } = await bench.load.ask("flood", { ...kind, requests: calls, timed: true });
    await arrival(calls, bench);
    return latencies;
  },
};
