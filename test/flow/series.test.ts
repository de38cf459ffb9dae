import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StoreAway } from "../../src/model/fault.ts";
import type { OpenStore } from "../../src/model/ports.ts";
import { Secret } from "../../src/model/secret.ts";
import type { SeriesAnswer } from "../../src/wire/series.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, makeSource, URL_A, URL_B } from "./make.ts";

const TRACK = { type: "track", userId: "u1", event: "Bought" };

async function read(d: TestDaemon, query = "span=1h"): Promise<SeriesAnswer> {
  const { status, json } = await d.admin("GET", `/api/series?${query}`);
  assert.equal(status, 200);
  return json as SeriesAnswer;
}

async function track(d: TestDaemon, times = 1): Promise<void> {
  for (let n = 0; n < times; n += 1) await d.call("/v1/track", TRACK);
}

describe("GET /api/series", () => {
  it("has no point before the first five seconds are over", async () => {
    await using d = await startDaemon();
    const { since, until, step, omitted, series } = await read(d);
    assert.deepEqual([since, until, step, omitted], ["2026-11-20T12:00:00.000Z", since, 5_000, 0]);
    assert.deepEqual(series, { accepted: [], refused: [], delivered: [], failed: [], waiting: [] });
  });

  it("says per second what was accepted, refused, delivered and failed, and what waits", async () => {
    await using d = await startDaemon({ answers: ({ nth }) => (nth <= 5 ? 200 : 503) });
    await track(d, 10);
    await d.call("/v1/track", { event: "no user" });
    await d.clock.advance("5s");
    const { since, until, series } = await read(d);
    assert.deepEqual([since, until], ["2026-11-20T12:00:00.000Z", "2026-11-20T12:00:05.000Z"]);
    // Five of the ten fail at once; the first retries come after a second, and then after two.
    const failed = d.sent.length - 5;
    assert.deepEqual(series, {
      accepted: [2],
      refused: [0.2],
      delivered: [1],
      failed: [failed / 5],
      waiting: [5],
    });
  });

  it("has of a destination how long its attempts took", async () => {
    const answers = ({ nth }: { nth: number }) => ({ status: 200, after: nth === 1 ? 1_000 : 10 });
    await using d = await startDaemon({ answers });
    await track(d, 10);
    await d.clock.advance("5s");
    const { series } = await read(d, "span=1h&destination=crm");
    assert.deepEqual(Object.keys(series), ["delivered", "failed", "waiting", "p50", "p99"]);
    const { delivered, failed, waiting, p50, p99 } = series;
    assert.deepEqual([delivered, failed, waiting, p50], [[2], [0], [0], [10]]);
    assert.ok(Math.abs((p99?.[0] ?? 0) - 1_000) < 1_000 / 16, String(p99));
    await d.clock.advance("5s");
    assert.deepEqual((await read(d, "span=1h&destination=crm")).series.p50, [10, null]);
  });

  it("has of a source what came from it", async () => {
    await using d = await startDaemon({
      config: { sources: [makeSource(), makeSource({ name: "app", writeKey: new Secret("app-key") })] },
    });
    await track(d, 5);
    await d.clock.advance("5s");
    assert.deepEqual((await read(d, "span=1h&source=website")).series, { accepted: [1], refused: [0] });
    assert.deepEqual((await read(d, "span=1h&source=app")).series, { accepted: [null], refused: [null] });
  });

  it("keeps an hour by five seconds, and a day by minutes", async () => {
    await using d = await startDaemon();
    await track(d, 6);
    await d.clock.advance("1h");
    await track(d, 3);
    await d.clock.advance("1m");
    const hour = await read(d);
    assert.equal(hour.since, "2026-11-20T12:01:00.000Z");
    assert.deepEqual(hour.series.accepted?.length, 720);
    assert.deepEqual(hour.series.accepted, [...Array(708).fill(0), 0.6, ...Array(11).fill(0)]);
    assert.deepEqual(hour.series.waiting, Array(720).fill(0));
    const day = await read(d, "span=1d");
    assert.deepEqual([day.since, day.step], ["2026-11-20T12:00:00.000Z", 60_000]);
    assert.deepEqual(day.series.accepted, [0.1, ...Array(59).fill(0), 0.05]);
    await d.clock.advance("24h");
    const next = await read(d, "span=1d");
    assert.deepEqual([next.since, next.series.accepted?.length], ["2026-11-20T13:01:00.000Z", 1_440]);
  });

  it("sees within a minute that an operator has changed what waits, though nothing else happens", async () => {
    await using d = await startDaemon();
    await d.admin("POST", "/api/destinations/crm/pause", { body: {} });
    await track(d, 4);
    await d.clock.advance("2m");
    await d.admin("POST", "/api/destinations/crm/resume", { body: {} });
    await d.clock.advance("2m");
    const { waiting = [] } = (await read(d, "span=1h&destination=crm")).series;
    assert.equal(waiting.length, 48);
    assert.deepEqual([waiting[0], waiting[22], waiting[47]], [4, 4, 0]);
  });

  it("leaves out what waits while the store is away, and nothing else", async () => {
    let isAway = false;
    await using d = await startDaemon({ openStore: openAway(() => isAway) });
    await track(d, 5);
    await d.clock.advance("5s");
    isAway = true;
    await track(d, 5);
    await d.clock.advance("5s");
    isAway = false;
    await track(d, 5);
    await d.clock.advance("5s");
    const { accepted, waiting } = (await read(d)).series;
    assert.deepEqual(
      [accepted, waiting],
      [
        [1, 1, 1],
        [0, null, 0],
      ],
    );
  });

  it("has empty points where the machine slept", async () => {
    await using d = await startDaemon();
    await track(d, 5);
    d.clock.skip("21s");
    await d.clock.advance("4s");
    const { accepted } = (await read(d)).series;
    assert.deepEqual(accepted, [null, null, null, 0.238, 0]);
  });

  it("forgets a destination that leaves the config, and begins anew when it is back", async () => {
    const both = [makeDestination(), makeDestination({ name: "lake", urls: [URL_B] })];
    await using d = await startDaemon({ config: { destinations: both } });
    await track(d, 5);
    await d.clock.advance("5s");
    await d.app.reload({ ...d.config, destinations: [makeDestination({ urls: [URL_A] })] });
    const gone = await d.admin("GET", "/api/series?span=1h&destination=lake");
    assert.deepEqual([gone.status, gone.json.code], [404, "unknown_destination"]);
    await d.app.reload({ ...d.config, destinations: both });
    assert.deepEqual((await read(d, "span=1h&destination=lake")).series.delivered, [null]);
    assert.deepEqual((await read(d, "span=1h&destination=crm")).series.delivered, [1]);
  });

  it("refuses what it cannot answer", async () => {
    await using d = await startDaemon();
    const wrong = {
      "": "span is missing: 1h or 1d",
      "span=2h": 'span must be 1h or 1d (got "2h")',
      "span=1h&step=1": "step is unknown; known are span, destination and source",
      "span=1h&destination=crm&source=website": "destination and source exclude each other",
      "span=1h&destination=cmr": 'there is no destination "cmr"; did you mean crm?',
      "span=1h&source=websit": 'there is no source "websit"; did you mean website?',
    };
    for (const [query, message] of Object.entries(wrong))
      assert.equal((await d.admin("GET", `/api/series?${query}`)).json.message, message);
  });
});

/** The store, which cannot count while it is away. */
function openAway(isAway: () => boolean): OpenStore {
  return async (options) => {
    const { openStore } = await import("../../src/store/open.ts");
    const store = await openStore(options);
    const backlog = {
      ...store.backlog,
      async counts() {
        if (isAway()) throw new StoreAway("cannot connect to PostgreSQL at db:5432");
        return store.backlog.counts();
      },
    };
    return { ...store, backlog };
  };
}
