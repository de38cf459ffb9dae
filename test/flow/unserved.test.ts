import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Destination } from "../../src/model/config.ts";
import { SLOW } from "../slow.ts";
import { type Answer, startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_A, URL_B } from "./make.ts";
import type { Sent } from "./network.ts";

const OFF = makeDestination({ enabled: false });
const NEW = makeDestination({ name: "new", urls: [URL_B] });
const MANY = 1_000;

async function call(d: TestDaemon, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) await d.ask("/v1/track", { userId: "u1", event: "E", messageId: `m${n}` });
  await d.clock.rest();
}

async function reload(d: TestDaemon, ...destinations: readonly Destination[]): Promise<void> {
  await d.app.reload({ ...d.config, destinations });
  await d.clock.rest();
}

function move(d: TestDaemon, limit = MANY): Promise<Answer> {
  return d.admin("POST", "/api/destinations/crm/move", { body: { to: "new", limit } });
}

function discard(d: TestDaemon, limit = MANY): Promise<Answer> {
  return d.admin("POST", "/api/destinations/crm/discard", { body: { limit } });
}

/** The messageIds that arrived at this URL, those that came several times too. */
function arrived({ sent }: TestDaemon, at: string): readonly string[] {
  return sent.filter(({ url }) => url === at).map(({ body }) => JSON.parse(body).messageId);
}

function ids(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `m${n + 1}`).sort();
}

/** As `crm waiting: 2`. */
async function states(d: TestDaemon): Promise<readonly string[]> {
  const counts = new Map<string, number>();
  for (const { destination, state } of await d.rows()) {
    const key = `${destination} ${state}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => `${key}: ${count}`).sort();
}

/** The first hangs, the second takes all. */
function onlyB({ url }: Sent): 200 | "hang" {
  return url === URL_B ? 200 : "hang";
}

/** The first attempts hang until their time is up, all others are taken. */
function firstHang(count: number): (sent: Sent) => 200 | "hang" {
  return ({ url, nth }) => (url === URL_A && nth <= count ? "hang" : 200);
}

describe("a destination that is gone", () => {
  it("keeps what was tried and what was not; moved, the other delivers it at once, each event once", async () => {
    await using d = await startDaemon({ answers: onlyB });
    await call(d, 30);
    await reload(d, NEW);
    await d.clock.advance("5s");
    const tried = arrived(d, URL_A).length;
    assert.ok(tried > 0 && tried < 30);
    assert.deepEqual(await states(d), ["crm waiting: 30"]);
    assert.deepEqual((await move(d)).json, { success: true, moved: 30, doubled: 0, more: false });
    await d.clock.rest();
    assert.deepEqual(arrived(d, URL_B).toSorted(), ids(30));
    assert.equal(arrived(d, URL_A).length, tried);
    assert.deepEqual(await states(d), ["new delivered: 30"]);
    assert.ok((await d.rows()).every(({ attempts }) => attempts === 1));
  });

  it("moves what the other had no room for in memory, page by page, behind its own backlog", SLOW, async () => {
    await using d = await startDaemon({
      config: { destinations: [makeDestination()] },
      answers: ({ url, nth }) => (url === URL_A ? 503 : nth < 100 ? { status: 200, after: 1_000 } : 200),
    });
    await call(d, 700);
    await reload(d, NEW);
    for (let n = 701; n <= 1_300; n += 1) await d.ask("/v1/track", { userId: "u", event: "E", messageId: `m${n}` });
    let more = true;
    for (let page = 0; more; page += 1) {
      assert.ok(page < 10);
      const { json } = await move(d, 100);
      more = json.more === true;
    }
    await d.clock.advance("1m");
    assert.deepEqual(arrived(d, URL_B).toSorted(), ids(1_300));
    assert.deepEqual(await states(d), ["new delivered: 1300"]);
  });

  it("has its four hours begin anew with the move", SLOW, async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await call(d, 1);
    await d.clock.advance("3h");
    await reload(d, NEW);
    await move(d);
    await d.clock.advance("3h50m");
    assert.deepEqual(await states(d), ["new waiting: 1"]);
    await d.clock.advance("15m");
    assert.deepEqual(await states(d), ["new expired: 1"]);
  });

  it("is not left while attempts run: what is under way could arrive at both", async () => {
    await using d = await startDaemon({ answers: onlyB });
    await call(d, 8);
    await reload(d, NEW);
    for (const refuse of [move, discard]) {
      const { status, json, headers } = await refuse(d);
      assert.deepEqual([status, json.code, headers.get("retry-after")], [409, "destination_busy", "1"]);
    }
    assert.deepEqual(arrived(d, URL_B), []);
    await d.clock.advance("5s");
    assert.equal((await move(d)).json.moved, 8);
    await d.clock.rest();
    assert.deepEqual(arrived(d, URL_B).toSorted(), ids(8));
  });

  for (const end of [move, discard]) {
    it(`is left at once where a success only waits to be written (${end.name})`, async () => {
      const answers = ({ url, nth }: Sent) => (url === URL_A && nth === 1 ? "hang" : { status: 200, after: 1_000 });
      await using d = await startDaemon({ answers });
      await call(d, 1);
      await d.clock.advance("5s");
      await call(d, 2);
      await reload(d, NEW);
      await d.clock.advance("1s");
      const { json } = await end(d);
      assert.equal(json.moved ?? json.discarded, 1, JSON.stringify(json));
      await d.clock.advance("1m");
      assert.deepEqual(arrived(d, URL_A), ["m1", "m2"]);
      assert.deepEqual(arrived(d, URL_B), end === move ? ["m1"] : []);
    });
  }

  it("is not left while a success cannot be written: its event could arrive twice", async () => {
    await using d = await startDaemon();
    await call(d, 1);
    const unlock = await d.outbox.lock();
    await reload(d, NEW);
    for (const refuse of [move, discard, move]) assert.equal((await refuse(d)).json.code, "destination_busy");
    await unlock();
    await d.clock.advance("3s");
    assert.equal((await move(d)).json.moved, 0);
    assert.deepEqual(arrived(d, URL_B), []);
  });

  for (const turns of [0, 1, 2, 3, 4, 5]) {
    it(`sends each event once, also if it comes back while they are moved (${turns} turns after)`, async () => {
      await using d = await startDaemon({ answers: firstHang(4) });
      await call(d, 30);
      await reload(d, OFF, NEW);
      await d.clock.advance("5s");
      const moving = move(d);
      for (let turn = 0; turn < turns; turn += 1) await d.clock.nextTurn();
      await reload(d, makeDestination(), NEW);
      await moving;
      await d.clock.advance("2s");
      assert.deepEqual([...arrived(d, URL_A).slice(4), ...arrived(d, URL_B)].sort(), ids(30));
      assert.equal((await d.rows()).length, 30);
    });
  }

  it("goes on moving after a crash between two pages", async () => {
    await using first = await startDaemon({ answers: () => 503 });
    await call(first, 12);
    await reload(first, makeDestination({ name: "new", urls: [URL_B], enabled: false }));
    await move(first, 5);
    await using second = await first.crash({ config: { destinations: [NEW] }, answers: () => 200 });
    await second.clock.rest();
    assert.equal(arrived(second, URL_B).length, 5);
    assert.deepEqual((await move(second)).json, { success: true, moved: 7, doubled: 0, more: false });
    await second.clock.rest();
    assert.deepEqual(arrived(second, URL_B).toSorted(), ids(12));
  });

  it("fails an event that the other has already, and says why", async () => {
    await using d = await startDaemon({
      config: { destinations: [makeDestination(), NEW] },
      answers: ({ url }) => (url === URL_B ? 200 : 503),
    });
    await call(d, 1);
    await reload(d, NEW);
    assert.deepEqual((await move(d)).json, { success: true, moved: 0, doubled: 1, more: false });
    await d.clock.advance("1h");
    assert.deepEqual(arrived(d, URL_B), ids(1));
    const [old] = await d.rows();
    assert.deepEqual([old?.state, old?.reason], ["failed", "new has this event already"]);
  });
});

describe("a destination that is disabled", () => {
  it("goes on with all of its deliveries when it is enabled again", async () => {
    await using d = await startDaemon({ answers: firstHang(4) });
    await call(d, 30);
    await reload(d, OFF);
    await d.clock.advance("10h");
    assert.equal(d.sent.length, 4);
    assert.deepEqual(await states(d), ["crm waiting: 30"]);
    await reload(d, makeDestination());
    assert.deepEqual([...new Set(arrived(d, URL_A))].sort(), ids(30));
    assert.deepEqual(await states(d), ["crm delivered: 30"]);
  });

  it("sends nothing of what was discarded meanwhile, though it was in memory", async () => {
    await using d = await startDaemon({ answers: firstHang(4) });
    await call(d, 30);
    await reload(d, OFF);
    await d.clock.advance("5s");
    assert.deepEqual((await discard(d, 10)).json, { success: true, discarded: 10, more: true });
    const discarded = (await d.rows()).filter(({ reason }) => reason === "discarded by operator");
    assert.equal(discarded.length, 10);
    const before = d.sent.length;
    await reload(d, makeDestination());
    await d.clock.advance("2s");
    assert.equal(d.sent.length - before, 20);
    assert.deepEqual(await states(d), ["crm delivered: 20", "crm failed: 10"]);
    assert.deepEqual(d.told.find(({ what }) => what === "discarded")?.args, ["crm", 10]);
  });

  it("sends nothing of what was moved meanwhile", async () => {
    await using d = await startDaemon({ answers: firstHang(4) });
    await call(d, 30);
    await reload(d, OFF, NEW);
    await d.clock.advance("5s");
    await move(d, 10);
    await reload(d, makeDestination(), NEW);
    await d.clock.advance("2s");
    assert.equal(arrived(d, URL_B).length, 10);
    assert.deepEqual([...arrived(d, URL_A).slice(4), ...arrived(d, URL_B)].sort(), ids(30));
    assert.deepEqual(await states(d), ["crm delivered: 20", "new delivered: 10"]);
  });

  it("is refused while it is enabled", async () => {
    await using d = await startDaemon({ config: { destinations: [makeDestination(), NEW] }, answers: () => 503 });
    await call(d, 3);
    assert.equal((await move(d)).json.code, "destination_in_use");
    assert.equal((await discard(d)).json.code, "destination_in_use");
    assert.deepEqual(await states(d), ["crm waiting: 3", "new waiting: 3"]);
  });
});
