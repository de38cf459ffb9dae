/** A receiver that was down while events came in, and is back: how it is met, and how fast it gets what waits. */
import { BATCH } from "./measure.ts";
import { arrival, type Bench, kindOf, warmUp, withServer } from "./run.ts";
import { type Measured, watch } from "./watch.ts";

/**
 * Batches as fast as they are answered, while nobody listens at the webhook; when all are acknowledged, somebody does.
 * The rate is that from the first request, a probe, to the last.
 */
export function measureComeback(bench: Bench): Promise<Measured> {
  const { outage } = bench.amounts;
  return withServer("fairlead", bench, async (server) => {
    const kind = { ...kindOf(server, "none"), eventsPerRequest: BATCH };
    await warmUp(kind, bench);
    return watch(server, bench, async () => {
      await bench.receiver.ask("leave");
      const { startedAt, endedAt } = await bench.load.ask("flood", { ...kind, requests: outage / BATCH });
      const backAt = await bench.receiver.ask("comeBack", { requests: outage });
      const { at, firstAt, within } = await arrival(outage, bench);
      return {
        acceptedPerSecond: (outage / (endedAt - startedAt)) * 1_000,
        secondsAway: (backAt - startedAt) / 1_000,
        secondsUntilProbe: (firstAt - backAt) / 1_000,
        in10ms: within[10],
        in100ms: within[100],
        in1s: within[1_000],
        drainedPerSecond: (outage / (at - firstAt)) * 1_000,
      };
    });
  });
}
