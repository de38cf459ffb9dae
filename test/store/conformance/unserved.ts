import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Delivery } from "../../../src/model/delivery.ts";
import { SLOW } from "../../slow.ts";
import { type OpenStore, startStore, type TestStore } from "../harness.ts";
import {
  delivered,
  expired,
  failed,
  makeEntries,
  makeEntry,
  makeLargeEntries,
  offline,
  refused,
  retried,
} from "../make.ts";
import { createExpected } from "./model.ts";
import { expectCounts } from "./model-reads.ts";
import { type Act, anyAct, anyUnserving, compareBacklog, DESTINATIONS, play } from "./sequences.ts";

const MOVE = { from: "crm", to: "warehouse" };
const MANY = 1_000;

export function describeUnserved(open: OpenStore): void {
  describe("discard", () => {
    it("ends the waiting of what was tried and of what was not, for good", async () => {
      await using s = await startStore(open);
      await appendBothKinds(s);
      assert.deepEqual(await s.store().waiting.discard("crm", MANY), { discarded: 5, more: false });
      const counts = ["crm delivered: 1", "crm failed: 5", "warehouse waiting: 6"];
      for (const again of [false, true]) {
        if (again) await s.reopen();
        assert.deepEqual([...(await s.read()), ...(await s.read({ queue: "retry" }))], []);
        assert.deepEqual(await s.counts(), counts);
      }
      assert.equal((await s.read({ destination: "warehouse" })).length, 6);
    });

    it("does so in pages, from several commits, and says when there is no more", async () => {
      await using s = await startStore(open);
      for (let n = 0; n < 4; n += 1) await s.append(...makeEntries(3, { ownId: true }));
      for (const one of (await s.read()).slice(0, 5)) await s.store().settle(one, retried(one, s.clock.now()));
      const answers = [];
      for (let page = 0; page < 4; page += 1) answers.push(await s.store().waiting.discard("crm", 5));
      assert.deepEqual(answers, [
        { discarded: 5, more: true },
        { discarded: 5, more: true },
        { discarded: 2, more: false },
        { discarded: 0, more: false },
      ]);
      assert.deepEqual(await s.counts(), ["crm failed: 12"]);
    });

    it("writes no more than a few MB at once", async () => {
      await using s = await startStore(open);
      await s.append(...makeLargeEntries(100, 32_000, { ownId: true }));
      const { waiting } = s.store();
      const pages = [await waiting.discard("crm", MANY), await waiting.discard("crm", MANY)];
      const [first] = pages.map((page) => ("discarded" in page ? page.discarded : 0));
      assert.ok(first && first > 50 && first < 80, `${first}`);
      assert.deepEqual(pages, [
        { discarded: first, more: true },
        { discarded: 100 - first, more: false },
      ]);
    });

    it("keeps them as long as any that failed", async () => {
      await using s = await startStore(open);
      await appendBothKinds(s);
      const at = s.clock.now();
      await s.store().waiting.discard("crm", MANY);
      assert.equal((await s.prune({ delivered: 0, failed: at, seen: 0 }, MANY)).failed, 0);
      assert.equal((await s.prune({ delivered: 0, failed: at + 1, seen: 0 }, MANY)).failed, 5);
      assert.deepEqual(await s.counts(), ["crm delivered: 1", "warehouse waiting: 6"]);
    });

    it("has the last word: whoever still knew one is told that it is gone", async () => {
      await using s = await startStore(open);
      const known = await appendBothKinds(s);
      await s.store().waiting.discard("crm", MANY);
      const answers = known.map((one) => s.store().settle(one, delivered(one, s.clock.now())));
      assert.deepEqual(new Set(await Promise.all(answers)), new Set(["gone"]));
    });
  });

  describe("move", () => {
    it("makes what was tried and what was not wait for another, as if it had just been accepted for it", async () => {
      await using s = await startStore(open);
      const known = await appendBothKinds(s, ["crm"]);
      await s.later("1m");
      assert.deepEqual(await s.store().waiting.move(MOVE, MANY), { moved: 5, doubled: 0, more: false });
      const fresh = {
        attempts: 0,
        firstAttemptAt: null,
        attemptedAt: null,
        replayedAt: null,
        stoodStill: 0,
        finals: [],
      };
      const expected = known.map((one) => ({ ...one, ...fresh, destination: "warehouse", dueAt: one.acceptedAt }));
      for (const again of [false, true]) {
        if (again) await s.reopen();
        assert.deepEqual([...(await s.read()), ...(await s.read({ queue: "retry" }))], []);
        assert.deepEqual(await readBoth(s, "warehouse"), expected);
        assert.deepEqual(await s.counts(), ["crm delivered: 1", "warehouse waiting: 5"]);
      }
    });

    it("tells the daemon to look for them, unless there were none", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry());
      await s.store().waiting.move({ from: "warehouse", to: "crm" }, MANY);
      assert.equal(s.moves(), 0);
      await s.store().waiting.move(MOVE, MANY);
      assert.equal(s.moves(), 1);
    });

    it("does so in pages, from several commits, and says when there is no more", async () => {
      await using s = await startStore(open);
      for (let n = 0; n < 4; n += 1) await s.append(...makeEntries(3, { ownId: true }));
      for (const one of (await s.read()).slice(0, 5)) await s.store().settle(one, retried(one, s.clock.now()));
      const answers = [];
      for (let page = 0; page < 4; page += 1) answers.push(await s.store().waiting.move(MOVE, 5));
      assert.deepEqual(answers, [
        { moved: 5, doubled: 0, more: true },
        { moved: 5, doubled: 0, more: true },
        { moved: 2, doubled: 0, more: false },
        { moved: 0, doubled: 0, more: false },
      ]);
      assert.deepEqual(await s.counts(), ["warehouse waiting: 12"]);
      const ids = (await readBoth(s, "warehouse")).map(({ id }) => id);
      assert.deepEqual(
        ids.sort((a, b) => a - b),
        Array.from({ length: 12 }, (_, n) => n + 1),
      );
    });

    for (const end of [null, delivered, failed, expired, retried, offline, refused]) {
      it(`does not send an event twice to one that has it (${end?.name ?? "waiting"})`, async () => {
        await using s = await startStore(open);
        await s.append(makeEntry({ messageId: "m1", deliverTo: ["crm", "warehouse"] }), makeEntry({ messageId: "m2" }));
        const [there] = await s.read({ destination: "warehouse" });
        if (end && there) await s.store().settle(there, end(there, s.clock.now()));
        const before = (await s.counts()).filter((line) => line.startsWith("warehouse"));
        assert.deepEqual(await s.store().waiting.move({ from: "crm", to: "warehouse" }, MANY), {
          ...{ moved: 1, doubled: 1, more: false },
        });
        const waiting = (await readBoth(s, "warehouse")).map(({ messageId }) => messageId);
        const has = end === null || ["retried", "offline", "refused"].includes(end.name);
        assert.deepEqual(waiting.sort(), has ? ["m1", "m2"] : ["m2"]);
        assert.ok((await s.counts()).includes("crm failed: 1"));
        assert.ok(before.length === 1);
      });
    }

    it("takes them back again", async () => {
      await using s = await startStore(open);
      const known = await appendBothKinds(s, ["crm"]);
      await s.store().waiting.move(MOVE, MANY);
      const back = await s.store().waiting.move({ from: "warehouse", to: "crm" }, MANY);
      assert.deepEqual(back, { moved: 5, doubled: 0, more: false });
      assert.deepEqual(await s.counts(), ["crm delivered: 1", "crm waiting: 5"]);
      assert.deepEqual(
        (await readBoth(s, "crm")).map(({ id }) => id),
        known.map(({ id }) => id),
      );
    });

    it("leaves with everything else the counts and the backlog as they should be", SLOW, async () => {
      await fc.assert(
        fc.asyncProperty(anyActs, async (acts) => {
          await using s = await startStore(open);
          const expected = createExpected();
          for (const act of acts) {
            await play({ do: "commit", acts: [act] }, s, expected);
            assert.deepEqual(await s.counts(), expectCounts(expected));
          }
          await s.reopen();
          for (const destination of [...DESTINATIONS, "new"]) await compareBacklog(destination, s, expected);
        }),
        { numRuns: 60 },
      );
    });

    it("leaves them to be settled as any other", async () => {
      await using s = await startStore(open);
      await appendBothKinds(s, ["crm"]);
      await s.store().waiting.move(MOVE, MANY);
      const ends = [delivered, failed, retried, delivered, offline];
      const all = await readBoth(s, "warehouse");
      const answers = all.map((one, nth) => s.store().settle(one, (ends[nth] ?? failed)(one, s.clock.now())));
      assert.deepEqual(new Set(await Promise.all(answers)), new Set(["written"]));
      assert.deepEqual(await s.counts(), [
        ...["crm delivered: 1", "warehouse delivered: 2", "warehouse failed: 1", "warehouse waiting: 2"],
      ]);
    });
  });
}

/** At least one event to each, and some that were tried. */
const anyStart: fc.Arbitrary<readonly Act[]> = fc
  .record({
    routes: fc.array(fc.subarray(DESTINATIONS, { minLength: 1 }), { minLength: 6, maxLength: 12 }),
    choices: fc.array(fc.nat(1_000), { minLength: 4, maxLength: 12 }),
    end: fc.constantFrom("delivered" as const, "failed" as const, "retried" as const, "refused" as const),
  })
  .map(({ routes, choices, end }) => [
    { do: "append", events: routes.map((to, id) => ({ id, to })) },
    { do: "settle", choices, asRead: true, end },
  ]);

const anyActs = fc
  .record({
    start: anyStart,
    rest: fc.array(fc.oneof(anyAct, ...anyUnserving()), { minLength: 4, maxLength: 16 }),
  })
  .map(({ start, rest }) => [...start, ...rest]);

/**
 * Six events to each of these: of those to crm one is delivered and two were tried, each in its own commit. Answers what
 * waits for crm.
 */
async function appendBothKinds(s: TestStore, deliverTo = ["crm", "warehouse"]): Promise<readonly Delivery[]> {
  await s.append(...makeEntries(3, { ownId: true, deliverTo }));
  await s.clock.advance("1s");
  await s.append(...makeEntries(3, { ownId: true, deliverTo }));
  const [one, two, , , five] = await s.read();
  assert.ok(one && two && five);
  await s.store().settle(one, delivered(one, s.clock.now()));
  await s.store().settle(two, refused(two, s.clock.now()));
  await s.store().settle(five, offline(five, s.clock.now()));
  return readBoth(s, "crm");
}

async function readBoth(s: TestStore, destination: string): Promise<readonly Delivery[]> {
  return [...(await s.read({ destination })), ...(await s.read({ destination, queue: "retry" }))];
}
