import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SLOW } from "../slow.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_A, URL_B } from "./make.ts";
import { REFUSED } from "./network.ts";

async function callMany(d: TestDaemon, count: number, from = 0): Promise<void> {
  for (let sent = 0; sent < count; sent += 100) {
    const size = Math.min(100, count - sent);
    const batch = Array.from({ length: size }, (_, n) => {
      return { type: "track", userId: "u1", event: "E", messageId: `m${from + sent + n}` };
    });
    await d.call("/v1/batch", { batch });
  }
}

/** The largest number of requests that were under way to a URL at one moment. */
function mostAtOnce(starts: readonly number[], length: number): number {
  return Math.max(...starts.map((at) => starts.filter((other) => other <= at && other > at - length).length));
}

describe("a lane", () => {
  it("begins with few requests at once, and sends more while the receiver keeps up", SLOW, async () => {
    await using d = await startDaemon({ answers: () => ({ status: 200, after: 100 }) });
    await callMany(d, 2_000);
    const atFirst = d.sent.length;
    assert.equal(atFirst, 4);
    await d.clock.advance("5s");
    assert.equal(
      mostAtOnce(
        d.sent.map(({ at }) => at),
        100,
      ),
      64,
    );
    assert.equal(d.sent.length, 2_000);
  });

  it("never has more requests at once than the config allows", async () => {
    const destinations = [makeDestination({ concurrency: 7 })];
    await using d = await startDaemon({ config: { destinations }, answers: () => ({ status: 200, after: 100 }) });
    await callMany(d, 300);
    await d.clock.advance("10s");
    assert.equal(
      mostAtOnce(
        d.sent.map(({ at }) => at),
        100,
      ),
      7,
    );
  });

  it("asks a dead receiver less and less, and writes nothing about what it did not try", async () => {
    await using d = await startDaemon({ answers: () => REFUSED });
    await callMany(d, 500);
    await d.clock.advance("1h");
    assert.ok(d.sent.length < 40, `${d.sent.length} requests in an hour`);
    const untouched = (await d.rows()).filter(({ attempts }) => attempts === 0);
    assert.ok(untouched.length > 450, `${untouched.length} of 500 were not touched`);
    assert.equal(d.told.filter(({ what }) => what === "laneClosed").length, 1);
  });

  it("delivers everything soon after the receiver has come back, beginning with few at once", SLOW, async () => {
    await using d = await startDaemon({ answers: ({ at }) => (at < back ? REFUSED : { status: 200, after: 100 }) });
    const back = d.clock.now() + 3_600_000;
    await callMany(d, 500);
    await d.clock.advance("1h");
    const before = d.sent.length;
    await d.clock.advance("10m30s");
    assert.ok((await d.rows()).every(({ state }) => state === "delivered"));
    const [probe, ...ramp] = d.sent.slice(before).map(({ at }) => at);
    assert.ok(ramp.filter((at) => at <= (probe ?? 0) + 100).length <= 4);
    assert.equal(d.told.filter(({ what }) => what === "laneOpened").length, 1);
  });

  it("is held by 429 and 503 with Retry-After, for every delivery", async () => {
    const answers = ({ at }: { at: number }) =>
      at < free ? { status: 429, headers: { "Retry-After": "60" }, after: 5 } : 200;
    await using d = await startDaemon({ answers });
    const free = d.clock.now() + 60_000;
    await callMany(d, 100);
    await d.clock.advance("59s");
    assert.equal(d.sent.length, 4);
    await d.clock.advance("2s");
    assert.ok((await d.rows()).every(({ state }) => state === "delivered"));
  });

  it("that is dead does not keep a healthy destination waiting", async () => {
    const destinations = [makeDestination(), makeDestination({ name: "warehouse", urls: [URL_B] })];
    await using d = await startDaemon({
      config: { destinations },
      answers: ({ url }) => (url === URL_A ? "hang" : 200),
    });
    await callMany(d, 1_000);
    assert.equal(d.sent.filter(({ url }) => url === URL_B).length, 1_000);
  });
});

describe("the window on the backlog", () => {
  it("holds a few pages in memory, however many deliveries wait", SLOW, async () => {
    await using d = await startDaemon({ answers: () => "hang" });
    await callMany(d, 5_000);
    await using second = await d.crash({ answers: () => 200 });
    await second.clock.advance("1s");
    assert.equal(new Set(second.sent.map(({ body }) => JSON.parse(body).messageId)).size, 5_000);
  });

  it("lets new events through beside a backlog of retries that are due", SLOW, async () => {
    await using first = await startDaemon({ answers: ({ nth }) => (nth % 4 === 0 ? 200 : 500) });
    await callMany(first, 400);
    await first.clock.advance("10s");
    const waiting = (await first.rows()).filter(({ state, attempts }) => state === "waiting" && attempts > 0).length;
    assert.ok(waiting > 100, `${waiting} retries wait`);
    await using second = await first.crash({ answers: () => ({ status: 200, after: 100 }) });
    second.clock.skip("10m");
    await second.call("/v1/track", { userId: "u1", event: "New", messageId: "new" });
    await second.clock.advance("250ms");
    assert.ok(second.sent.length < waiting);
    assert.ok(second.sent.some(({ body }) => JSON.parse(body).messageId === "new"));
  });
});

describe("retries that hang", () => {
  it("leave slots to first attempts, also while successes wait to be written", async () => {
    let hang = false;
    let taken = 0;
    await using d = await startDaemon({
      answers({ body }) {
        if (JSON.parse(body).event === "bad") return hang ? "hang" : 503;
        taken += 1;
        return { status: 200, after: 10 };
      },
    });
    const call = (event: string, count: number) => {
      const batch = Array.from({ length: count }, (_, n) => ({ type: "track", userId: `u${n}`, event }));
      return d.call("/v1/batch", { batch });
    };
    await call("bad", 100);
    await d.clock.advance("2m");
    await d.admin("POST", "/api/destinations/crm/pause", { body: {} });
    for (let nth = 0; nth < 4; nth += 1) await call("good", 250);
    await d.clock.advance("10m");
    hang = true;
    await d.admin("POST", "/api/destinations/crm/resume", { body: {} });
    await d.clock.advance("3s");
    assert.equal(taken, 1_000);
  });
});
