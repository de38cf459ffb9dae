import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { describe, it } from "node:test";
import type { Delivery } from "../../../src/model/delivery.ts";
import { KB, MB } from "../../../src/model/units.ts";
import { delivered, expired, failed, makeEntries, makeEntry, makeLargeEntries } from "../make.ts";
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
