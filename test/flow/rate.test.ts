import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Destination, RateLimit } from "../../src/model/config.ts";
import { HOUR, MINUTE, type Ms, SECOND } from "../../src/model/units.ts";
import { SLOW } from "../slow.ts";
import { START } from "./clock.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_A, URL_B } from "./make.ts";
import { REFUSED } from "./network.ts";

const TEN: RateLimit = { requests: 10, per: SECOND, burst: 10 };
const SLOWLY: RateLimit = { requests: 1, per: MINUTE, burst: 1 };

async function callMany(d: TestDaemon, count: number): Promise<void> {
  const batch = Array.from({ length: count }, (_, n) => ({
    type: "track",
    userId: "u1",
    event: "E",
    messageId: `m${n}`,
  }));
  await d.call("/v1/batch", { batch });
}

async function reload(d: TestDaemon, ...destinations: readonly Destination[]): Promise<void> {
  await d.app.reload({ ...d.config, destinations });
  await d.clock.rest();
}

/** How many requests a URL got in each second, or time, since the start. */
function countsBy(step: Ms, { sent }: TestDaemon, url = URL_A): readonly number[] {
  const counts: number[] = [];
  for (const { at } of sent.filter((one) => one.url === url)) {
    const nth = Math.floor((at - START) / step);
    while (counts.length <= nth) counts.push(0);
    counts[nth] = (counts[nth] ?? 0) + 1;
  }
  return counts;
}

async function heldBack(d: TestDaemon): Promise<unknown> {
  const { json } = await d.admin("GET", "/api/status");
  const [crm] = json.destinations as { heldBack: unknown; counts: { waiting: number } }[];
  return crm?.heldBack && [crm.heldBack, crm.counts.waiting];
}

describe("a destination with a rate", () => {
  it("gets its requests at that rate, one after the other, and nothing fails meanwhile", async () => {
    await using d = await startDaemon({ config: { destinations: [makeDestination({ rate: TEN })] } });
    await callMany(d, 100);
    await d.clock.advance("5s");
    assert.deepEqual(await heldBack(d), [{ rate: "10/s", since: "2026-11-20T12:00:00.000Z" }, 49]);
    await d.clock.advance("10s");
    assert.deepEqual(countsBy(SECOND, d), Array(10).fill(10));
    const starts = d.sent.map(({ at }) => at - START);
    assert.deepEqual(
      starts,
      Array.from({ length: 100 }, (_, n) => n * 100),
    );
    assert.deepEqual(
      new Set((await d.rows()).map(({ state, attempts }) => `${state} ${attempts}`)),
      new Set(["delivered 1"]),
    );
    assert.equal(await heldBack(d), null);
  });

  it("gets up to its burst at once after a rest", async () => {
    await using d = await startDaemon({ config: { destinations: [makeDestination({ rate: { ...TEN, burst: 25 } })] } });
    await callMany(d, 1);
    await d.clock.advance("1m");
    const batch = Array.from({ length: 50 }, () => ({ type: "track", userId: "u1", event: "E" }));
    await d.call("/v1/batch", { batch });
    await d.clock.advance("5s");
    assert.deepEqual(countsBy(SECOND, d).slice(60), [25 + 9, 10, 6]);
  });

  it("is slow as well by less than one a second", SLOW, async () => {
    await using d = await startDaemon({ config: { destinations: [makeDestination({ rate: SLOWLY })] } });
    await callMany(d, 60);
    await d.clock.advance("1h");
    assert.deepEqual(countsBy(MINUTE, d), Array(60).fill(1));
  });

  it("has its retries counted, and they do not keep first attempts out", SLOW, async () => {
    const rate = { requests: 30, per: MINUTE, burst: 1 };
    const answers = ({ body }: { body: string }) => (JSON.parse(body).event === "Bad" ? 500 : 200);
    await using d = await startDaemon({ config: { destinations: [makeDestination({ rate })] }, answers });
    const batch = Array.from({ length: 60 }, (_, n) => ({
      type: "track",
      userId: "u1",
      event: n % 2 ? "Bad" : "Good",
    }));
    await d.call("/v1/batch", { batch });
    await d.clock.advance("10m");
    const counts = countsBy(MINUTE, d);
    assert.ok(
      counts.every((count) => count <= 30),
      counts.join(),
    );
    assert.deepEqual(counts.slice(0, 4), [30, 30, 30, 30]);
    const good = (await d.rows()).filter(({ state }) => state === "delivered");
    assert.equal(good.length, 30);
  });

  it("has the probes of a receiver that is down counted", SLOW, async () => {
    await using d = await startDaemon({
      config: { destinations: [makeDestination({ rate: SLOWLY })] },
      answers: () => REFUSED,
    });
    await callMany(d, 20);
    await d.clock.advance("2h");
    const starts = d.sent.map(({ at }) => at);
    assert.ok(starts.length > 10);
    for (const [nth, at] of starts.entries()) assert.ok(nth === 0 || at - (starts[nth - 1] ?? 0) >= MINUTE);
  });

  it("gives nothing up that only waited for its turn, and makes a last attempt past the cutoff", SLOW, async () => {
    const destinations = [makeDestination({ rate: { requests: 2, per: HOUR, burst: 1 } })];
    await using d = await startDaemon({ config: { destinations }, answers: ({ nth }) => (nth === 1 ? 503 : 200) });
    await callMany(d, 20);
    await d.clock.advance("12h");
    assert.deepEqual(countsBy(HOUR, d).slice(0, 10), Array(10).fill(2));
    assert.deepEqual(new Set((await d.rows()).map(({ state }) => state)), new Set(["delivered"]));
  });

  it("waits until all of its webhooks can be asked, and counts each request", async () => {
    const rate = { requests: 2, per: SECOND, burst: 2 };
    await using d = await startDaemon({
      config: { destinations: [makeDestination({ rate, urls: [URL_A, URL_B] })] },
    });
    await callMany(d, 10);
    await d.clock.advance("20s");
    assert.deepEqual(countsBy(SECOND, d, URL_A), Array(10).fill(1));
    assert.deepEqual(countsBy(SECOND, d, URL_B), Array(10).fill(1));
  });

  it("slows no other", async () => {
    const destinations = [makeDestination({ rate: SLOWLY }), makeDestination({ name: "lake", urls: [URL_B] })];
    await using d = await startDaemon({ config: { destinations } });
    await callMany(d, 200);
    await d.clock.advance("1s");
    assert.deepEqual([countsBy(SECOND, d, URL_A), countsBy(SECOND, d, URL_B)], [[1], [200]]);
  });

  it("keeps to it when an operator has everything tried at once", async () => {
    let well = false;
    const destinations = [makeDestination({ rate: TEN })];
    await using d = await startDaemon({ config: { destinations }, answers: () => (well ? 200 : 503) });
    await callMany(d, 50);
    await d.clock.advance("2m");
    well = true;
    const before = d.sent.length;
    await d.admin("POST", "/api/destinations/crm/retry", { body: {} });
    await d.clock.advance("900ms");
    const count = d.sent.length - before;
    assert.ok(count > 4 && count <= 10 + 9, `${count}`);
  });

  it("has no more after a pause than its burst, and sends nothing in it", async () => {
    await using d = await startDaemon({ config: { destinations: [makeDestination({ rate: TEN })] } });
    await callMany(d, 100);
    await d.clock.advance("950ms");
    const post = (what: string) => d.admin("POST", `/api/destinations/crm/${what}`, { body: {} });
    await post("pause");
    await d.clock.advance("1m");
    assert.equal(d.sent.length, 10);
    assert.equal(await heldBack(d), null);
    await post("resume");
    await d.clock.advance("50ms");
    assert.equal(d.sent.length, 20);
    await d.clock.advance("5s");
    assert.equal(d.sent.length, 70);
  });

  it("has a reload's at once, and no second burst with it", async () => {
    await using d = await startDaemon({ config: { destinations: [makeDestination({ rate: SLOWLY })] } });
    await callMany(d, 100);
    await d.clock.advance("30s");
    assert.equal(d.sent.length, 1);
    await reload(d, makeDestination({ rate: TEN }));
    // Half a token was there.
    assert.equal(d.sent.length, 1);
    await d.clock.advance("1s");
    assert.equal(d.sent.length, 11);
    for (let n = 0; n < 10; n += 1) await reload(d, makeDestination({ rate: { ...TEN, burst: 50 + n } }));
    assert.equal(d.sent.length, 11);
    await reload(d, makeDestination());
    await d.clock.advance("1s");
    assert.equal(d.sent.length, 100);
  });

  it("has what was accepted sent on at that rate after a restart, without a burst", async () => {
    const config = { destinations: [makeDestination({ rate: TEN })] };
    await using first = await startDaemon({ config });
    await callMany(first, 100);
    await first.clock.advance("950ms");
    await using second = await first.crash({ config });
    await second.clock.advance("900ms");
    assert.equal(second.sent.length, 10);
  });

  it("is not looked at between two tokens", async () => {
    const timers = async (rate: RateLimit | null): Promise<number> => {
      await using d = await startDaemon({ config: { destinations: [makeDestination({ rate })] } });
      await callMany(d, 100);
      let count = 0;
      const { after } = d.clock;
      const counted = (ms: Ms, run: () => void) =>
        after(ms, () => {
          count += 1;
          run();
        });
      Object.assign(d.clock, { after: counted });
      await d.clock.advance("10m");
      assert.equal(d.sent.length, rate === null ? 100 : 11);
      return count;
    };
    const more = (await timers(SLOWLY)) - (await timers(null));
    // For each of the ten that are sent: its token, its time limit, and what is done about its settlement.
    assert.ok(more <= 40, `${more} timers more in ten minutes`);
  });
});
