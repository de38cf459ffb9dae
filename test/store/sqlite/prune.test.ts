import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { describe, it } from "node:test";
import type { Delivery } from "../../../src/model/delivery.ts";
import { KB, MB } from "../../../src/model/units.ts";
import { noise } from "../../model/make.ts";
import { withoutRef } from "../harness.ts";
import { delivered, expired, failed, makeEntries, makeEntry, makeLargeEntries, offline, retried } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

async function settle(o: TestOutbox, deliveries: readonly Delivery[], end = delivered): Promise<void> {
  await Promise.all(deliveries.map((one) => o.s.store().settle(one, end(one, o.s.clock.now()))));
}

/** Everything that is settled, so many of each state. */
async function pruneAll(o: TestOutbox, limit: number) {
  const all = o.s.clock.now() + 1;
  return o.s.prune({ delivered: all, failed: all, seen: 0 }, limit);
}

describe("pruning", () => {
  it("removes an event with the last of its deliveries, and not before", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ deliverTo: ["crm", "warehouse", "billing"] }));
    const events = () => o.sql("SELECT message_id FROM events").length;
    await settle(o, await o.s.read({ destination: "warehouse" }));
    await pruneAll(o, 10);
    assert.equal(events(), 1);
    await settle(o, await o.s.read({ destination: "crm" }), expired);
    await pruneAll(o, 10);
    assert.equal(events(), 1);
    assert.equal((await o.s.read({ destination: "billing" })).length, 1);
    await settle(o, await o.s.read({ destination: "billing" }), failed);
    await pruneAll(o, 10);
    assert.equal(events(), 0);
    assert.deepEqual(o.sql("SELECT * FROM deliveries"), []);
  });

  it("removes an event of which deliveries were pruned before a restart", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ deliverTo: ["crm", "warehouse"] }));
    await settle(o, await o.s.read({ destination: "warehouse" }));
    await pruneAll(o, 10);
    await o.s.reopen();
    await o.s.append(makeEntry({ messageId: "m2" }));
    const [first] = await o.s.read();
    assert.ok(first);
    await settle(o, [first]);
    await pruneAll(o, 10);
    assert.deepEqual(o.sql("SELECT message_id FROM events"), [{ message_id: "m2" }]);
  });

  it("answers null only when there is nothing to do, also where no count speaks of what went", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(3));
    await settle(o, await o.s.read(), failed);
    const before = { delivered: o.s.clock.now() + 1, failed: 0, seen: 0 };
    const first = await o.s.store().prune(before, 10);
    assert.ok(first !== null && Object.values(first).every((count) => count === 0));
    assert.deepEqual(o.sql("SELECT first FROM segments"), []);
    assert.equal(await o.s.store().prune(before, 10), null);
  });

  it("begins with what was settled first, not with what was accepted first", async () => {
    await using o = await startOutbox();
    for (const entry of makeEntries(4)) await o.s.append(entry);
    const [one, two, three, four] = await o.s.read();
    assert.ok(one && two && three && four);
    for (const delivery of [three, one, four, two]) {
      await settle(o, [delivery]);
      await o.s.clock.advance("1s");
    }
    await pruneAll(o, 2);
    assert.deepEqual(o.sql("SELECT message_id FROM events ORDER BY id"), [{ message_id: "m2" }, { message_id: "m4" }]);
  });

  it("writes nothing when there is nothing to remove", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(3));
    await o.fold();
    const version = () => o.shell.pragma("data_version", { simple: true });
    const before = version();
    const { clock } = o.s;
    await o.s.prune({ delivered: clock.now(), failed: clock.now(), seen: clock.now() }, 10);
    assert.equal(version(), before);
    await settle(o, await o.s.read());
    assert.notEqual(version(), before);
  });

  it("gives the room back to the disk", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeLargeEntries(200, 48 * KB));
    // Each page holds a few MB.
    while ((await o.s.read()).length > 0) await settle(o, await o.s.read());
    const full = await sizeOf(o);
    assert.ok(full > 6 * MB);
    for (let removed = 1; removed > 0; ) removed = (await pruneAll(o, 40)).delivered;
    const shrunk = await sizeOf(o);
    assert.ok(shrunk < full / 2, `${shrunk} of ${full} bytes are left`);
  });
});

/** Bytes of the file, when all that was committed is in it. */
async function sizeOf({ shell, path }: TestOutbox): Promise<number> {
  shell.pragma("wal_checkpoint(TRUNCATE)");
  return (await stat(path)).size;
}

const NONE = { delivered: 0, failed: 0, expired: 0, unrouted: 0, seen: 0 };

/** A segment of eight to crm of which so many are delivered; answers those that wait. */
async function appendEight(o: TestOutbox, done: number): Promise<readonly Delivery[]> {
  await o.s.append(...makeEntries(8));
  const all = await o.s.read();
  await Promise.all(all.slice(0, done).map((one) => o.s.store().settle(one, delivered(one, o.s.clock.now()))));
  return all.slice(done);
}

/** Only segments of which at most half waits. */
function dissolve({ s }: TestOutbox, before = s.clock.now() + 1) {
  return s.prune({ delivered: 0, failed: 0, seen: 0, sparse: before }, 500);
}

function segments({ sql }: TestOutbox): number {
  return sql("SELECT * FROM segments").length;
}

describe("a segment of which at most half waits", () => {
  it("is dissolved when there has to be room: what was delivered goes, what waits gets rows of its own", async () => {
    await using o = await startOutbox();
    const accepted = o.s.clock.now();
    const waiting = await appendEight(o, 4);
    await o.s.clock.advance("1m");
    assert.deepEqual(await dissolve(o), { ...NONE, delivered: 4 });
    assert.equal(o.s.moves(), 1);
    for (const table of ["segments", "contents", "progress", "events"])
      assert.deepEqual(o.sql(`SELECT * FROM ${table}`), []);
    assert.deepEqual(await o.s.counts(), ["crm waiting: 4"]);
    assert.deepEqual(await o.s.read(), []);
    const expected = waiting.map(withoutRef);
    assert.deepEqual((await o.s.read({ queue: "retry", dueBy: accepted })).map(withoutRef), expected);
    await o.s.reopen();
    assert.deepEqual((await o.s.read({ queue: "retry" })).map(withoutRef), expected);
    assert.deepEqual(await o.s.counts(), ["crm waiting: 4"]);
  });

  it("stays if the disk has changed it, and the others go all the same", async () => {
    await using o = await startOutbox();
    await appendEight(o, 4);
    const first = o.sql("SELECT first FROM segments")[0]?.first;
    o.shell.exec("UPDATE contents SET bodies = replace(bodies, 'message', 'massage')");
    await o.s.append(...makeEntries(8, { ownId: true }));
    for (const one of await o.s.read()) await o.s.store().settle(one, delivered(one, o.s.clock.now()));
    const before = { delivered: o.s.clock.now() + 1, failed: 0, seen: 0, sparse: o.s.clock.now() + 1 };
    assert.deepEqual(await o.s.prune(before, 500), { ...NONE, delivered: 8 });
    assert.deepEqual(
      o.sql("SELECT first FROM segments").map((row) => row.first),
      [first],
    );
    // It is not tried again and again.
    assert.deepEqual(await o.s.prune(before, 500), NONE);
    assert.deepEqual(await o.s.counts(), ["crm delivered: 4", "crm waiting: 4"]);
  });

  it("stays if more than half of it waits, if it is too young, or if nobody asks", async () => {
    await using o = await startOutbox();
    const now = o.s.clock.now();
    const [next] = await appendEight(o, 3);
    assert.ok(next);
    assert.deepEqual(await dissolve(o), NONE);
    await o.s.store().settle(next, delivered(next, now));
    assert.deepEqual(await dissolve(o, now), NONE);
    assert.deepEqual(await o.s.prune({ delivered: now + 1, failed: now + 1, seen: 0 }, 500), NONE);
    assert.equal(segments(o), 1);
    assert.equal(o.s.moves(), 0);
    assert.deepEqual(await dissolve(o), { ...NONE, delivered: 4 });
    assert.equal(segments(o), 0);
  });

  it("is dissolved for each of its destinations, with what went nowhere and what was tried", async () => {
    await using o = await startOutbox();
    const now = o.s.clock.now();
    await o.s.append(
      makeEntry({ messageId: "m1", deliverTo: ["crm", "warehouse"] }),
      makeEntry({ messageId: "m2", deliverTo: ["warehouse"] }),
      makeEntry({ messageId: "m3", deliverTo: ["crm"] }),
      makeEntry({ messageId: "m4", deliverTo: [] }),
      makeEntry({ messageId: "m5", deliverTo: ["crm"] }),
    );
    const [one, three] = await o.s.read();
    const [other] = await o.s.read({ destination: "warehouse" });
    assert.ok(one && three && other);
    await o.s.store().settle(one, retried(one, now));
    await o.s.store().settle(three, failed(three, now));
    assert.deepEqual(await dissolve(o), NONE);
    await o.s.store().settle(other, delivered(other, now));
    assert.deepEqual(await dissolve(o), { ...NONE, delivered: 1, unrouted: 1 });
    assert.deepEqual(o.sql("SELECT event, destination, state, attempts, message_id FROM deliveries ORDER BY event"), [
      { event: 1, destination: "crm", state: "waiting", attempts: 1, message_id: "m1" },
      { event: 2, destination: "warehouse", state: "waiting", attempts: 0, message_id: "m2" },
      { event: 3, destination: "crm", state: "failed", attempts: 1, message_id: "m3" },
      { event: 5, destination: "crm", state: "waiting", attempts: 0, message_id: "m5" },
    ]);
    assert.deepEqual(await o.s.counts(), ["crm failed: 1", "crm waiting: 2", "warehouse waiting: 1"]);
  });

  it("is dissolved together with others, the oldest first, until there were as many events as asked for", async () => {
    await using o = await startOutbox();
    const start = o.s.clock.now();
    for (let n = 0; n < 3; n += 1) {
      await o.s.append(...makeEntries(8, { ownId: true }));
      for (const one of (await o.s.read()).slice(-8, -2)) await o.s.store().settle(one, delivered(one, start));
      await o.s.clock.advance("1s");
    }
    const before = { delivered: 0, failed: 0, seen: 0, sparse: o.s.clock.now() };
    assert.deepEqual(await o.s.prune(before, 9), { ...NONE, delivered: 12 });
    assert.deepEqual(o.sql("SELECT first FROM segments"), [{ first: 17 }]);
    assert.deepEqual(await o.s.prune(before, 1), { ...NONE, delivered: 6 });
    assert.deepEqual(await o.s.prune(before, 1), NONE);
    assert.deepEqual(await o.s.counts(), ["crm waiting: 6"]);
  });
});

describe("a segment that takes less space than what waits in it would by itself", () => {
  it("stays, until more of it is settled", async () => {
    await using o = await startOutbox();
    // There are four kinds of them, and all together take hardly more than four.
    const bodyOf = (nth: number): string => JSON.stringify({ text: noise(500, nth % 4) });
    await o.s.append(...makeEntries(100).map((entry, nth) => ({ ...entry, body: bodyOf(nth) })));
    const all = await o.s.read();
    const settle = (some: readonly Delivery[]) =>
      Promise.all(some.map((one) => o.s.store().settle(one, delivered(one, o.s.clock.now()))));
    await settle(all.slice(0, 60));
    const before = { delivered: 0, failed: 0, seen: 0, sparse: o.s.clock.now() + 1 };
    assert.deepEqual(await o.s.prune(before, 500), NONE);
    assert.equal(await o.s.store().prune(before, 500), null);
    assert.equal(segments(o), 1);
    await settle(all.slice(60, 99));
    assert.deepEqual(await o.s.prune(before, 500), { ...NONE, delivered: 99 });
    assert.deepEqual(await o.s.counts(), ["crm waiting: 1"]);
  });
});

describe("a delivery that is under way while its segment is dissolved", () => {
  for (const end of [delivered, failed, expired, retried, offline]) {
    it(`is ${end.name} once, and counted right`, async () => {
      await using o = await startOutbox();
      const [delivery] = await appendEight(o, 7);
      assert.ok(delivery);
      await dissolve(o);
      const settlement = end(delivery, o.s.clock.now());
      assert.equal(await o.s.store().settle(delivery, settlement), "written");
      const waits = settlement.state === "waiting";
      assert.deepEqual(await o.s.counts(), [`crm ${settlement.state}: 1`]);
      assert.deepEqual(o.sql("SELECT event, state, attempts FROM deliveries"), [
        { event: 8, state: settlement.state, attempts: settlement.attempts },
      ]);
      assert.equal((await o.s.read({ queue: "retry" })).length, waits ? 1 : 0);
      if (!waits) assert.equal(await o.s.store().settle(delivery, settlement), "gone");
      await o.s.reopen();
      assert.deepEqual(await o.s.counts(), [`crm ${settlement.state}: 1`]);
    });
  }

  it("may be settled in the transaction of the pruning: before, behind, and in segments that nobody removes", async () => {
    await using o = await startOutbox();
    const [five, six, seven, eight] = await appendEight(o, 4);
    await o.s.append(...makeEntries(3, { ownId: true }));
    const young = (await o.s.read()).at(-1);
    assert.ok(five && six && seven && eight && young);
    const now = o.s.clock.now();
    const settle = (delivery: Delivery, end = delivered) => o.s.store().settle(delivery, end(delivery, now));
    const before = [settle(five), settle(young, failed)];
    const pruning = dissolve(o);
    const behind = [
      settle(six),
      settle(seven, retried),
      settle(five),
      settle(six),
      settle(eight, failed),
      settle(young),
    ];
    assert.deepEqual(await Promise.all(before), ["written", "written"]);
    assert.deepEqual(await pruning, { ...NONE, delivered: 5 });
    assert.deepEqual(await Promise.all(behind), ["written", "written", "gone", "gone", "written", "gone"]);
    assert.deepEqual(o.sql("SELECT event, state FROM deliveries ORDER BY event"), [
      { event: 6, state: "delivered" },
      { event: 7, state: "waiting" },
      { event: 8, state: "failed" },
      { event: 9, state: "waiting" },
      { event: 10, state: "waiting" },
      { event: 11, state: "failed" },
    ]);
    const counts = ["crm delivered: 1", "crm failed: 2", "crm waiting: 3"];
    assert.deepEqual(await o.s.counts(), counts);
    await o.s.reopen();
    assert.deepEqual(await o.s.counts(), counts);
  });

  it("is removed by the transaction that settles it, if that is what makes its segment settled", async () => {
    await using o = await startOutbox();
    const [delivery] = await appendEight(o, 7);
    assert.ok(delivery);
    const all = o.s.clock.now() + 1;
    // The store looks whether there is anything to do before: a failed one is.
    await o.s.append(makeEntry({ messageId: "failing" }));
    const failing = (await o.s.read()).at(-1) ?? assert.fail();
    await o.s.store().settle(failing, failed(failing, o.s.clock.now()));
    const [written, pruned, again] = await Promise.all([
      o.s.store().settle(delivery, delivered(delivery, o.s.clock.now())),
      o.s.prune({ delivered: all, failed: all, seen: 0 }, 100),
      o.s.store().settle(delivery, failed(delivery, o.s.clock.now())),
    ]);
    assert.deepEqual([written, again], ["written", "gone"]);
    assert.deepEqual(pruned, { ...NONE, delivered: 8, failed: 1 });
    assert.deepEqual(await o.s.counts(), []);
    assert.equal(segments(o), 0);
  });
});
