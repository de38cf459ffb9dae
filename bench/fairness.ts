/**
 * What the flood of one source costs another at the same destination: how long after each of its ten calls a second its webhook
 * comes, while the other sends twice what the destination takes.
 */
import { writeSharingConfig } from "./config.ts";
import { type Bench, CONNECTIONS, withServer } from "./run.ts";
import { percentile } from "./statistics.ts";
import { type Measured, watch } from "./watch.ts";

export type Flood = "calm" | "flooded";

/** What the destination takes in a second, and what the flood sends. */
const RATE = 1_000;
const BATCHES = 20;
const BATCH = 100;
/** In ms: of the calls of the other source. */
const EVERY = 100;

export function measureFairness(flood: Flood, bench: Bench): Promise<Measured> {
  const { seconds } = bench.amounts;
  const latencies: number[] = [];
  const receiver = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const [, sentAt] = /"sentAtMs":([\d.]+)/.exec(await request.text()) ?? [];
      if (sentAt) latencies.push(performance.now() - Number(sentAt));
      return new Response();
    },
  });
  const config = writeSharingConfig(receiver.port ?? 0, RATE);
  return withServer("fairlead", { ...bench, config }, async (server) => {
    const load = { port: server.port, connections: CONNECTIONS, ids: "none", eventsPerRequest: BATCH } as const;
    const flooding =
      flood === "calm" ? null : bench.load.ask("pace", { ...load, perSecond: BATCHES, seconds: seconds + 5 });
    // So that more waits than is in memory.
    await Bun.sleep(5_000);
    const measured = await watch(server, bench, async () => {
      const count = (seconds * 1_000) / EVERY;
      for (let sent = 0; sent < count; sent += 1) {
        await callShop(server.port);
        await Bun.sleep(EVERY);
      }
      while (latencies.length < count) await Bun.sleep(EVERY);
      return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
    });
    await flooding;
    return measured;
  }).finally(() => receiver.stop(true));
}

async function callShop(port: number): Promise<void> {
  const body = JSON.stringify({ userId: "u1", event: "Item Purchased", properties: { sentAtMs: performance.now() } });
  const headers = { authorization: `Basic ${btoa("shop-key:")}`, "content-type": "application/json" };
  const response = await fetch(`http://127.0.0.1:${port}/v1/track`, { method: "POST", headers, body });
  await response.arrayBuffer();
}
