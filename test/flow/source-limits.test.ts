import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RateLimit, Source } from "../../src/model/config.ts";
import { Secret } from "../../src/model/secret.ts";
import { HOUR, KB, MINUTE, SECOND } from "../../src/model/units.ts";
import { SLOW } from "../slow.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, makeSource } from "./make.ts";
import { ONLY_SQLITE } from "./outbox.ts";

const TEN: RateLimit = { requests: 10, per: SECOND, burst: 10 };
const APP_KEY = "app-key";
const APP = makeSource({ name: "app", writeKey: new Secret(APP_KEY) });
const AS_APP = { authorization: `Basic ${Buffer.from(`${APP_KEY}:`).toString("base64")}` };

/** With what each waiting delivery has beside its body. */
const CALL = { userId: "u1", event: "E", properties: { text: "x".repeat(9 * KB) } };
const AT_MOST = { bytes: 100 * KB, share: null };

function start(website: Partial<Source>, status = 200): Promise<TestDaemon> {
  return startDaemon({ answers: () => status, config: { sources: [makeSource(website), APP] } });
}

function batch(calls: number): object {
  return { batch: Array.from({ length: calls }, () => ({ type: "track", userId: "u1", event: "E" })) };
}

/** Accepted calls of this size, until one is refused. */
async function fill(d: TestDaemon, most = 100): Promise<number> {
  for (let accepted = 0; accepted < most; accepted += 1) {
    const { status } = await d.call("/v1/track", CALL);
    if (status !== 200) return accepted;
  }
  return most;
}

async function reload(d: TestDaemon, website: Partial<Source>): Promise<readonly string[]> {
  const { changes } = await d.app.reload({ ...d.config, sources: [makeSource(website), APP] });
  await d.clock.rest();
  return changes;
}

type Limits = { rate: string | null; waiting: { bytes: number | null; max: number } | null; refusing: unknown };

async function limitsOf(d: TestDaemon): Promise<Limits | null> {
  const { json } = await d.admin("GET", "/api/status");
  const [website] = json.sources as { limits: Limits | null }[];
  return website?.limits ?? null;
}

describe("a source with a rate", () => {
  it("has its calls refused beyond it, until the time that the answer names", async () => {
    await using d = await start({ rate: TEN });
    for (let nth = 0; nth < 10; nth += 1) assert.equal((await d.call("/v1/track", CALL)).status, 200);
    const { status, headers, json } = await d.call("/v1/track", CALL);
    assert.deepEqual([status, headers.get("retry-after"), headers.get("x-ratelimit-reset")], [429, "1", "1"]);
    assert.deepEqual(json, {
      success: false,
      code: "rate_limited",
      message:
        "the source website sends more than 10/s (sources.website.rate); try again after the time in Retry-After",
      error: "the source website sends more than 10/s (sources.website.rate); try again after the time in Retry-After",
    });
    await d.clock.advance("1s");
    assert.equal((await d.call("/v1/track", CALL)).status, 200);
  });

  it("leaves the calls of other sources alone", async () => {
    await using d = await start({ rate: { ...TEN, requests: 1, per: HOUR, burst: 1 } });
    await d.call("/v1/batch", batch(50));
    assert.equal((await d.call("/v1/track", CALL)).status, 429);
    assert.equal((await d.ask("/v1/track", CALL, AS_APP)).status, 200);
  });

  it("takes a batch whole however large it is, and makes up for it before the next", async () => {
    await using d = await start({ rate: TEN });
    const { status, json } = await d.call("/v1/batch", batch(50));
    assert.deepEqual([status, json.accepted], [200, 50]);
    const refused = await d.call("/v1/batch", batch(50));
    assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "5"]);
    await d.clock.advance("4s");
    assert.equal((await d.call("/v1/batch", batch(1))).status, 429);
    await d.clock.advance("1s");
    assert.equal((await d.call("/v1/batch", batch(50))).status, 200);
  });

  it("counts what is valid, not what is refused for other reasons", async () => {
    await using d = await start({ rate: { ...TEN, burst: 1 } });
    for (let nth = 0; nth < 5; nth += 1) assert.equal((await d.call("/v1/track", { userId: "u1" })).status, 400);
    assert.equal((await d.call("/v1/track", CALL)).status, 200);
    assert.equal((await d.call("/v1/track", CALL)).status, 429);
  });

  it("has the key of a request in its body, too", async () => {
    await using d = await start({ rate: { ...TEN, burst: 1 } });
    const send = () => d.ask("/v1/track", { ...CALL, writeKey: "website-key" }, { authorization: "" });
    assert.deepEqual([(await send()).status, (await send()).status], [200, 429]);
  });

  it("still gets an image for each pixel, but no event", async () => {
    await using d = await start({ rate: { ...TEN, burst: 1 } });
    for (let nth = 0; nth < 3; nth += 1) {
      const path = "/v1/pixel/track?writeKey=website-key&anonymousId=a&event=Opened";
      assert.equal((await d.send(path, { method: "GET" })).status, 200);
    }
    await d.clock.rest();
    assert.equal(d.sent.length, 1);
    assert.deepEqual(await refusals(d), [["rate_limited", "website", 2]]);
  });

  it("keeps its tokens over a reload that changes the rate, and loses it with the key", async () => {
    await using d = await start({ rate: TEN });
    await d.call("/v1/batch", batch(10));
    const rate = { requests: 100, per: SECOND, burst: 100 };
    assert.deepEqual(await reload(d, { rate }), ["source website: rate 10/s (burst 10) → 100/s (burst 100)"]);
    assert.equal((await d.call("/v1/track", CALL)).status, 429);
    await d.clock.advance("1s");
    assert.equal((await d.call("/v1/batch", batch(100))).status, 200);
    assert.equal((await d.call("/v1/track", CALL)).status, 429);
    await reload(d, {});
    assert.equal((await d.call("/v1/track", CALL)).status, 200);
  });

  // A database has no disk that we can measure.
  it("does not pay for calls that the outbox could not take", ONLY_SQLITE, async () => {
    let free = 1024;
    await using d = await startDaemon({
      space: async () => ({ free: free * 1024 * KB, total: 2048 * 1024 * KB }),
      config: {
        sources: [makeSource({ rate: { ...TEN, burst: 1 } })],
        outbox: { ...makeConfig().outbox, freeDisk: 64 * 1024 * KB },
      },
    });
    free = 1;
    await d.clock.advance("6s");
    for (let nth = 0; nth < 3; nth += 1) assert.equal((await d.call("/v1/track", CALL)).status, 503);
    free = 1024;
    await d.clock.advance("6s");
    assert.equal((await d.call("/v1/track", CALL)).status, 200);
  });
});

/** Of the last refusals: code, source, and how many calls. */
async function refusals(d: TestDaemon): Promise<unknown> {
  const { json } = await d.admin("GET", "/api/rejected?limit=100");
  const all = json.rejected as { code: string; source: string; count: number }[];
  return all.map(({ code, source, count }) => [code, source, count]);
}

describe("what a limit has refused", () => {
  it("is one entry among the last refusals, however many they are", async () => {
    await using d = await start({ rate: { ...TEN, requests: 1, per: MINUTE, burst: 1 } });
    await d.call("/v1/track", { userId: "u1" });
    await d.call("/v1/track", CALL);
    for (let nth = 0; nth < 200; nth += 1) await d.call("/v1/track", CALL);
    assert.deepEqual(await refusals(d), [
      ["rate_limited", "website", 200],
      ["missing_event", "website", 1],
    ]);
  });

  it("shows in the status for a minute, with what to do, and in explain of any unknown call", async () => {
    await using d = await start({ rate: { ...TEN, requests: 1, per: MINUTE, burst: 1 } });
    assert.deepEqual(await limitsOf(d), { rate: "1/m", waiting: null, refusing: null });
    for (let nth = 0; nth < 3; nth += 1) await d.call("/v1/track", CALL);
    const since = "2026-11-20T12:00:00.000Z";
    assert.deepEqual((await limitsOf(d))?.refusing, { code: "rate_limited", since, requests: 2 });
    const { json } = await d.admin("GET", "/api/status");
    assert.deepEqual(json.problems, [
      {
        level: "warning",
        code: "rate_limited",
        what: "calls of website are refused: it sends more than 1/m, 2 requests so far",
        since,
        remedy:
          "clients send them again; raise sources.website.rate if these calls are wanted; fairlead rejected --source website shows who sends",
      },
    ]);
    const trail = await d.admin("GET", "/api/events/lost");
    assert.deepEqual(trail.json.limited, [
      { source: "website", code: "rate_limited", since, until: since, requests: 2 },
    ]);
    await d.clock.advance("2m");
    assert.equal((await limitsOf(d))?.refusing, null);
  });
});

describe("a source of which only so much may wait", () => {
  it("is refused beyond that until a tenth of it is delivered, and others are not", async () => {
    let status = 503;
    await using d = await startDaemon({
      answers: () => status,
      config: { sources: [makeSource({ maxWaiting: AT_MOST }), APP] },
    });
    await d.clock.advance("2s");
    assert.equal(await fill(d), 11);
    const { headers, json, status: refused } = await d.call("/v1/track", CALL);
    assert.deepEqual([refused, headers.get("retry-after"), json.code], [429, "10", "source_full"]);
    assert.match(
      String(json.message),
      /^too many calls of the source website are waiting for delivery: 10\d.*KB of 100KB \(sources\.website\.maxWaiting\); try again later$/,
    );
    assert.equal((await d.ask("/v1/track", CALL, AS_APP)).status, 200);
    status = 200;
    await d.clock.advance("2m");
    assert.deepEqual((await limitsOf(d))?.waiting, { bytes: 0, max: 100 * KB });
    assert.equal((await d.call("/v1/track", CALL)).status, 200);
  });

  it("has what waited before the start counted, without a call", async () => {
    await using before = await start({}, 503);
    assert.equal(await fill(before, 12), 12);
    await using d = await before.crash({
      answers: () => 503,
      config: { sources: [makeSource({ maxWaiting: AT_MOST }), APP] },
    });
    assert.deepEqual((await limitsOf(d))?.waiting, { bytes: null, max: 100 * KB });
    assert.equal((await d.call("/v1/track", CALL)).status, 200);
    await d.clock.advance("2s");
    assert.equal((await d.call("/v1/track", CALL)).status, 429);
  });

  it("is counted anew when a reload limits it, and no more when another lifts that", async () => {
    await using d = await start({}, 503);
    assert.equal(await fill(d, 12), 12);
    assert.deepEqual(await reload(d, { maxWaiting: { ...AT_MOST, share: 0.2 } }), [
      "source website: maxWaiting none → 20%",
    ]);
    await d.clock.advance("2s");
    assert.equal((await d.call("/v1/track", CALL)).status, 429);
    await reload(d, {});
    assert.equal(await limitsOf(d), null);
    assert.equal((await d.call("/v1/track", CALL)).status, 200);
  });

  it("counts a call once for each destination that has not got it", async () => {
    const destinations = [makeDestination(), makeDestination({ name: "lake" })];
    await using d = await startDaemon({
      answers: () => 503,
      config: { destinations, sources: [makeSource({ maxWaiting: AT_MOST })] },
    });
    await d.clock.advance("2s");
    assert.equal(await fill(d), 6);
  });

  it("is accepted again after what waits was discarded", async () => {
    await using d = await start({ maxWaiting: AT_MOST }, 503);
    await d.clock.advance("2s");
    await fill(d);
    await d.app.reload({ ...d.config, sources: [makeSource({ maxWaiting: AT_MOST })], destinations: [] });
    const { json } = await d.admin("POST", "/api/destinations/crm/discard", { body: { limit: 100 } });
    assert.equal(json.discarded, 11);
    assert.equal((await d.call("/v1/track", CALL)).status, 429);
    await d.clock.advance("40s");
    assert.equal((await d.call("/v1/track", CALL)).status, 200);
  });

  it("counts what is sent again by command", async () => {
    let status = 422;
    await using d = await startDaemon({
      answers: () => status,
      config: { sources: [makeSource({ maxWaiting: AT_MOST })] },
    });
    await d.clock.advance("2s");
    // A database takes a while to settle each.
    for (let nth = 0; nth < 20; nth += 1) {
      assert.equal(await fill(d, 1), 1);
      await d.clock.advance("1s");
    }
    assert.equal((await limitsOf(d))?.waiting?.bytes, 0);
    status = 503;
    await d.clock.advance("1m");
    const { json } = await d.admin("POST", "/api/replay", { body: { filter: { state: "failed" } } });
    assert.equal(json.replayed, 20);
    await d.clock.advance("40s");
    assert.equal((await d.call("/v1/track", CALL)).status, 429);
  });
});

describe("the limits of a source, at two daemons with one outbox", () => {
  async function startBoth(website: Partial<Source>) {
    const config = { sources: [makeSource(website), APP] };
    const first = await startDaemon({ answers: () => 503, config, shared: true });
    const second = await startDaemon({ answers: () => 503, config, beside: first });
    await first.clock.advance("5s");
    return {
      first,
      second,
      async [Symbol.asyncDispose]() {
        await second.stop();
        await first.stop();
      },
    };
  }

  it("are divided between them, and are one daemon's alone once the other is dead", SLOW, async () => {
    await using both = await startBoth({ rate: { requests: 60, per: MINUTE, burst: 60 }, maxWaiting: AT_MOST });
    const { first, second } = both;
    assert.equal((await limitsOf(first))?.waiting?.max, 50 * KB);
    assert.equal((await first.call("/v1/batch", batch(30))).status, 200);
    assert.equal((await first.call("/v1/track", CALL)).headers.get("retry-after"), "2");
    assert.equal((await second.call("/v1/batch", batch(30))).status, 200);
    const waits = (await limitsOf(first))?.waiting?.bytes ?? 0;
    assert.ok(waits > 0);
    await second.die();
    await first.clock.advance("1m");
    assert.deepEqual((await limitsOf(first))?.waiting, { bytes: 2 * waits, max: 100 * KB });
  });
});
