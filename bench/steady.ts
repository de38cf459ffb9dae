/** What each event costs where few come, which is what most machines see: at a steady pace, and delivered meanwhile. */
import type { Contender } from "./contender.ts";
import { arrival, type Bench, kindOf, warmUp, withServer } from "./run.ts";
import { percentile } from "./statistics.ts";
import { bytesWrittenBy, createFlushCounter } from "./usage.ts";
import { type Measured, watch } from "./watch.ts";

/** Calls a second. */
export const PACES = [1, 10, 100, 1_000] as const;
export type Pace = (typeof PACES)[number];

/** In ms. An outcome may be written a while after its webhook was answered, and counts as well. */
const SETTLING = 2_000;

export function measurePaced(contender: Contender, perSecond: Pace, bench: Bench): Promise<Measured> {
  const seconds = bench.amounts.paced[perSecond];
  const events = perSecond * seconds;
  return withServer(contender, { ...bench, traced: bench.trace }, async (server) => {
    const kind = { ...kindOf(server, "none"), eventsPerRequest: 1 };
    await warmUp(kind, bench);
    await Bun.sleep(SETTLING);
    const flushes = createFlushCounter(server, bench.folder);
    return watch(server, bench, async (cpu) => {
      const before = { flushes: flushes(), bytes: bytesWrittenBy(server) };
      await bench.receiver.ask("expect", { requests: events });
      const connections = Math.min(MOST_CONNECTIONS, perSecond * EVERY);
      const { latencies } = await bench.load.ask("pace", { ...kind, connections, perSecond, seconds });
      await arrival(events, bench);
      await Bun.sleep(SETTLING);
      return {
        fsyncs: (flushes() - before.flushes) / events,
        kilobytes: (bytesWrittenBy(server) - before.bytes) / events / 1_000,
        cpuMs: (cpu() / events) * 1_000,
        p50: percentile(latencies, 0.5),
        p99: percentile(latencies, 0.99),
      };
    });
  });
}

/** In seconds: a connection that is used less often would be closed by the floor. */
const EVERY = 4;
/** Each call needs a free one, also those that come while the server or the disk is held up for half a second. */
const MOST_CONNECTIONS = 512;
