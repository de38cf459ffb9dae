import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DAY, HOUR, KB } from "../../../src/model/units.ts";
import { START } from "../../flow/clock.ts";
import { makeAsk, type OpenStore, startStore } from "../harness.ts";
import { delivered, makeEntries, makeEntry, makeLargeEntries, retried } from "../make.ts";
import type { Abilities } from "./sharing.ts";

export function describeHealth(open: OpenStore, { clock }: Abilities): void {
  describe("health", () => {
    it("is writable, and shows it by a write", async () => {
      await using s = await startStore(open);
      assert.equal((await s.store().health.state()).writable, true);
      assert.equal(await s.store().health.probe(), true);
      await s.append(makeEntry());
      assert.equal((await s.store().health.state()).writable, true);
    });

    it("measures what is used against its bound, which may change", async () => {
      await using s = await startStore(open);
      s.setMaxSize(10_000_000);
      const before = (await s.store().health.state()).size;
      await s.append(...makeLargeEntries(10, 48 * KB));
      const after = (await s.store().health.state()).size;
      assert.equal(after.max, 10_000_000);
      assert.ok(after.used - before.used >= 320 * KB);
      await s.reopen();
      assert.ok(Math.abs((await s.store().health.state()).size.used - after.used) < 32 * KB);
    });

    it("takes nothing in at the bound, and goes on delivering", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(3));
      const [one, two] = await s.read();
      assert.ok(one && two);
      s.setMaxSize((await s.store().health.state()).size.used);

      const refusal = await s.store().append([makeEntry({ messageId: "m4" })]);
      assert.ok("code" in refusal);
      assert.equal(refusal.code, "store_full");
      assert.match(refusal.message, /^the outbox is full .*outbox\.maxSize/);
      assert.equal(refusal.retryAfter, 10_000);
      assert.equal(await s.store().settle(one, delivered(one, s.clock.now())), "written");
      assert.equal(await s.store().settle(two, retried(two, s.clock.now())), "written");
      assert.equal((await s.store().readQueue(makeAsk())).deliveries.length, 1);
      assert.equal((await s.read({ queue: "retry" })).length, 1);

      s.setMaxSize(2 * (await s.store().health.state()).size.used);
      assert.deepEqual(await s.append(makeEntry({ messageId: "m4" })), ["accepted"]);
    });

    it("says when it is crowded, and after each commit that leaves it so", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry({ messageId: "m1" }));
      const { used } = (await s.store().health.state()).size;
      s.setMaxSize(Math.ceil(used / 0.89));
      await s.append(makeEntry({ messageId: "m1" }));
      assert.deepEqual([(await s.store().health.state()).crowding, s.crowdings()], [null, 0]);
      s.setMaxSize(Math.floor(used / 0.91));
      assert.equal((await s.store().health.state()).crowding, "maxSize");
      await s.append(makeEntry({ messageId: "m2" }));
      assert.equal(s.crowdings(), 1);
    });

    it("says so when a delivery has ended: there may be something to remove now", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry());
      const [one = assert.fail()] = await s.read();
      s.setMaxSize(1);
      const crowdings = s.crowdings();
      await s.store().settle(one, delivered(one, s.clock.now()));
      // Until this, what was settled may wait to be written.
      await s.counts();
      assert.ok(s.crowdings() > crowdings);
    });

    it("does not say so again when nothing can be removed: whoever removes is woken by it", async () => {
      await using s = await startStore(open);
      s.setMaxSize(1);
      await s.append(makeEntry());
      const { clock } = s;
      const crowdings = s.crowdings();
      const before = { delivered: clock.now(), failed: clock.now(), seen: 0, sparse: clock.now() };
      await s.prune(before, 100);
      await s.prune(before, 100);
      assert.equal(s.crowdings(), crowdings);
    });
  });

  describe("a restart", () => {
    it("has a new store begin at what the machine's clock says", async () => {
      await using s = await startStore(open);
      assert.deepEqual([s.clock.now(), s.clock.wall()], [START, START]);
    });

    it("counts the time that the daemon was down", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry());
      const before = s.clock.now();
      s.clock.skip("29d");
      await s.reopen();
      assert.equal(s.clock.now(), before + 29 * DAY);
      assert.equal(s.store().timeline.toWall(before), START);
    });

    it("commits what is under way when it closes", async () => {
      await using s = await startStore(open);
      const appending = s.append(...makeEntries(20_000));
      const settling = s.append(makeEntry({ messageId: "last" }));
      await s.reopen();
      assert.equal((await appending).filter((kind) => kind === "accepted").length, 20_000);
      assert.deepEqual(await settling, ["accepted"]);
      assert.deepEqual(await s.counts(), ["crm waiting: 20001"]);
    });

    it("may close twice, and has closed when either is done", async () => {
      await using s = await startStore(open);
      const appending = s.append(makeEntry());
      const store = s.store();
      const first = store.close();
      await store.close();
      await s.reopen();
      await first;
      assert.deepEqual(await appending, ["accepted"]);
      assert.deepEqual(await s.counts(), ["crm waiting: 1"]);
    });

    it("refuses what comes after the end", async () => {
      await using s = await startStore(open);
      await s.store().close();
      assert.deepEqual(await s.append(makeEntry()), ["store_failed"]);
      assert.equal(await s.store().health.probe(), false);
    });
  });
  if (clock === "machine") describeMachineClock(open);
}

function describeMachineClock(open: OpenStore): void {
  describe("a restart by the machine's clock", () => {
    it("goes on where it was if the machine's clock cannot be believed, and shows its times by the clock", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry());
      const before = s.clock.now();
      for (const wall of [0, Date.UTC(2102, 0, 1), before - HOUR, before + 31 * DAY]) {
        s.clock.setWall(wall);
        await s.reopen();
        const { timeline } = s.store();
        assert.equal(s.clock.now(), before);
        assert.deepEqual([timeline.toWall(before), timeline.fromWall(wall)], [wall, before]);
        assert.equal(timeline.health().plausible, false);
      }
    });

    it("knows the time to a minute, and is not behind its newest event", async () => {
      await using s = await startStore(open);
      for (let n = 0; n < 100; n += 1) {
        await s.append(makeEntry({ messageId: `m${n}` }));
        await s.clock.advance("7s");
      }
      const before = s.clock.now();
      s.clock.setWall(0);
      await s.reopen();
      assert.ok(before - s.clock.now() <= 7_000, `${before - s.clock.now()} ms behind`);
    });

    it("measures by the machine's uptime, whatever its clock says, as long as that has run on", async () => {
      await using s = await startStore(open);
      s.clock.reboot(1);
      await s.append(makeEntry());
      const before = s.clock.now();
      s.clock.setWall(s.clock.wall() + 5 * HOUR);
      s.clock.skip("20s");
      await s.reopen();
      assert.equal(s.clock.now(), before + 20_000);
      s.clock.reboot(2);
      s.clock.skip("20s");
      await s.append(makeEntry({ messageId: "m2" }));
      const later = s.clock.now();
      s.clock.reboot(3);
      s.clock.skip("1h");
      await s.reopen();
      assert.equal(s.clock.now(), later + HOUR);
    });
  });
}
