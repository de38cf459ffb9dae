import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Delivery } from "../../../src/model/delivery.ts";
import { MINUTE, SECOND } from "../../../src/model/units.ts";
import { type OpenStore, startStore, type TestStore, withoutRef } from "../harness.ts";
import { delivered, expired, failed, makeEntries, makeEntry, makeProgress, retried, URL_A } from "../make.ts";

export function describeSettle(open: OpenStore): void {
  describe("settle", () => {
    for (const end of [delivered, failed, expired]) {
      it(`ends the waiting of what is ${end.name}, for good`, async () => {
        await using s = await startStore(open);
        const delivery = await appendOne(s);
        assert.equal(await s.store().settle(delivery, end(delivery, s.clock.now())), "written");
        assert.deepEqual([...(await s.read()), ...(await s.read({ queue: "retry" }))], []);
        assert.deepEqual(await s.counts(), [`crm ${end.name}: 1`]);
        await s.reopen();
        assert.deepEqual([...(await s.read()), ...(await s.read({ queue: "retry" }))], []);
        assert.deepEqual(await s.counts(), [`crm ${end.name}: 1`]);
      });
    }

    it("remembers everything about a round after which the delivery goes on waiting", async () => {
      await using s = await startStore(open);
      const delivery = await appendOne(s);
      const round = {
        ...{ attempts: 3, firstAttemptAt: s.clock.now(), attemptedAt: s.clock.now() + MINUTE, stoodStill: 7 * SECOND },
        finals: [{ url: `${URL_A}?q="ü🙂`, reason: "400 bad\0\u2028request" }],
      };
      const dueAt = s.clock.now() + 2 * MINUTE;
      const settlement = { ...round, state: "waiting" as const, dueAt, reason: "answered 503" };
      assert.equal(await s.store().settle(delivery, settlement), "written");
      assert.deepEqual(await s.read(), []);
      const expected = [{ ...withoutRef(delivery), ...round, dueAt }];
      assert.deepEqual((await s.read({ queue: "retry" })).map(withoutRef), expected);
      assert.deepEqual(await s.counts(), ["crm waiting: 1"]);
      await s.reopen();
      assert.deepEqual((await s.read({ queue: "retry" })).map(withoutRef), expected);
    });

    it("tells a round that never left the machine from an attempt", async () => {
      await using s = await startStore(open);
      const delivery = await appendOne(s);
      const round = { ...makeProgress(delivery, s.clock.now()), attempts: 0, firstAttemptAt: null };
      const dueAt = s.clock.now() + SECOND;
      await s.store().settle(delivery, { ...round, state: "waiting", dueAt, reason: "offline: ENETUNREACH" });
      const [read = assert.fail()] = await s.read({ queue: "retry" });
      assert.deepEqual(withoutRef(read), { ...withoutRef(delivery), ...round, dueAt });
    });

    it("writes each round over the one before", async () => {
      await using s = await startStore(open);
      const delivery = await appendOne(s);
      const finals = [{ url: URL_A, reason: "410" }];
      await s.store().settle(delivery, { ...retried(delivery, s.clock.now()), finals });
      const [second] = await s.read({ queue: "retry" });
      assert.ok(second);
      assert.deepEqual(second.finals, finals);
      await s.store().settle(second, retried(second, s.clock.now() + SECOND));
      const [third, ...others] = await s.read({ queue: "retry" });
      assert.deepEqual({ attempts: third?.attempts, finals: third?.finals }, { attempts: 2, finals: [] });
      assert.deepEqual(others, []);
    });

    it("answers `gone` for what does not wait any more, and changes nothing", async () => {
      await using s = await startStore(open);
      const delivery = await appendOne(s);
      const now = s.clock.now();
      await s.store().settle(delivery, failed(delivery, now));
      for (const end of [delivered, expired, failed, retried]) {
        assert.equal(await s.store().settle(delivery, end(delivery, now)), "gone");
      }
      assert.deepEqual(await s.counts(), ["crm failed: 1"]);
      assert.deepEqual(await s.read({ queue: "retry" }), []);
    });

    it("writes the first of two settlements that come at once", async () => {
      await using s = await startStore(open);
      const delivery = await appendOne(s);
      const now = s.clock.now();
      const both = [delivered(delivery, now), failed(delivery, now)].map((one) => s.store().settle(delivery, one));
      assert.deepEqual(await Promise.all(both), ["written", "gone"]);
      assert.deepEqual(await s.counts(), ["crm delivered: 1"]);
    });

    it("answers `gone` for what was pruned", async () => {
      await using s = await startStore(open);
      const delivery = await appendOne(s);
      const now = s.clock.now();
      await s.store().settle(delivery, delivered(delivery, now));
      await s.prune({ delivered: now + 1, failed: now, seen: now }, 10);
      assert.equal(await s.store().settle(delivery, failed(delivery, now)), "gone");
      assert.deepEqual(await s.counts(), []);
    });

    it("touches only the one delivery", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(3, { deliverTo: ["crm", "warehouse"] }));
      const [, second] = await s.read();
      assert.ok(second);
      await s.store().settle(second, delivered(second, s.clock.now()));
      assert.deepEqual(
        (await s.read()).map(({ messageId }) => messageId),
        ["m1", "m3"],
      );
      assert.equal((await s.read({ destination: "warehouse" })).length, 3);
      assert.deepEqual(await s.counts(), ["crm delivered: 1", "crm waiting: 2", "warehouse waiting: 3"]);
    });
  });
}

async function appendOne(s: TestStore): Promise<Delivery> {
  await s.append(makeEntry());
  const [delivery] = await s.read();
  assert.ok(delivery);
  return delivery;
}
