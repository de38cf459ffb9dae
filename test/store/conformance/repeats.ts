import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { DAY } from "../../../src/model/units.ts";
import { anyText } from "../../model/make.ts";
import { SLOW } from "../../slow.ts";
import { type OpenStore, startStore } from "../harness.ts";
import { delivered, expectReceipts, makeEntries, makeEntry } from "../make.ts";

export function describeRepeats(open: OpenStore): void {
  describe("a repeated messageId", () => {
    it("is a duplicate, and not stored again", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry());
      assert.deepEqual(await s.append(makeEntry({ body: "another" })), ["duplicate"]);
      assert.equal((await s.read()).length, 1);
      assert.deepEqual(await s.counts(), ["crm waiting: 1"]);
    });

    it("is a duplicate of one that came at the same moment", async () => {
      await using s = await startStore(open);
      const answers = await Promise.all([s.append(makeEntry()), s.append(makeEntry()), s.append(makeEntry())]);
      assert.deepEqual(answers, [["accepted"], ["duplicate"], ["duplicate"]]);
    });

    it("from another source is not a duplicate", async () => {
      await using s = await startStore(open);
      const [website, app] = ["website", "app"].map((source) => makeEntry({ source }));
      assert.ok(website && app);
      assert.deepEqual(await s.append(website, app), ["accepted", "accepted"]);
      assert.deepEqual(await s.append(app, website), ["duplicate", "duplicate"]);
    });

    it("is told from one that only looks alike", async () => {
      await using s = await startStore(open);
      const alike = [
        { source: "a", messageId: "bc" },
        { source: "ab", messageId: "c" },
        { source: "abc", messageId: "" },
        { source: "a", messageId: "bc\0" },
        { source: "a", messageId: "BC" },
        { source: "a", messageId: "bc " },
        // Halves of surrogate pairs, which UTF-8 does not have.
        { source: "a", messageId: "\ud800" },
        { source: "a", messageId: "\ud801" },
        { source: "a", messageId: "\ufffd" },
      ].map(makeEntry);
      assert.deepEqual(new Set(await s.append(...alike)), new Set(["accepted"]));
      assert.deepEqual(new Set(await s.append(...alike)), new Set(["duplicate"]));
    });

    it("is recognised exactly, whatever the ids are", SLOW, async () => {
      await using s = await startStore(open);
      let source = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(anyText, { maxLength: 5 }), { maxLength: 5 }), async (batches) => {
          source += 1;
          const seen = new Set<string>();
          for (const batch of batches) {
            const entries = batch.map((messageId) => makeEntry({ source: `s${source}`, messageId }));
            assert.deepEqual(await s.append(...entries), expectReceipts(batch, seen));
          }
        }),
        { numRuns: 50 },
      );
    });

    it("is a duplicate for 24 hours, and accepted again after them", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry());
      await s.later("24h");
      assert.deepEqual(await s.append(makeEntry()), ["duplicate"]);
      await s.clock.advance("1ms");
      assert.deepEqual(await s.append(makeEntry()), ["accepted"]);
      assert.deepEqual(await s.append(makeEntry()), ["duplicate"]);
      assert.equal((await s.read()).length, 2);
    });

    it("does not lengthen its 24 hours by being repeated", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry());
      await s.later("23h");
      await s.append(makeEntry());
      await s.later("2h");
      assert.deepEqual(await s.append(makeEntry()), ["accepted"]);
    });

    it("is a duplicate after a restart", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(1_000));
      await s.reopen();
      assert.deepEqual(new Set(await s.append(...makeEntries(1_000))), new Set(["duplicate"]));
      await s.later("24h 1ms");
      await s.reopen();
      assert.deepEqual(new Set(await s.append(...makeEntries(1_000))), new Set(["accepted"]));
    });

    it("is a duplicate when the event itself was pruned", async () => {
      await using s = await startStore(open);
      const unrouted = makeEntry({ messageId: "m2", deliverTo: [] });
      await s.append(makeEntry(), unrouted);
      for (const delivery of await s.read()) await s.store().settle(delivery, delivered(delivery, s.clock.now()));
      await s.later("1h");
      const now = s.clock.now();
      const pruned = await s.prune({ delivered: now, failed: now, seen: now - DAY }, 100);
      assert.deepEqual(pruned, { delivered: 1, failed: 0, expired: 0, unrouted: 1, seen: 0 });
      assert.deepEqual(await s.append(makeEntry(), unrouted), ["duplicate", "duplicate"]);
    });

    it("is not looked for when the server itself chose the id", async () => {
      await using s = await startStore(open);
      const own = makeEntry({ ownId: true });
      assert.deepEqual(await s.append(own, own), ["accepted", "accepted"]);
      assert.deepEqual(await s.append(own), ["accepted"]);
      assert.equal((await s.read()).length, 3);
    });
  });
}
