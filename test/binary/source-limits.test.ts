import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Analytics } from "../../src/client/analytics.ts";
import type { DaemonStatus } from "../../src/wire/status.ts";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { type Daemon, KEY, makeConfig, makeWorld } from "./world.ts";

function makeLimited(url: string, limits: object): string {
  const config = JSON.parse(makeConfig({ url }));
  return JSON.stringify({ ...config, sources: { website: { writeKey: KEY, ...limits } } });
}

function ids(count: number): readonly string[] {
  return Array.from({ length: count }, (_, nth) => `m${nth}`);
}

describe("a client of a source with limits", () => {
  it("has all of its calls delivered in the end, though it sends faster than the rate", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeWorld();
    await w.write("config.yaml", makeLimited(receiver.url, { rate: "20/s", burst: 10 }));
    const daemon = await w.serve();
    const statuses: number[] = [];
    const analytics = new Analytics(KEY, {
      endpoint: daemon.ingest,
      flushAt: 10,
      onError: (error) => assert.fail(error.message),
      async fetch(url, init) {
        const answer = await fetch(url, init);
        statuses.push(answer.status);
        return answer;
      },
    });
    for (const messageId of ids(60)) analytics.track({ userId: "u1", event: "E", messageId });
    const { undelivered } = await analytics.close({ timeout: 60_000 });
    assert.deepEqual(undelivered, []);
    await receiver.all(ids(60));
    assert.ok(statuses.includes(429), `it was never refused: ${statuses}`);
    const { out, exit } = w.run(["rejected", "--admin", daemon.admin]);
    assert.equal((await exit).code, 0);
    assert.match(out.join("\n"), /website: rate_limited\n {2}the source website sends more than 20\/s/);
    assert.match(out.join("\n"), /1 refused call\./);
    const metrics = await (await fetch(`${daemon.admin}/metrics`)).text();
    const refused = statuses.filter((status) => status === 429).length;
    const counted = `fairlead_events_rejected_total{source="website",reason="rate_limited"} ${refused}`;
    assert.ok(metrics.includes(counted), counted);
  });

  it("gets on once what waits is delivered, also after a kill", PATIENT, async () => {
    let isWell = false;
    await using receiver = startReceiver(() => (isWell ? 200 : 503));
    await using w = await makeWorld();
    await w.write("config.yaml", makeLimited(receiver.url, { maxWaiting: "1MB" }));
    const first = await w.serve();
    const text = "x".repeat(30_000);
    let accepted = 0;
    for (; accepted < 100; accepted += 1) {
      const messageId = `m${accepted}`;
      const { status } = await first.call("/v1/track", { userId: "u1", event: "E", messageId, properties: { text } });
      if (status !== 200) break;
    }
    // The count at the start has nothing to do, and takes a second.
    assert.ok(accepted >= 34, `${accepted} calls`);
    first.process.kill("SIGKILL");
    await first.process.exit;
    const second = await w.serve();
    await untilCounted(second);
    const call = () => second.call("/v1/track", { userId: "u1", event: "E" });
    assert.equal((await call()).status, 429);
    isWell = true;
    await fetch(`${second.admin}/api/destinations/crm/retry`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{}",
    });
    await receiver.all(ids(accepted));
    // A success may wait a moment for another commit to share.
    while ((await call()).status !== 200);
  });
});

/** What waits is counted a moment after the start. */
async function untilCounted({ admin }: Daemon): Promise<void> {
  for (;;) {
    const status = (await (await fetch(`${admin}/api/status`)).json()) as DaemonStatus;
    if (status.sources[0]?.limits?.waiting?.bytes !== null) return;
  }
}
