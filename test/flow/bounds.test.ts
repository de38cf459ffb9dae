import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DAY, GB, HOUR, MB, MINUTE } from "../../src/model/units.ts";
import { noise } from "../model/make.ts";
import { SLOW } from "../slow.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, URL_B } from "./make.ts";
import { REFUSED } from "./network.ts";
import { ONLY_SQLITE } from "./outbox.ts";

async function callMany(d: TestDaemon, count: number): Promise<void> {
  const batch = Array.from({ length: count }, (_, n) => ({
    type: "track",
    userId: "u",
    event: "E",
    properties: { n },
  }));
  await d.call("/v1/batch", { batch });
}

describe("what is kept", () => {
  it("is removed when it was kept long enough: delivered after 24 h, failed after 30 days", SLOW, async () => {
    const destinations = [makeDestination(), makeDestination({ name: "warehouse", urls: [URL_B] })];
    await using d = await startDaemon({ config: { destinations }, answers: ({ url }) => (url === URL_B ? 400 : 200) });
    await callMany(d, 10);
    await d.clock.advance("23h");
    assert.equal((await d.rows()).length, 20);
    await d.clock.advance("1h10m");
    assert.deepEqual(new Set((await d.rows()).map(({ state }) => state)), new Set(["failed"]));
    assert.equal(d.told.filter(({ what, args }) => what === "pruned" && isPruned(args[0], "delivered", 10)).length, 1);
    d.clock.skip("28d 22h");
    await d.clock.advance("2h");
    assert.equal((await d.rows()).length, 0);
  });

  it("goes before its time when the outbox is crowded, so that new calls find room", SLOW, async () => {
    const outbox = {
      path: "",
      postgres: null,
      maxSize: 600_000,
      freeDisk: 0,
      keepDelivered: 24 * HOUR,
      keepFailed: 30 * DAY,
    };
    await using d = await startDaemon({ config: { outbox } });
    for (let n = 0; n < 40; n += 1) {
      const { status } = await d.ask("/v1/track", {
        userId: "u",
        event: "E",
        properties: { text: noise(30_000, n) },
      });
      assert.equal(status, 200);
      await d.clock.advance("100ms");
    }
    assert.ok((await d.rows()).length < 20);
  });

  it("never loses what waits, however crowded the outbox is", SLOW, async () => {
    const outbox = {
      path: "",
      postgres: null,
      maxSize: 600_000,
      freeDisk: 0,
      keepDelivered: 24 * HOUR,
      keepFailed: 30 * DAY,
    };
    await using d = await startDaemon({ config: { outbox }, answers: ({ at }) => (at < back ? 503 : 200) });
    const back = d.clock.now() + HOUR;
    let accepted = 0;
    for (let n = 0; n < 40; n += 1) {
      const { status } = await d.ask("/v1/track", {
        userId: "u",
        event: "E",
        properties: { text: noise(30_000, n) },
      });
      if (status === 200) accepted += 1;
      await d.clock.rest();
    }
    assert.ok(accepted > 5 && accepted < 30, `${accepted} of 40 were accepted`);
    assert.equal((await d.rows()).length, accepted);
    await d.clock.advance("2h");
    const ids = d.sent.filter(({ at }) => at >= back).map(({ body }) => JSON.parse(body).messageId);
    assert.equal(new Set(ids).size, accepted);
    assert.equal((await d.ask("/v1/track", { userId: "u", event: "E" })).status, 200);
  });
});

describe("a disk that is nearly full", ONLY_SQLITE, () => {
  it("refuses calls and says why, delivers what waits, and takes calls again by itself", SLOW, async () => {
    let free = GB;
    const outbox = { ...makeConfig().outbox, freeDisk: 64 * MB };
    await using d = await startDaemon({
      config: { outbox },
      answers: ({ at }) => (at < back ? 503 : 200),
      space: async () => ({ free, total: 2 * GB }),
    });
    const back = d.clock.now() + MINUTE;
    await callMany(d, 10);
    free = 12 * MB;
    await d.clock.advance("5s");
    const { status, headers, json } = await d.call("/v1/track", { userId: "u", event: "E" });
    assert.deepEqual([status, json.code, headers.get("retry-after")], [503, "store_full", "10"]);
    assert.match(String(json.message), /the disk of the outbox is full \(12MB free, outbox\.freeDisk keeps 64MB\)/);
    assert.equal((await d.admin("GET", "/readyz")).status, 503);
    assert.partialDeepStrictEqual((await d.admin("GET", "/api/status")).json.outbox, { full: "freeDisk", free });
    await d.clock.advance("5m");
    assert.equal(new Set(d.sent.filter(({ at }) => at >= back).map(({ body }) => body)).size, 10);
    free = GB;
    await d.clock.advance("5s");
    assert.equal((await d.call("/v1/track", { userId: "u", event: "E" })).status, 200);
    assert.equal((await d.admin("GET", "/readyz")).status, 200);
    assert.deepEqual(
      d.told.map(({ what }) => what).filter((what) => /^(storeFull|storeOpen|diskUnknown)$/.test(what)),
      ["storeFull", "storeOpen"],
    );
  });

  it("lets delivered events go before their time, and keeps what failed", SLOW, async () => {
    let free = GB;
    const destinations = [makeDestination(), makeDestination({ name: "warehouse", urls: [URL_B] })];
    await using d = await startDaemon({
      config: { destinations, outbox: { ...makeConfig().outbox, freeDisk: 64 * MB } },
      answers: ({ url }) => (url === URL_B ? 400 : 200),
      space: async () => ({ free, total: 2 * GB }),
    });
    await callMany(d, 10);
    await d.clock.advance("1m");
    assert.equal((await d.rows()).length, 20);
    free = 90 * MB;
    await d.clock.advance("5s");
    const states = (await d.rows()).map(({ state }) => state);
    assert.deepEqual([states.length, new Set(states)], [10, new Set(["failed"])]);
    assert.ok(d.told.some(({ what, args }) => what === "pruned" && args[1] === "space"));
  });
});

describe("a machine clock that is set", () => {
  it("forwards or back does not make anything too old to be kept, nor freeze what is", SLOW, async () => {
    const destinations = [makeDestination(), makeDestination({ name: "warehouse", urls: [URL_B] })];
    await using d = await startDaemon({ config: { destinations }, answers: ({ url }) => (url === URL_B ? 400 : 200) });
    const start = d.clock.now();
    await callMany(d, 10);
    d.clock.setWall(start + 400 * DAY);
    await d.clock.advance("20h");
    assert.equal((await d.rows()).length, 20);
    assert.deepEqual(
      d.told.filter(({ what }) => what === "pruned"),
      [],
    );
    d.clock.setWall(0);
    await d.clock.advance("5h");
    assert.equal((await d.rows()).length, 10);
    d.clock.skip("29d 22h");
    await d.clock.advance("2h");
    assert.equal((await d.rows()).length, 0);
  });
});

describe("a crowded outbox with a receiver that is down", () => {
  it("keeps what waits for it and lets the delivered events beside that go", SLOW, async () => {
    const outbox = {
      path: "",
      postgres: null,
      maxSize: 600_000,
      freeDisk: 0,
      keepDelivered: 24 * HOUR,
      keepFailed: 30 * DAY,
    };
    const destinations = [makeDestination(), makeDestination({ name: "slow", urls: [URL_B], types: ["page"] })];
    await using d = await startDaemon({
      config: { outbox, destinations },
      answers: ({ url, at }) => (url === URL_B && at < back ? REFUSED : 200),
    });
    const back = d.clock.now() + 2 * HOUR;
    for (let n = 0; n < 60; n += 1) {
      const batch = Array.from({ length: 20 }, (_, nth) => ({
        type: nth < 3 ? "page" : "track",
        event: "E",
        userId: "u",
      }));
      const { status } = await d.call("/v1/batch", {
        batch: batch.map((call, nth) => ({ ...call, properties: { text: noise(1_200, `${n} ${nth}`) } })),
      });
      assert.equal(status, 200);
      await d.clock.advance("1m 30s");
    }
    assert.ok(d.told.some(({ what, args }) => what === "pruned" && args[1] === "space"));
    await d.clock.advance("4h");
    const arrived = d.sent
      .filter(({ url, at }) => url === URL_B && at >= back)
      .map(({ body }) => JSON.parse(body).messageId);
    assert.equal(new Set(arrived).size, 3 * 60);
    assert.equal(arrived.length, 3 * 60);
  });
});

function isPruned(counts: unknown, state: string, count: number): boolean {
  return (
    typeof counts === "object" && counts !== null && Object.entries(counts).some(([s, n]) => s === state && n === count)
  );
}
