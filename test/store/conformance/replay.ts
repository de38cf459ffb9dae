import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isFault } from "../../../src/model/fault.ts";
import type { ReplayPage, ReplaySearch } from "../../../src/model/replay.ts";
import { type OpenStore, startStore, type TestStore } from "../harness.ts";
import { delivered, failed, makeEntry, makeLargeEntries } from "../make.ts";

const ALL: ReplaySearch = {
  ...{ state: null, destination: null, source: null, type: null, user: null, since: null, until: null },
};

export function describeReplay(open: OpenStore): void {
  describe("a replay", () => {
    it("stops before others that were delivered would have to make room for it; what failed has its place already", async () => {
      await using s = await startStore(open);
      await s.append(...makeLargeEntries(60, 30_000, { ownId: true }));
      // Page by page, as long as any waits.
      for (let page = await s.read(); page.length > 0; page = await s.read()) {
        for (const one of page) {
          await s.store().settle(one, one.id % 2 === 0 ? delivered(one, s.clock.now()) : failed(one, s.clock.now()));
        }
      }
      s.setMaxSize((await s.store().health.state()).size.used / 0.85);
      await s.append(makeEntry());
      const answer = await replay(s, { state: "delivered" });
      assert.ok(isFault(answer));
      assert.deepEqual([answer.code, /reached outbox\.maxSize: replayed/.test(answer.message)], ["store_full", true]);
      assert.deepEqual(countOf(await replay(s, { state: "failed" })), 30);
      s.setMaxSize((await s.store().health.state()).size.used * 2);
      await s.append(makeEntry({ messageId: "m2" }));
      assert.deepEqual(countOf(await replay(s, { state: "delivered" })), 30);
    });

    it("keeps the attempt that had delivered one which waited in a row of its own", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry({ messageId: "m1" }), makeEntry({ messageId: "m2" }), makeEntry({ messageId: "m3" }));
      const [one, two] = await s.read();
      assert.ok(one && two);
      await s.store().settle(one, delivered(one, s.clock.now()));
      await s.store().settle(two, delivered(two, s.clock.now()));
      const later = s.clock.now() + 1;
      await s.prune({ delivered: later, failed: 0, seen: 0, sparse: later }, 100);
      const [three] = await s.read({ queue: "retry" });
      assert.ok(three);
      await s.store().settle(three, delivered(three, s.clock.now()));
      assert.equal(await s.store().replay.one(three), "replayed");
      const { first } = (await s.store().lookup.delivery(three))?.log ?? assert.fail();
      assert.deepEqual(
        first.map(({ trigger, outcome }) => [trigger, outcome]),
        [["first", "delivered"]],
      );
    });
  });
}

function replay(s: TestStore, search: Partial<ReplaySearch>) {
  const page = { limit: 1_000, cursor: null };
  return s.store().replay.page({ search: { ...ALL, ...search }, page, dryRun: false, isKnown: () => true });
}

function countOf(answer: ReplayPage | object | string): number {
  assert.ok(typeof answer === "object" && "replayed" in answer && answer.replayed instanceof Map);
  return [...answer.replayed.values()].reduce((sum, count) => sum + count, 0);
}
