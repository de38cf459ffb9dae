/** What sick neighbours cost a healthy destination: they get the same events, and take none. */
import { writeConfigOf } from "./config.ts";
import { measureBacklog, measureSingles } from "./measure.ts";
import type { Bench } from "./run.ts";
import type { Measured } from "./watch.ts";

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
