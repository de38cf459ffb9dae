import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HOUR } from "../../../src/model/units.ts";
import { type OpenStore, startStore } from "../harness.ts";
import { delivered, expired, failed, makeEntries, makeEntry, retried } from "../make.ts";

export function describeBacklog(open: OpenStore): void {
  describe("the backlog", () => {
    it("knows a destination whose deliveries are all removed, also after a crash", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry({ deliverTo: ["lake"] }));
      const [one = assert.fail()] = await s.read({ destination: "lake" });
      await s.store().settle(one, delivered(one, s.clock.now()));
      await s.later("1m");
      const now = s.clock.now() + 1;
      await s.prune({ delivered: now, failed: now, seen: 0 }, 100);
      await s.later("1m");
      await s.kill();
      const known = (await s.store().backlog.counts()).filter(({ destination }) => destination === "lake");
      assert.ok(known.length > 0 && known.every(({ count }) => count === 0), JSON.stringify(known));
    });

    it("knows when the next retry is due", async () => {
      await using s = await startStore(open);
      const { backlog, settle } = s.store();
      const now = s.clock.now();
      await s.append(...makeEntries(4));
      assert.equal(await backlog.nextRetryAt("crm", null), null);
      const [one, two, three] = await s.read();
      assert.ok(one && two && three);
      await settle(one, retried(one, now, now + 300));
      await settle(two, retried(two, now, now + 100));
      await settle(three, retried(three, now, now + 200));
      assert.equal(await backlog.nextRetryAt("crm", null), now + 100);
      assert.equal(await backlog.nextRetryAt("warehouse", null), null);
    });

    it("knows when the next retry after a position is due", async () => {
      await using s = await startStore(open);
      const { backlog, settle } = s.store();
      const now = s.clock.now();
      await s.append(...makeEntries(3));
      const [one, two, three] = await s.read();
      assert.ok(one && two && three);
      for (const delivery of [one, two]) await settle(delivery, retried(delivery, now, now + 100));
      await settle(three, retried(three, now, now + 200));
      assert.equal(await backlog.nextRetryAt("crm", { dueAt: now + 100, id: one.id }), now + 100);
      assert.equal(await backlog.nextRetryAt("crm", { dueAt: now + 100, id: two.id }), now + 200);
      assert.equal(await backlog.nextRetryAt("crm", { dueAt: now + 200, id: three.id }), null);
    });

    it("does not count what is settled as a retry", async () => {
      await using s = await startStore(open);
      const { backlog, settle } = s.store();
      await s.append(...makeEntries(3));
      const now = s.clock.now();
      for (const delivery of await s.read()) await settle(delivery, retried(delivery, now));
      const ends = [delivered, failed, expired];
      for (const [nth, delivery] of (await s.read({ queue: "retry" })).entries()) {
        assert.notEqual(await backlog.nextRetryAt("crm", null), null);
        await settle(delivery, (ends[nth] ?? failed)(delivery, now));
      }
      assert.equal(await backlog.nextRetryAt("crm", null), null);
    });

    it("knows when the oldest that waits was accepted, whether it was tried or not", async () => {
      await using s = await startStore(open);
      const { backlog, settle } = s.store();
      const start = s.clock.now();
      assert.equal(await backlog.oldestWaitingAt("crm"), null);
      await s.append(makeEntry({ messageId: "m1" }));
      await s.later("1h");
      await s.append(makeEntry({ messageId: "m2" }));
      await s.later("1h");
      await s.append(makeEntry({ messageId: "m3", deliverTo: ["warehouse"] }));
      assert.equal(await backlog.oldestWaitingAt("crm"), start);
      assert.equal(await backlog.oldestWaitingAt("warehouse"), start + 2 * HOUR);

      const [one, two] = await s.read();
      assert.ok(one && two);
      await settle(one, retried(one, s.clock.now()));
      assert.equal(await backlog.oldestWaitingAt("crm"), start);
      await settle(one, delivered(one, s.clock.now()));
      assert.equal(await backlog.oldestWaitingAt("crm"), start + HOUR);
      await settle(two, retried(two, s.clock.now()));
      assert.equal(await backlog.oldestWaitingAt("crm"), start + HOUR);
      await settle(two, failed(two, s.clock.now()));
      assert.equal(await backlog.oldestWaitingAt("crm"), null);
    });

    it("counts deliveries by destination and state, and knows the counts after a restart", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(5, { deliverTo: ["crm", "warehouse"] }));
      const [one, two, three, four] = await s.read();
      assert.ok(one && two && three && four);
      const now = s.clock.now();
      for (const delivery of [one, two]) await s.store().settle(delivery, delivered(delivery, now));
      await s.store().settle(three, failed(three, now));
      await s.store().settle(four, expired(four, now));
      const counts = ["crm delivered: 2", "crm expired: 1", "crm failed: 1", "crm waiting: 1", "warehouse waiting: 5"];
      assert.deepEqual(await s.counts(), counts);
      await s.reopen();
      assert.deepEqual(await s.counts(), counts);
    });
  });
}
