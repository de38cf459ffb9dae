import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry, PruneCounts } from "../../../src/model/ports.ts";
import { KB } from "../../../src/model/units.ts";
import { type OpenStore, startStore, type TestStore } from "../harness.ts";
import { delivered, expired, failed, makeEntries, makeEntry, makeLargeEntries, retried } from "../make.ts";
import type { Abilities } from "./sharing.ts";

const NONE: PruneCounts = { delivered: 0, failed: 0, expired: 0, unrouted: 0, seen: 0 };

export function describePrune(open: OpenStore, { frees }: Abilities): void {
  describe("prune", () => {
    it("removes what was settled before its time, and nothing that was settled at it or later", async () => {
      await using s = await startStore(open);
      await settleAll(s, delivered, makeEntries(3, { ownId: true }));
      await s.later("1h");
      const at = s.clock.now();
      await settleAll(s, delivered, makeEntries(2, { ownId: true }));
      assert.deepEqual(await s.prune({ delivered: at, failed: at, seen: 0 }, 100), { ...NONE, delivered: 3 });
      assert.deepEqual(await s.counts(), ["crm delivered: 2"]);
      assert.deepEqual(await s.prune({ delivered: at, failed: at, seen: 0 }, 100), NONE);
      const { delivered: rest } = await s.prune({ delivered: at + 1, failed: at, seen: 0 }, 100);
      assert.equal(rest, 2);
      assert.deepEqual(await s.counts(), []);
    });

    it("has one time for what was delivered, and another for what failed or expired", async () => {
      await using s = await startStore(open);
      for (const end of [delivered, failed, expired]) await settleAll(s, end, makeEntries(2, { ownId: true }));
      const all = s.clock.now() + 1;
      assert.deepEqual(await s.prune({ delivered: all, failed: 0, seen: 0 }, 100), { ...NONE, delivered: 2 });
      assert.deepEqual(await s.counts(), ["crm expired: 2", "crm failed: 2"]);
      const second = await s.prune({ delivered: 0, failed: all, seen: 0 }, 100);
      assert.deepEqual(second, { ...NONE, failed: 2, expired: 2 });
      assert.deepEqual(await s.counts(), []);
    });

    it("removes failed and expired ones so many at a time", async () => {
      await using s = await startStore(open);
      for (const end of [failed, expired]) await settleAll(s, end, makeEntries(5, { ownId: true }));
      const before = { delivered: 0, failed: s.clock.now() + 1, seen: 0 };
      assert.deepEqual(await s.prune(before, 3), { ...NONE, failed: 3, expired: 3 });
      assert.deepEqual(await s.counts(), ["crm expired: 2", "crm failed: 2"]);
      assert.deepEqual(await s.prune(before, 3), { ...NONE, failed: 2, expired: 2 });
      assert.deepEqual(await s.prune(before, 3), NONE);
    });

    it("removes delivered and unrouted ones in steps, if they did not come together", async () => {
      await using s = await startStore(open);
      for (let n = 0; n < 5; n += 1) {
        await settleAll(s, delivered, makeEntries(1, { ownId: true }));
        await s.append(makeEntry({ deliverTo: [], ownId: true }));
      }
      const before = { delivered: s.clock.now() + 1, failed: 0, seen: 0 };
      let [removed, steps, left] = [0, 0, 10];
      for (; left > 0; left -= removed) {
        const { delivered: some, unrouted, ...others } = await s.prune(before, 3);
        removed = some + unrouted;
        steps += 1;
        assert.ok(removed >= 1 && removed <= 3, `${removed} in one step`);
        assert.deepEqual(others, { failed: 0, expired: 0, seen: 0 });
      }
      assert.deepEqual([left, steps], [0, 4]);
      assert.deepEqual(await s.counts(), []);
      assert.deepEqual(await s.prune(before, 3), NONE);
    });

    it("keeps what waits, and what failed lately, of those that came together with what it removes", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(6));
      const [one, two, three, four] = await s.read();
      assert.ok(one && two && three && four);
      const now = s.clock.now();
      for (const delivery of [one, two]) await s.store().settle(delivery, delivered(delivery, now));
      await s.store().settle(three, failed(three, now));
      await s.store().settle(four, retried(four, now));
      await s.prune({ delivered: now + 1, failed: 0, seen: 0, sparse: now + 1 }, 100);
      assert.deepEqual(await s.counts(), ["crm failed: 1", "crm waiting: 3"]);
      const left = [...(await s.read()), ...(await s.read({ queue: "retry" }))];
      const texts = left.map(({ messageId, attempts, body }) => `${messageId} ${attempts} ${body}`);
      assert.deepEqual(texts.sort(), ['m4 1 {"messageId":"m4"}', 'm5 0 {"messageId":"m5"}', 'm6 0 {"messageId":"m6"}']);
    });

    it("never removes what waits, whatever the times are", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(4));
      const [one, two] = await s.read();
      assert.ok(one && two);
      for (const delivery of [one, two]) await s.store().settle(delivery, retried(delivery, s.clock.now()));
      const never = Number.MAX_SAFE_INTEGER;
      const { seen, ...others } = await s.prune({ delivered: never, failed: never, seen: never }, 100);
      assert.deepEqual(others, { delivered: 0, failed: 0, expired: 0, unrouted: 0 });
      assert.equal(seen, 4);
      assert.deepEqual(await s.counts(), ["crm waiting: 4"]);
      assert.equal((await s.read()).length + (await s.read({ queue: "retry" })).length, 4);
    });

    it("removes events that went nowhere as long after as what was delivered", async () => {
      await using s = await startStore(open);
      const at = s.clock.now();
      await s.append(...makeEntries(2, { deliverTo: [], ownId: true }));
      assert.deepEqual(await s.prune({ delivered: at, failed: at, seen: 0 }, 100), NONE);
      const pruned = await s.prune({ delivered: at + 1, failed: at, seen: 0 }, 100);
      assert.deepEqual(pruned, { ...NONE, unrouted: 2 });
    });

    it("forgets the ids that were seen before their time, and only those", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(3));
      await s.later("1h");
      await s.append(makeEntry({ messageId: "late" }));
      const { seen } = await s.prune({ delivered: 0, failed: 0, seen: s.clock.now() }, 100);
      assert.equal(seen, 3);
      assert.deepEqual(await s.append(makeEntry({ messageId: "m1" }), makeEntry({ messageId: "late" })), [
        ...["accepted", "duplicate"],
      ]);
      assert.deepEqual(await s.prune({ delivered: 0, failed: 0, seen: s.clock.now() }, 100), NONE);
    });

    it("goes on accepting and recognising after everything was removed", async () => {
      await using s = await startStore(open);
      await settleAll(s, delivered, makeEntries(10, { ownId: true }));
      const all = s.clock.now() + 1;
      await s.append(...makeEntries(10, { deliverTo: [] }));
      await s.prune({ delivered: all, failed: all, seen: all }, 100);
      await s.reopen();
      assert.deepEqual(await s.append(makeEntry(), makeEntry()), ["accepted", "duplicate"]);
      assert.deepEqual(await s.counts(), ["crm waiting: 1"]);
      await s.reopen();
      assert.deepEqual(await s.append(makeEntry()), ["duplicate"]);
    });

    it("makes room", { skip: !frees && "the server counts it until it has cleaned up" }, async () => {
      await using s = await startStore(open);
      const { used: empty } = (await s.store().health.state()).size;
      await settleAll(s, delivered, makeLargeEntries(40, 48 * KB));
      const { used: full } = (await s.store().health.state()).size;
      assert.ok(full - empty > 40 * 32 * KB);
      await s.prune({ delivered: s.clock.now() + 1, failed: 0, seen: 0 }, 100);
      const { used: after } = (await s.store().health.state()).size;
      assert.ok(after - empty < 32 * KB, `${after - empty} bytes are still in use`);
    });
  });
}

type End = typeof delivered;

/** Appends these, and settles them like this. */
async function settleAll(s: TestStore, end: End, entries: readonly Entry[]): Promise<void> {
  const count = entries.length;
  await s.append(...entries);
  const settling = (await s.read()).map((delivery) => s.store().settle(delivery, end(delivery, s.clock.now())));
  assert.equal((await Promise.all(settling)).length, count);
}
