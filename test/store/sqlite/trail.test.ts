import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { delivered, failed, makeEntries, makeEntry, retried } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

const SOURCES = ["website"];

async function numbers(o: TestOutbox, messageId: string, sources = SOURCES): Promise<readonly number[]> {
  return (await o.s.store().lookup.event(messageId, sources)).events.map(({ id }) => id);
}

/** So many segments of one event, a second apart. */
async function append(o: TestOutbox, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n += 1) {
    await o.s.append(makeEntry({ messageId: `m${n}` }));
    await o.s.clock.advance("1s");
  }
}

describe("the trail of a messageId", () => {
  it("is found by its time among many segments, over a restart, and also when only a row is left", async () => {
    await using o = await startOutbox();
    await append(o, 1, 300);
    for (const one of await o.s.read())
      await o.s.store().settle(one, (one.id % 7 === 0 ? failed : delivered)(one, o.s.clock.now()));
    for (const n of [1, 2, 150, 299, 300]) assert.deepEqual(await numbers(o, `m${n}`), [n]);
    await o.s.reopen();
    assert.deepEqual(await numbers(o, "m150"), [150]);
    await o.s.prune({ delivered: o.s.clock.now() + 1, failed: 0, seen: 0 }, 1_000);
    assert.deepEqual(o.sql("SELECT * FROM segments"), []);
    for (const n of [7, 147, 294]) assert.deepEqual(await numbers(o, `m${n}`), [n]);
    assert.deepEqual(await o.s.store().lookup.event("m150", SOURCES), {
      ...{ events: [], complete: true },
      seen: [{ source: "website", at: o.s.clock.now() - 151_000 }],
    });
  });

  it("is looked for among all when its time is not known", async () => {
    await using o = await startOutbox();
    await append(o, 1, 120);
    assert.deepEqual(await numbers(o, "m3", ["other"]), [3]);
    const [one] = await o.s.read();
    assert.ok(one);
    await o.s.store().settle(one, retried(one, o.s.clock.now()));
    assert.deepEqual(
      (await o.s.store().lookup.event("m1", [])).events[0]?.deliveries.map(({ attempts }) => attempts),
      [1],
    );
    assert.deepEqual(await numbers(o, "m", ["other"]), []);
  });

  it("is the newest event if the same id was taken again, after 24 hours", async () => {
    await using o = await startOutbox();
    await append(o, 1, 2);
    await o.s.clock.advance("25h");
    assert.deepEqual(await o.s.append(makeEntry({ messageId: "m1" })), ["accepted"]);
    assert.deepEqual(await numbers(o, "m1"), [3]);
  });

  it("says which destinations it was not for, and of which nothing is known any more", async () => {
    await using o = await startOutbox();
    const skipped = [{ destination: "lake", rule: "historical" as const }];
    await o.s.append(...makeEntries(2, { skipped, deliverTo: ["crm", "other"] }));
    const [one] = await o.s.read();
    assert.ok(one);
    await o.s.store().settle(one, failed(one, o.s.clock.now()));
    await o.s.prune({ delivered: 0, failed: o.s.clock.now() + 1, seen: 0 }, 10);
    const [event] = (await o.s.store().lookup.event("m1", SOURCES)).events;
    assert.deepEqual([event?.skipped, event?.forgotten, event?.whole], [skipped, ["crm"], true]);
    assert.deepEqual(
      event?.deliveries.map(({ destination, state }) => [destination, state]),
      [["other", "waiting"]],
    );
  });

  it("is found by its time, however many came after it", async () => {
    await using o = await startOutbox();
    await append(o, 1, 1);
    const [one] = await o.s.read();
    assert.ok(one);
    await o.s.store().settle(one, failed(one, o.s.clock.now()));
    await o.s.prune({ delivered: o.s.clock.now() + 1, failed: 0, seen: 0 }, 10);
    assert.deepEqual(o.sql("SELECT * FROM segments"), []);
    o.shell.exec(
      `WITH RECURSIVE n (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < 60000)
       INSERT INTO tried SELECT n, 'crm', 'waiting', n, 1, 1, 1, 0, NULL, NULL, NULL, '503', NULL, ${o.s.clock.now()} + n * 60000,
         '["website","track","n' || n || '",null]', '{}', NULL, NULL, NULL FROM n`,
    );
    assert.deepEqual(await numbers(o, "m1", []), []);
    assert.deepEqual(await numbers(o, "m1"), [1]);
  });

  it("is given up behind so many newer ones, and that is said", async () => {
    await using o = await startOutbox();
    o.shell.exec(
      `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 51000)
       INSERT INTO tried SELECT n, 'crm', 'waiting', n, 1, 1, 1, 0, NULL, NULL, NULL, '503', NULL, n,
         '["website","track","m' || n || '",null]', '{}', NULL, NULL, NULL FROM n`,
    );
    assert.deepEqual(await numbers(o, "m50999"), [50_999]);
    assert.deepEqual(await o.s.store().lookup.event("m7", SOURCES), { events: [], seen: [], complete: false });
  });
});
