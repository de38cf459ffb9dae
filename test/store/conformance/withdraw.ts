import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type OpenStore, startStore, type TestStore } from "../harness.ts";
import { delivered, failed, makeEntries, makeEntry, retried } from "../make.ts";

export function describeWithdraw(open: OpenStore): void {
  describe("a withdrawal", () => {
    it("ends what waits of its events, tried or not, for every destination, and says which", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(4, { deliverTo: ["crm", "lake"] }));
      const [one, two, three] = await s.read();
      assert.ok(one && two && three);
      await s.store().settle(one, retried(one, s.clock.now()));
      await s.store().settle(two, delivered(two, s.clock.now()));
      await s.store().settle(three, failed(three, s.clock.now()));
      assert.equal(await s.store().withdraw({ events: [3, 1, 2, 99], reason: "superseded" }), 4);
      const gone = ["1 crm", "1 lake", "2 lake", "3 lake"];
      assert.deepEqual(withdrawn(s), [gone]);
      const counts = ["crm delivered: 1", "crm failed: 2", "crm waiting: 1", "lake failed: 3", "lake waiting: 1"];
      for (const again of [false, true]) {
        if (again) await s.reopen();
        assert.deepEqual(await s.counts(), counts);
        assert.deepEqual([await waiting(s, "crm"), await waiting(s, "lake")], [["m4"], ["m4"]]);
      }
      const place = { id: 1, destination: "lake" };
      const detail = await s.store().lookup.delivery(place);
      assert.deepEqual([detail?.state, detail?.reason, detail?.attempts], ["failed", "superseded", 0]);
    });

    it("comes with an event, in the same commit, and not with a repeat of it", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(2));
      const newer = { ...makeEntry({ messageId: "m3" }), withdraws: { events: [1], reason: "superseded" } };
      assert.deepEqual(await s.append(newer), ["accepted"]);
      assert.deepEqual([await waiting(s, "crm"), withdrawn(s)], [["m2", "m3"], [["1 crm"]]]);
      const repeat = { ...newer, withdraws: { events: [2], reason: "superseded" } };
      assert.deepEqual(await s.append(repeat), ["duplicate"]);
      assert.deepEqual(
        [await waiting(s, "crm"), await s.counts()],
        [
          ["m2", "m3"],
          ["crm failed: 1", "crm waiting: 2"],
        ],
      );
    });

    it("has the last word: whoever is sending one is told that it is gone", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry());
      const [one] = await s.read();
      assert.ok(one);
      await s.store().withdraw({ events: [1], reason: "superseded" });
      assert.equal(await s.store().settle(one, delivered(one, s.clock.now())), "gone");
      assert.deepEqual(await s.counts(), ["crm failed: 1"]);
    });

    it("ends nothing whose attempt has ended before, though that is not written yet", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(2));
      const [one, two] = await s.read();
      assert.ok(one && two);
      const settling = s.store().settle(one, delivered(one, s.clock.now()));
      const newer = { ...makeEntry({ messageId: "m3" }), withdraws: { events: [one.id], reason: "superseded" } };
      assert.deepEqual(await s.append(newer), ["accepted"]);
      assert.equal(await settling, "written");
      const settlingNext = s.store().settle(two, delivered(two, s.clock.now()));
      assert.equal(await s.store().withdraw({ events: [two.id], reason: "superseded" }), 0);
      assert.equal(await settlingNext, "written");
      assert.deepEqual(await s.counts(), ["crm delivered: 2", "crm waiting: 1"]);
    });

    it("says nothing if nothing of them waits", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry({ deliverTo: [] }));
      assert.equal(await s.store().withdraw({ events: [1, 2], reason: "superseded" }), 0);
      assert.deepEqual(withdrawn(s), []);
    });
  });
}

async function waiting(s: TestStore, destination: string): Promise<readonly string[]> {
  const all = [...(await s.read({ destination })), ...(await s.read({ destination, queue: "retry" }))];
  return all.map(({ messageId }) => messageId);
}

function withdrawn(s: TestStore): readonly (readonly string[])[] {
  return s.withdrawals().map((those) => those.map(({ id, destination }) => `${id} ${destination}`).sort());
}
