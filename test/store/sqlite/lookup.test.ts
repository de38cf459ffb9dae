import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Attempt } from "../../../src/model/attempt.ts";
import type { Delivery } from "../../../src/model/delivery.ts";
import { isFault } from "../../../src/model/fault.ts";
import type { ListedDelivery, ListedPage, Search } from "../../../src/model/lookup.ts";
import type { Settlement } from "../../../src/model/settlement.ts";
import { HOUR } from "../../../src/model/units.ts";
import { delivered, expired, failed, makeEntries, makeEntry, retried, URL_A } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

const ALL: Search = {
  ...{ state: null, destination: null, source: null, type: null, user: null, since: null, until: null },
};

async function page(o: TestOutbox, search: Partial<Search>, limit: number, cursor: string | null): Promise<ListedPage> {
  const found = await o.s.store().lookup.deliveries({ ...ALL, ...search }, { limit, cursor });
  return isFault(found) ? assert.fail(found.message) : found;
}

/** All that is wanted, page by page. */
async function list(o: TestOutbox, search: Partial<Search> = {}, limit = 3): Promise<readonly ListedDelivery[]> {
  const found: ListedDelivery[] = [];
  let cursor: string | null = null;
  do {
    const next: ListedPage = await page(o, search, limit, cursor);
    assert.ok(next.deliveries.length <= limit);
    found.push(...next.deliveries);
    cursor = next.cursor;
  } while (cursor !== null);
  return found;
}

async function ids(o: TestOutbox, search: Partial<Search> = {}, limit = 3): Promise<readonly string[]> {
  return (await list(o, search, limit)).map(({ id, destination }) => `${id}-${destination}`);
}

type End = (delivery: Delivery, at: number) => Settlement;

async function settleAll(o: TestOutbox, ends: Readonly<Record<string, End | undefined>>): Promise<void> {
  for (const destination of ["crm", "lake"]) {
    for (const one of await o.s.read({ destination })) {
      const end = ends[`${one.id}-${destination}`];
      if (end) assert.equal(await o.s.store().settle(one, end(one, o.s.clock.now())), "written");
    }
  }
}

/** Three segments of three events for two destinations; of the second only rows are left. */
async function startMixed(): Promise<TestOutbox> {
  const o = await startOutbox();
  for (const [nth, source] of ["website", "app", "website"].entries()) {
    const entries = [1, 2, 3].map((n) =>
      makeEntry({
        ...{ source, messageId: `m${nth}-${n}`, userId: `u${n}`, type: n === 3 ? "page" : "track" },
        deliverTo: n === 2 ? ["crm"] : ["crm", "lake"],
      }),
    );
    assert.deepEqual(await o.s.append(...entries), ["accepted", "accepted", "accepted"]);
    await o.s.clock.advance("1m");
  }
  await settleAll(o, { "1-crm": delivered, "2-crm": failed, "3-lake": retried, "4-crm": failed, "5-crm": delivered });
  await o.s.clock.advance("1h");
  await settleAll(o, { "4-lake": expired, "6-crm": retried, "6-lake": delivered, "9-crm": failed });
  const at = o.s.clock.now();
  await o.s.prune({ delivered: 0, failed: 0, seen: 0, sparse: at }, 10);
  // Delivered letters of the second segment, and all that was left of it.
  await o.s.prune({ delivered: at + 1, failed: 0, seen: 0 }, 1);
  return o;
}

describe("the list of deliveries", () => {
  it("has letters and rows alike, the newest event first, whatever the size of a page", async () => {
    await using o = await startMixed();
    const rows = o.sql(
      "SELECT event || '-' || destination AS id FROM deliveries ORDER BY event DESC, destination DESC",
    );
    const expected = rows.map(({ id }) => String(id));
    assert.ok(expected.length > 8, `there are ${expected}`);
    assert.ok(o.sql("SELECT first FROM segments").length < 3, "one segment is gone");
    for (const limit of [1, 2, 3, 5, 100]) assert.deepEqual(await ids(o, {}, limit), expected, `pages of ${limit}`);
  });

  it("has of each what there is to know", async () => {
    await using o = await startOutbox();
    const acceptedAt = o.s.clock.now();
    await o.s.append(...makeEntries(4, { userId: "u1" }));
    const token = (one: Delivery, at: number) => ({ ...delivered(one, at), url: `${URL_A}?token=x`, status: 202 });
    await o.s.clock.advance("5s");
    const now = o.s.clock.now();
    await settleAll(o, { "1-crm": failed, "2-crm": token, "3-crm": retried });
    const event = { destination: "crm", source: "website", type: "track", userId: "u1", acceptedAt };
    const none = { replayedAt: null, url: null, status: null, reason: null };
    assert.deepEqual(await list(o), [
      { id: 4, ...event, messageId: "m4", state: "waiting", attempts: 0, dueAt: acceptedAt, settledAt: null, ...none },
      {
        ...{ id: 3, ...event, messageId: "m3", state: "waiting", attempts: 1, dueAt: now + 1_000, settledAt: null },
        ...{ ...none, reason: "answered 503" },
      },
      {
        ...{ id: 2, ...event, messageId: "m2", state: "delivered", attempts: 1, dueAt: null, settledAt: now },
        ...{ replayedAt: null, url: URL_A, status: 202, reason: null },
      },
      {
        ...{ id: 1, ...event, messageId: "m1", state: "failed", attempts: 1, dueAt: null, settledAt: now },
        ...{ ...none, reason: "refused: answered 400" },
      },
    ]);
  });

  const filters: readonly [Partial<Search>, string][] = [
    [{ state: "waiting" }, "state = 'waiting'"],
    [{ state: "delivered" }, "state = 'delivered'"],
    [{ destination: "lake" }, "destination = 'lake'"],
    [{ state: "waiting", destination: "lake" }, "state = 'waiting' AND destination = 'lake'"],
  ];
  for (const [search, where] of filters) {
    it(`has only those with ${where}`, async () => {
      await using o = await startMixed();
      const rows = o.sql(
        `SELECT event || '-' || destination AS id FROM deliveries WHERE ${where} ORDER BY event DESC, destination DESC`,
      );
      assert.ok(rows.length > 0);
      assert.deepEqual(
        await ids(o, search),
        rows.map(({ id }) => id),
      );
    });
  }

  it("has only those of a source, a type or a user", async () => {
    await using o = await startMixed();
    assert.deepEqual(await ids(o, { source: "app" }), ["6-crm", "4-lake", "4-crm"]);
    assert.deepEqual(await ids(o, { type: "page", source: "app" }), ["6-crm"]);
    assert.deepEqual(await ids(o, { user: "u2" }), ["8-crm", "2-crm"]);
  });

  it("has what failed or expired by when it did so", async () => {
    await using o = await startMixed();
    assert.deepEqual(await ids(o, { state: "failed" }, 1), ["9-crm", "4-crm", "2-crm"]);
    assert.deepEqual(await ids(o, { state: "failed" }, 100), ["9-crm", "4-crm", "2-crm"]);
    assert.deepEqual(await ids(o, { state: "expired" }), ["4-lake"]);
    const since = o.s.clock.now() - HOUR / 2;
    assert.deepEqual(await ids(o, { state: "failed", since }), ["9-crm"]);
    assert.deepEqual(await ids(o, { state: "failed", until: since }), ["4-crm", "2-crm"]);
  });

  it("goes by when a delivery was settled, and by when it came while it waits", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(2));
    await o.s.clock.advance("1h");
    const since = o.s.clock.now();
    await settleAll(o, { "1-crm": delivered });
    await o.s.append(makeEntry({ messageId: "m3" }));
    assert.deepEqual(await ids(o, { since }), ["3-crm", "1-crm"]);
    assert.deepEqual(await ids(o, { since, state: "waiting" }), ["3-crm"]);
    assert.deepEqual(await ids(o, { until: since }), ["2-crm"]);
    assert.deepEqual(await ids(o, { until: since, state: "waiting" }), ["2-crm"]);
  });

  it("goes on where it was, whatever came and went meanwhile", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(6));
    const first = await page(o, {}, 2, null);
    await o.s.append(makeEntry({ messageId: "m7" }));
    await settleAll(o, { "5-crm": retried, "4-crm": failed, "3-crm": delivered });
    const second = await page(o, {}, 2, first.cursor);
    assert.deepEqual(
      [...first.deliveries, ...second.deliveries].map(({ id }) => id),
      [6, 5, 4, 3],
    );
    await o.s.prune({ delivered: 0, failed: o.s.clock.now() + 1, seen: 0 }, 10);
    const third = await page(o, {}, 9, second.cursor);
    assert.deepEqual([third.deliveries.map(({ id }) => id), third.cursor], [[2, 1], null]);
  });

  it("takes no cursor of another list, and none that it has not made", async () => {
    await using o = await startMixed();
    const { cursor } = await page(o, {}, 1, null);
    assert.ok(cursor);
    for (const bad of ["x", "", Buffer.from("[1]").toString("base64url"), cursor]) {
      const found = await o.s.store().lookup.deliveries({ ...ALL, state: "failed" }, { limit: 1, cursor: bad });
      assert.ok(isFault(found) && found.code === "invalid_request", bad);
    }
  });

  it("looks at so many at a time, and hands out a cursor though it has found none", async () => {
    await using o = await startOutbox();
    const count = 60_500;
    o.shell.exec(
      `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})
       INSERT INTO tried SELECT n, 'crm', 'waiting', n, 1, 1, 1, 0, NULL, NULL, NULL, '503', NULL, n,
         '["website","track","m' || n || '",' || iif(n = 7, '"u1"', 'null') || ']', '{}', NULL, NULL, NULL FROM n`,
    );
    const first = await page(o, { user: "u1" }, 10, null);
    assert.deepEqual(first.deliveries, []);
    assert.ok(first.cursor !== null);
    const second = await page(o, { user: "u1" }, 10, first.cursor);
    assert.deepEqual([second.deliveries.map(({ id }) => id), second.cursor], [[7], null]);
  });
});

describe("a single delivery", () => {
  it("is found as a letter and as a row, with its body and its attempts", async () => {
    await using o = await startOutbox();
    const bodies = ["{}", '{"a":1}', '{"b":2}'];
    const receipts = await o.s.store().append(bodies.map((body, n) => makeEntry({ messageId: `m${n}`, body })));
    assert.ok(!isFault(receipts));
    const at = o.s.clock.now();
    const made: Attempt = {
      ...{ at, url: URL_A, duration: 3, outcome: "final", status: 400, reason: "400", answer: "no" },
      trigger: "first",
    };
    const finals = [{ url: `${URL_A}?token=x`, reason: "400" }];
    await settleAll(o, { "1-crm": delivered, "2-crm": (one) => ({ ...failed(one, at), finals, log: [made] }) });
    const detail = async (id: number) => o.s.store().lookup.delivery({ id, destination: "crm" });
    const [one, two, three] = [await detail(1), await detail(2), await detail(3)];
    assert.deepEqual([one?.body, two?.body, three?.body], bodies);
    assert.deepEqual([one?.state, two?.state, three?.state], ["delivered", "failed", "waiting"]);
    assert.deepEqual(one?.log.first, [
      {
        at,
        url: URL_A,
        duration: null,
        outcome: "delivered",
        status: 200,
        reason: "200",
        answer: null,
        trigger: "first",
      },
    ]);
    assert.deepEqual(two?.log, { first: [made], omitted: 0, last: [] });
    assert.deepEqual(two?.finals, [{ url: URL_A, reason: "400" }]);
    assert.deepEqual(three?.log, { first: [], omitted: 0, last: [] });
  });

  it("is not found under another name, and not any more when it was pruned", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ deliverTo: ["crm"] }), makeEntry({ messageId: "m2", deliverTo: ["lake"] }));
    const find = async (id: number, destination: string) => {
      return (await o.s.store().lookup.delivery({ id, destination }))?.id ?? null;
    };
    assert.deepEqual([await find(1, "crm"), await find(2, "lake")], [1, 2]);
    for (const [id, name] of [
      [1, "lake"],
      [2, "crm"],
      [3, "crm"],
      [0, "crm"],
    ] as const)
      assert.equal(await find(id, name), null);
    await settleAll(o, { "1-crm": failed, "2-lake": delivered });
    const at = o.s.clock.now() + 1;
    await o.s.prune({ delivered: at, failed: 0, seen: 0 }, 10);
    assert.deepEqual([await find(1, "crm"), await find(2, "lake")], [1, null]);
    await o.s.prune({ delivered: at, failed: at, seen: 0 }, 10);
    assert.equal(await find(1, "crm"), null);
  });
});
