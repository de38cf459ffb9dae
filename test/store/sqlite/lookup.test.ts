import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isFault } from "../../../src/model/fault.ts";
import type { ListedPage } from "../../../src/model/lookup.ts";
import { failed, makeEntry } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

const SOURCES = ["website"];

/** A page of what there is of one user. */
async function pageOf(o: TestOutbox, user: string, cursor: string | null): Promise<ListedPage> {
  const all = { state: null, destination: null, source: null, type: null, since: null, until: null };
  const found = await o.s.store().lookup.deliveries({ ...all, user }, { limit: 10, cursor });
  return isFault(found) ? assert.fail(found.message) : found;
}

async function numbers(o: TestOutbox, messageId: string, sources = SOURCES): Promise<readonly number[]> {
  return (await o.s.store().lookup.event(messageId, sources)).events.map(({ id }) => id);
}

describe("the list of deliveries", () => {
  it("looks at so many at a time, and hands out a cursor though it has found none", async () => {
    await using o = await startOutbox();
    const count = 60_500;
    o.shell.exec(
      `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})
       INSERT INTO tried SELECT n, 'crm', 'waiting', n, 1, 1, 1, 0, NULL, NULL, NULL, '503', NULL, n,
         '["website","track","m' || n || '",' || iif(n = 7, '"u1"', 'null') || ']', '{}', NULL, NULL, NULL FROM n`,
    );
    const first = await pageOf(o, "u1", null);
    assert.deepEqual(first.deliveries, []);
    assert.ok(first.cursor !== null);
    const second = await pageOf(o, "u1", first.cursor);
    assert.deepEqual([second.deliveries.map(({ id }) => id), second.cursor], [[7], null]);
  });
});

describe("the trail of a messageId", () => {
  it("is found by its time, however many came after it", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ messageId: "m1" }));
    await o.s.clock.advance("1s");
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
