import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { QueueAsk, QueuePosition } from "../../../src/model/ports.ts";
import { KB, MB } from "../../../src/model/units.ts";
import { MOST_EVENTS } from "../../../src/store/segment.ts";
import { makeAsk, type OpenStore, startStore, type TestStore } from "../harness.ts";
import { delivered, expired, failed, makeEntries, makeEntry, retried } from "../make.ts";

export function describeQueues(open: OpenStore): void {
  describe("queues of waiting deliveries", () => {
    it("reads first attempts by age, and retries by the time they are due", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(6));
      await retryAfter(s, { m1: 300, m2: 100, m5: 200 });
      assert.deepEqual(ids(await s.read({ queue: "first" })), ["m3", "m4", "m6"]);
      assert.deepEqual(ids(await s.read({ queue: "retry" })), ["m2", "m5", "m1"]);
    });

    it("reads retries that are due at the same time by age", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(4));
      await retryAfter(s, { m4: 100, m3: 100, m2: 100, m1: 100 });
      assert.deepEqual(ids(await s.read({ queue: "retry" })), ["m1", "m2", "m3", "m4"]);
    });

    it("leaves retries that are due later than it was asked for", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(3));
      await retryAfter(s, { m1: 100, m2: 200, m3: 201 });
      const dueBy = s.clock.now() + 200;
      assert.deepEqual(ids(await s.read({ queue: "retry", dueBy })), ["m1", "m2"]);
      assert.deepEqual(ids(await s.read({ queue: "retry", dueBy: s.clock.now() })), []);
    });

    it("reads only what waits", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(8));
      await retryAfter(s, { m5: 1, m6: 1, m7: 1, m8: 1 });
      const [one, two, three] = await s.read();
      const [five, six, seven] = await s.read({ queue: "retry" });
      assert.ok(one && two && three && five && six && seven);
      const now = s.clock.now();
      for (const delivery of [one, five]) await s.store().settle(delivery, delivered(delivery, now));
      for (const delivery of [two, six]) await s.store().settle(delivery, failed(delivery, now));
      for (const delivery of [three, seven]) await s.store().settle(delivery, expired(delivery, now));
      assert.deepEqual(ids(await s.read()), ["m4"]);
      assert.deepEqual(ids(await s.read({ queue: "retry" })), ["m8"]);
    });

    it("reads only what goes to the destination", async () => {
      await using s = await startStore(open);
      await s.append(
        makeEntry({ messageId: "m1", deliverTo: ["crm"] }),
        makeEntry({ messageId: "m2", deliverTo: ["warehouse"] }),
        makeEntry({ messageId: "m3", deliverTo: ["warehouse", "crm"] }),
      );
      assert.deepEqual(ids(await s.read()), ["m1", "m3"]);
      assert.deepEqual(ids(await s.read({ destination: "warehouse" })), ["m2", "m3"]);
      await retryAfter(s, { m3: 100 });
      assert.deepEqual(ids(await s.read({ destination: "crm", queue: "retry" })), ["m3"]);
      assert.deepEqual(ids(await s.read({ destination: "warehouse", queue: "retry" })), []);
      assert.deepEqual(ids(await s.read({ destination: "CRM" })), []);
    });

    it("reads the newest first attempts first when it is asked for them, wherever others have read up to", async () => {
      await using s = await startStore(open);
      await appendOneByOne(s, 6);
      await retryAfter(s, { m5: 100 });
      const after = { dueAt: 0, id: 4 };
      assert.deepEqual(ids(await s.read({ newestFirst: true, after, limit: 3 })), ["m6", "m4", "m3"]);
      await s.append(makeEntry({ messageId: "m7" }), makeEntry({ messageId: "m8" }));
      assert.deepEqual(ids(await s.read({ newestFirst: true, limit: 2 })), ["m8", "m7"]);
    });

    it("finds those of other sources behind those of the sources that it passes over, in their order", async () => {
      await using s = await startStore(open);
      for (let nth = 1; nth <= 9; nth += 1) {
        await s.append(
          makeEntry({ messageId: `m${nth}`, source: nth % 4 === 0 ? "shop" : nth === 9 ? "app" : "flood" }),
        );
      }
      await s.append(
        makeEntry({ messageId: "m10", source: "flood" }),
        makeEntry({ messageId: "m11", source: "shop" }),
        makeEntry({ messageId: "m12", source: "shop", deliverTo: ["warehouse"] }),
      );
      const notOf = new Set(["flood"]);
      assert.deepEqual(ids(await s.read({ notOf })), ["m4", "m8", "m9", "m11"]);
      assert.deepEqual(ids(await s.read({ notOf: new Set(["flood", "shop"]) })), ["m9"]);
      assert.deepEqual(ids(await s.read({ notOf: new Set(["flood", "shop", "app"]) })), []);
      const { passedOver, more } = await s.store().readQueue(makeAsk({ notOf: new Set(["flood", "mail"]) }));
      assert.deepEqual([passedOver, more], [new Set(["flood"]), false]);
      const [four, eight] = await s.read({ notOf });
      assert.ok(four && eight);
      await s.store().settle(eight, delivered(eight, s.clock.now()));
      assert.deepEqual(ids(await s.read({ notOf, after: four })), ["m9", "m11"]);
    });

    it("searches page by page, and says how far it has come although it has found nothing", async () => {
      await using s = await startStore(open);
      for (let nth = 0; nth < 40; nth += 1) {
        await s.append(
          ...makeEntries(MOST_EVENTS, { source: "flood" }).map((one) => ({
            ...one,
            event: { ...one.event, messageId: `f${nth}-${one.event.messageId}` },
          })),
        );
      }
      await s.append(makeEntry({ messageId: "m1", source: "shop" }));
      const found: string[] = [];
      let [after, pages]: [QueuePosition, number] = [{ dueAt: 0, id: 0 }, 0];
      for (let more = true; more; pages += 1) {
        const page = await s.store().readQueue(makeAsk({ notOf: new Set(["flood"]), after, limit: 10 }));
        found.push(...ids(page.deliveries));
        ({ more } = page);
        assert.ok(!more || (page.upTo && page.upTo.id > after.id), "it goes on");
        after = page.upTo ?? after;
      }
      assert.deepEqual([found, pages > 1], [["m1"], true]);
    });

    it("takes nothing out by reading", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(3));
      assert.deepEqual(await s.read(), await s.read());
    });

    it("reads on after the last one, page by page, until no more may come", async () => {
      await using s = await startStore(open);
      await appendOneByOne(s, 10);
      assert.deepEqual(await pages(s, { queue: "first", limit: 4 }), ["m1 m2 m3 m4 …", "m5 m6 m7 m8 …", "m9 m10"]);
      await retryAfter(s, { m1: 5, m2: 4, m3: 4, m4: 4, m5: 4, m6: 1 });
      assert.deepEqual(await pages(s, { queue: "retry", limit: 2 }), ["m6 m2 …", "m3 m4 …", "m5 m1 …", ""]);
    });

    it("neither repeats nor skips when what was read is settled between two pages", async () => {
      await using s = await startStore(open);
      await appendOneByOne(s, 6);
      const first = await s.read({ limit: 3 });
      assert.deepEqual(ids(first), ["m1", "m2", "m3"]);
      for (const delivery of first) await s.store().settle(delivery, delivered(delivery, s.clock.now()));
      await s.append(makeEntry({ messageId: "m7" }));
      assert.deepEqual(ids(await s.read({ after: first.at(-1) ?? null })), ["m4", "m5", "m6", "m7"]);
    });

    it("reads on behind any of those that came together, whatever became of it", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(6));
      const all = await s.read();
      const now = s.clock.now();
      for (const [nth, after] of all.entries()) {
        assert.deepEqual(await s.read({ after }), all.slice(nth + 1));
        const end = [delivered, failed, retried][nth % 3] ?? failed;
        await s.store().settle(after, end(after, now));
        assert.deepEqual(await s.read({ after }), all.slice(nth + 1));
      }
    });

    it("ends a page early when its bodies are large, and says that there are more", async () => {
      await using s = await startStore(open);
      const entries = makeEntries(300, { body: "x".repeat(32 * KB) });
      await s.append(...entries);
      const { deliveries, more } = await s.store().readQueue(makeAsk());
      const bytes = deliveries.reduce((sum, { body }) => sum + body.length, 0);
      assert.ok(bytes <= 4 * MB, `${bytes} bytes in one page`);
      assert.ok(deliveries.length >= 32);
      assert.equal(more, true);
      const all = (await pages(s, { queue: "first" })).flatMap((page) => page.replace(" …", "").split(" "));
      assert.deepEqual(
        all,
        entries.map(({ event }) => event.messageId),
      );
    });
  });
}

/** As `m1`, `m2`, …, each in a commit of its own: what came together may be read together. */
async function appendOneByOne(s: TestStore, count: number): Promise<void> {
  for (const entry of makeEntries(count)) await s.append(entry);
}

function ids(deliveries: readonly { readonly messageId: string }[]): readonly string[] {
  return deliveries.map(({ messageId }) => messageId);
}

/** Tries deliveries to crm in this order, each to be tried again so many milliseconds from now. */
async function retryAfter(s: TestStore, waits: Readonly<Record<string, number>>): Promise<void> {
  const now = s.clock.now();
  const waiting = await s.read();
  for (const [messageId, wait] of Object.entries(waits)) {
    const delivery = waiting.find((one) => one.messageId === messageId);
    assert.ok(delivery);
    assert.equal(await s.store().settle(delivery, retried(delivery, now, now + wait)), "written");
  }
}

/** The messageIds of each page, with `…` if more may come. */
async function pages(s: TestStore, ask: Partial<QueueAsk>): Promise<readonly string[]> {
  const found: string[] = [];
  let after: QueuePosition | null = null;
  for (let more = true; more; ) {
    const page = await s.store().readQueue(makeAsk({ ...ask, after }));
    more = page.more;
    after = page.deliveries.at(-1) ?? after;
    found.push([...ids(page.deliveries), ...(more ? ["…"] : [])].join(" "));
  }
  return found;
}
