import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Destination } from "../../src/model/config.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../src/model/units.ts";
import { SLOW } from "../slow.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_B } from "./make.ts";

const TRACK = { userId: "u1", event: "E" };

async function reload(d: TestDaemon, ...destinations: readonly Destination[]): Promise<void> {
  await d.app.reload({ ...d.config, destinations });
  await d.clock.rest();
}

/** When the requests to a webhook began, after the first of them. */
function startsAt({ sent }: TestDaemon): readonly number[] {
  return sent.map(({ at }) => at - (sent[0]?.at ?? 0));
}

describe("a destination with a timeout of its own", () => {
  it("has its answers awaited for that long, and others for five seconds", async () => {
    const destinations = [makeDestination({ timeout: 30 * SECOND }), makeDestination({ name: "lake", urls: [URL_B] })];
    await using d = await startDaemon({ config: { destinations }, answers: () => ({ status: 200, after: 29_999 }) });
    await d.ask("/v1/track", TRACK);
    await d.clock.advance("5s");
    assert.deepEqual(await reasons(d), [
      ["crm", "waiting", null],
      ["lake", "waiting", "no answer within 5s"],
    ]);
    await d.clock.advance("25s");
    assert.deepEqual((await reasons(d))[0], ["crm", "delivered", null]);
  });

  it("has a reload's from the next attempt on", async () => {
    await using d = await startDaemon({ answers: () => "hang" });
    await d.ask("/v1/track", TRACK);
    await d.clock.rest();
    await reload(d, makeDestination({ timeout: 10 * SECOND }));
    await d.clock.advance("5s");
    assert.match((await d.row()).reason ?? "", /no answer within 5s/);
    await d.clock.advance("11s");
    assert.match((await d.row()).reason ?? "", /no answer within 10s/);
  });
});

describe("a destination with a cutoff of its own", () => {
  it("is asked every ten minutes for seven days, and no more after that", SLOW, async () => {
    const destinations = [makeDestination({ cutoff: 7 * DAY })];
    await using d = await startDaemon({ config: { destinations }, answers: () => 503 });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("168h");
    const starts = startsAt(d);
    const waits = starts.slice(12).map((at, nth) => at - (starts[nth + 11] ?? 0));
    assert.deepEqual(new Set(waits.slice(0, -1)), new Set([10 * MINUTE]));
    assert.equal(starts.at(-1), 7 * DAY);
    const { state, reason } = await d.row();
    assert.deepEqual([state, reason], ["expired", "no success within 7d; last answer 503"]);
    await d.clock.advance("24h");
    assert.equal(d.sent.length, starts.length);
  });

  it("judges by a reload's what waits already, whether that is longer or shorter", SLOW, async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await d.call("/v1/track", TRACK);
    await d.clock.advance("3h59m");
    await reload(d, makeDestination({ cutoff: 24 * HOUR }));
    await d.clock.advance("8h");
    assert.equal((await d.row()).state, "waiting");
    await reload(d, makeDestination());
    await d.clock.advance("10m");
    assert.match((await d.row()).reason ?? "", /no success within 4h/);
  });

  it("has its deliveries kept for as long, over a restart as well", SLOW, async () => {
    const config = { destinations: [makeDestination({ cutoff: 7 * DAY })] };
    await using first = await startDaemon({ config, answers: () => 503 });
    await first.call("/v1/track", TRACK);
    await first.clock.advance("72h");
    await using second = await first.crash({ config });
    await second.clock.advance("10m");
    assert.equal((await second.row()).state, "delivered");
  });
});

describe("a destination with a concurrency of its own", () => {
  it("has that many requests at once, and a reload's at once", async () => {
    let running = 0;
    let most = 0;
    await using d = await startDaemon({
      config: { destinations: [makeDestination({ concurrency: 2 })] },
      answers: () => ({ status: 200, after: 100 }),
    });
    const batch = Array.from({ length: 400 }, (_, n) => ({ ...TRACK, type: "track", messageId: `m${n}` }));
    await d.call("/v1/batch", { batch });
    await d.clock.advance("5s");
    for (const { at } of d.sent) most = Math.max(most, d.sent.filter((one) => one.at === at).length);
    assert.equal(most, 2);
    running = d.sent.length;
    await reload(d, makeDestination({ concurrency: 32 }));
    await d.clock.advance("2s");
    for (const { at } of d.sent.slice(running)) most = Math.max(most, d.sent.filter((one) => one.at === at).length);
    assert.equal(most, 32);
  });
});

async function reasons(d: TestDaemon): Promise<readonly (readonly unknown[])[]> {
  return (await d.rows()).map(({ destination, state, reason }) => [destination, state, reason]);
}
