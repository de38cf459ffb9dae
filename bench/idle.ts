/** What a server needs that has nothing to do. */
import type { Contender } from "./contender.ts";
import { type Bench, withServer } from "./run.ts";
import { memoryOf } from "./usage.ts";
import { type Measured, watch } from "./watch.ts";

/** In ms. What is left to do after a start is no idling. */
const SETTLING = 2_000;

/** Processor time in percent of one core, and memory, of a server to which nothing has been sent since its start. */
export function measureIdle(contender: Contender, bench: Bench): Promise<Measured> {
  const { idle } = bench.amounts;
  return withServer(contender, bench, async (server) => {
    await Bun.sleep(SETTLING);
    return watch(server, bench, async (cpu) => {
      await Bun.sleep(idle * 1_000);
      return { cpuPercent: (cpu() / idle) * 100, memory: memoryOf(server) };
    });
  });
}
