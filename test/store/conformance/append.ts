import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { anyText } from "../../model/make.ts";
import { SLOW } from "../../slow.ts";
import { type OpenStore, startStore } from "../harness.ts";
import { delivered, makeEntries, makeEntry } from "../make.ts";

export function describeAppend(open: OpenStore): void {
  describe("append", () => {
    it("answers one receipt for each entry, in their order", async () => {
      await using s = await startStore(open);
      const entries = ["a", "b", "a", "c", "b"].map((messageId) => makeEntry({ messageId }));
      assert.deepEqual(await s.append(...entries), ["accepted", "accepted", "duplicate", "accepted", "duplicate"]);
    });

    it("answers no receipt when there is no entry", async () => {
      await using s = await startStore(open);
      assert.deepEqual(await s.append(), []);
    });

    it("stores the delivery as it was given, due at once", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry({ messageId: "m7", type: "identify", body: '{"type":"identify"}' }));
      const now = s.clock.now();
      const [{ id, ref: _, ...delivery } = assert.fail(), ...others] = await s.read();
      assert.ok(id > 0);
      assert.deepEqual(others, []);
      assert.deepEqual(delivery, {
        ...{ destination: "crm", source: "website", messageId: "m7", type: "identify", body: '{"type":"identify"}' },
        ...{
          acceptedAt: now,
          attempts: 0,
          firstAttemptAt: null,
          attemptedAt: null,
          replayedAt: null,
          stoodStill: 0,
          dueAt: now,
          finals: [],
        },
      });
    });

    it("stores one delivery for each destination", async () => {
      await using s = await startStore(open);
      await s.append(makeEntry({ deliverTo: ["crm", "warehouse"] }));
      const found = [...(await s.read()), ...(await s.read({ destination: "warehouse" }))];
      assert.deepEqual(
        found.map(({ destination, messageId }) => `${messageId} to ${destination}`),
        ["m1 to crm", "m1 to warehouse"],
      );
      assert.equal(found[0]?.id, found[1]?.id);
    });

    it("answers what waits for each event, as it can be read", async () => {
      await using s = await startStore(open);
      const entries = [
        makeEntry({ messageId: "m1", deliverTo: ["warehouse", "crm"] }),
        makeEntry({ messageId: "m2", deliverTo: [] }),
        makeEntry({ messageId: "m2" }),
        makeEntry({ messageId: "m3", type: "page", body: '{"type":"page"}' }),
      ];
      const receipts = await s.store().append(entries);
      const [one, three] = await s.read();
      const [other] = await s.read({ destination: "warehouse" });
      assert.ok(one && three && other);
      assert.deepEqual(receipts, [
        { kind: "accepted", deliveries: [other, one] },
        { kind: "accepted", deliveries: [] },
        { kind: "duplicate" },
        { kind: "accepted", deliveries: [three] },
      ]);
    });

    it("accepts an event that goes nowhere", async () => {
      await using s = await startStore(open);
      const skipped = [{ destination: "crm", rule: "type_not_selected" as const }];
      assert.deepEqual(await s.append(makeEntry({ deliverTo: [], skipped })), ["accepted"]);
      assert.deepEqual(await s.read(), []);
      assert.deepEqual(await s.counts(), []);
    });

    it("keeps what it has accepted over a restart", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(3));
      const before = await s.read();
      await s.reopen();
      assert.equal(before.length, 3);
      assert.deepEqual(await s.read(), before);
      assert.deepEqual(await s.counts(), ["crm waiting: 3"]);
    });

    it("numbers the events in their order, also after a restart", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(3));
      await s.reopen();
      await s.append(makeEntry({ messageId: "m4" }), makeEntry({ messageId: "m5" }));
      const ids = (await s.read()).map(({ id }) => id);
      assert.deepEqual(ids.slice(0, 3), [1, 2, 3]);
      assert.ok(ids.every((id, n) => id > (ids[n - 1] ?? 0)));
      assert.deepEqual(
        (await s.read()).map(({ messageId }) => messageId),
        ["m1", "m2", "m3", "m4", "m5"],
      );
    });

    it("never gives a number twice, also when the newest events were pruned before a restart", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(3), makeEntry({ messageId: "m4", deliverTo: [] }));
      const now = s.clock.now();
      const before = await s.read();
      for (const delivery of before) await s.store().settle(delivery, delivered(delivery, now));
      await s.prune({ delivered: now + 1, failed: 0, seen: 0 }, 100);
      assert.deepEqual(await s.counts(), []);
      await s.append(makeEntry({ messageId: "m5" }));
      await s.reopen();
      await s.append(makeEntry({ messageId: "m6" }));
      const all = [...before, ...(await s.read())];
      assert.deepEqual(
        all.map(({ messageId }) => messageId),
        ["m1", "m2", "m3", "m5", "m6"],
      );
      assert.ok(all.every(({ id }, n) => id > (all[n - 1]?.id ?? 0)));
    });

    it("answers each of the requests that come at once", async () => {
      await using s = await startStore(open);
      const answers = await Promise.all(makeEntries(100).map((entry) => s.append(entry, makeEntry())));
      assert.deepEqual(answers[0], ["accepted", "duplicate"]);
      assert.ok(answers.slice(1).every((kinds) => kinds.join() === "accepted,duplicate"));
      assert.deepEqual(await s.counts(), ["crm waiting: 100"]);
    });

    it("gives back every body to the byte, whatever is in it", SLOW, async () => {
      await using s = await startStore(open);
      await fc.assert(
        fc.asyncProperty(anyText, fc.constantFrom("", "\0", "\u2028", "🙂"), async (text, end) => {
          const body = `${JSON.stringify({ text })}${end}`;
          const after = (await s.read()).at(-1) ?? null;
          await s.append(makeEntry({ ownId: true, body }));
          assert.deepEqual(
            (await s.read({ after })).map((delivery) => delivery.body),
            [body],
          );
        }),
        { numRuns: 50 },
      );
    });

    it("takes any text as source, user and messageId", SLOW, async () => {
      await using s = await startStore(open);
      await fc.assert(
        fc.asyncProperty(anyText, anyText, anyText, async (source, userId, messageId) => {
          assert.deepEqual(await s.append(makeEntry({ source, userId, messageId, ownId: true })), ["accepted"]);
        }),
        { numRuns: 50 },
      );
    });
  });
}
