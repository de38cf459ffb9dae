/**
 * Receivers that are not well. Sick neighbours of a healthy one get the same events, and take none: what do they cost it?
 * Another one was down while events came in, and is back: how is it met, and how fast does it get what waits?
 */
import { writeConfigOf } from "./config.ts";
import { BATCH, measureBacklog, measureSingles } from "./measure.ts";
import { arrival, type Bench, kindOf, warmUp, withServer } from "./run.ts";
import { type Measured, watch } from "./watch.ts";

/** `sick`: one hangs, one refuses connections, one answers 503. */
export type Neighbours = "alone" | "sick";

/** What is asked of the healthy one: `singles` as they come in, or a `backlog` that is drained. */
export type Load = "singles" | "backlog";

export async function measureIsolation(load: Load, neighbours: Neighbours, bench: Bench): Promise<Measured> {
  const { receiverPort, sick } = bench;
  const { hanging, refusing, unavailable } = await sick.ask("ports");
  const ports = neighbours === "sick" ? [receiverPort, hanging, refusing, unavailable] : [receiverPort];
  const among = { ...bench, config: writeConfigOf(ports) };
  await sick.ask("count");
  const measured =
    load === "backlog"
      ? await measureBacklog("fairlead", { ids: "none", drain: true }, among)
      : await measureSingles("fairlead", "none", among);
  const asked = await sick.ask("count");
  if (neighbours === "sick" && (asked.hanging === 0 || asked.unavailable === 0))
    throw new Error("the sick destinations were not asked at all");
  return { ...measured, values: { ...measured.values, ...asked } };
}

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
