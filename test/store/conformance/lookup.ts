import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Attempt, Delivery, Settlement } from "../../../src/model/delivery.ts";
import { isFault } from "../../../src/model/fault.ts";
import type { ListedDelivery, ListedPage, Search } from "../../../src/model/lookup.ts";
import { HOUR } from "../../../src/model/units.ts";
import { type OpenStore, startStore, type TestStore } from "../harness.ts";
import { delivered, expired, failed, makeEntries, makeEntry, retried, URL_A } from "../make.ts";

const ALL: Search = {
  ...{ state: null, destination: null, source: null, type: null, user: null, since: null, until: null },
};

async function page(s: TestStore, search: Partial<Search>, limit: number, cursor: string | null): Promise<ListedPage> {
  const found = await s.store().lookup.deliveries({ ...ALL, ...search }, { limit, cursor });
  return isFault(found) ? assert.fail(found.message) : found;
}

/** All that is wanted, page by page. */
async function list(s: TestStore, search: Partial<Search> = {}, limit = 3): Promise<readonly ListedDelivery[]> {
  const found: ListedDelivery[] = [];
  let cursor: string | null = null;
  do {
    const next: ListedPage = await page(s, search, limit, cursor);
    assert.ok(next.deliveries.length <= limit);
    found.push(...next.deliveries);
    cursor = next.cursor;
  } while (cursor !== null);
  return found;
}

async function ids(s: TestStore, search: Partial<Search> = {}, limit = 3): Promise<readonly string[]> {
  return (await list(s, search, limit)).map(({ id, destination }) => `${s.nth(id)}-${destination}`);
}

type End = (delivery: Delivery, at: number) => Settlement;

async function settleAll(s: TestStore, ends: Readonly<Record<string, End | undefined>>): Promise<void> {
  for (const destination of ["crm", "lake"]) {
    for (const one of await s.read({ destination })) {
      const end = ends[`${s.nth(one.id)}-${destination}`];
      if (end) assert.equal(await s.store().settle(one, end(one, s.clock.now())), "written");
    }
  }
}

/** Nine events for two destinations, in each state. Of the second three, what was delivered at once is pruned. */
async function startMixed(open: OpenStore): Promise<TestStore> {
  const s = await startStore(open);
  for (const [nth, source] of ["website", "app", "website"].entries()) {
    const entries = [1, 2, 3].map((n) =>
      makeEntry({
        ...{ source, messageId: `m${nth}-${n}`, userId: `u${n}`, type: n === 3 ? "page" : "track" },
        deliverTo: n === 2 ? ["crm"] : ["crm", "lake"],
      }),
    );
    assert.deepEqual(await s.append(...entries), ["accepted", "accepted", "accepted"]);
    await s.later("1m");
  }
  await settleAll(s, { "1-crm": delivered, "2-crm": failed, "3-lake": retried, "4-crm": failed, "5-crm": delivered });
  await s.later("1h");
  await settleAll(s, { "4-lake": expired, "6-crm": retried, "6-lake": delivered, "9-crm": failed });
  return s;
}

/** All that `startMixed` has, the newest event first. */
const MIXED = ["9-lake", "9-crm", "8-crm", "7-lake", "7-crm", "6-lake", "6-crm", "5-crm"].concat([
  "4-lake",
  "4-crm",
  "3-lake",
  "3-crm",
  "2-crm",
  "1-lake",
  "1-crm",
]);

const SOURCES = ["website"];

async function numbers(s: TestStore, messageId: string, sources = SOURCES): Promise<readonly number[]> {
  return (await s.store().lookup.event(messageId, sources)).events.map(({ id }) => s.nth(id));
}

/** So many events, a second apart. */
async function append(s: TestStore, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n += 1) {
    await s.append(makeEntry({ messageId: `m${n}` }));
    s.clock.skip("1s");
  }
}

export function describeLookup(open: OpenStore): void {
  describe("the list of deliveries", () => {
    it("has every delivery once, the newest event first, whatever the size of a page", async () => {
      await using s = await startMixed(open);
      for (const limit of [1, 2, 3, 5, 100]) assert.deepEqual(await ids(s, {}, limit), MIXED, `pages of ${limit}`);
      await s.reopen();
      assert.deepEqual(await ids(s), MIXED);
    });

    it("still has those whose neighbours were pruned", async () => {
      await using s = await startMixed(open);
      const at = s.clock.now() + 1;
      await s.prune({ delivered: at, failed: 0, seen: 0, sparse: at }, 100);
      const left = await ids(s, {}, 2);
      const gone = MIXED.filter((id) => !left.includes(id));
      assert.deepEqual(
        left,
        MIXED.filter((id) => left.includes(id)),
      );
      assert.ok(gone.length > 0);
      assert.ok(
        gone.every((id) => ["1-crm", "5-crm", "6-lake"].includes(id)),
        gone.join(),
      );
    });

    const filters: readonly Partial<Search>[] = [
      { state: "waiting" },
      { state: "delivered" },
      { destination: "lake" },
      { state: "waiting", destination: "lake" },
      { source: "app" },
      { type: "page" },
      { user: "u2" },
      { state: "waiting", source: "website", type: "track", user: "u1" },
      { destination: "nobody" },
    ];
    for (const search of filters) {
      it(`has only those with ${JSON.stringify(search)}`, async () => {
        await using s = await startMixed(open);
        const wanted = (await list(s, {}, 100)).filter(
          (one) =>
            (search.state ?? one.state) === one.state &&
            (search.destination ?? one.destination) === one.destination &&
            (search.source ?? one.source) === one.source &&
            (search.type ?? one.type) === one.type &&
            (search.user ?? one.userId) === one.userId,
        );
        assert.equal(wanted.length === 0, search.destination === "nobody");
        for (const limit of [1, 3, 100]) {
          assert.deepEqual(await list(s, search, limit), wanted, `pages of ${limit}`);
        }
      });
    }

    it("goes through many, page by page", async () => {
      await using s = await startStore(open);
      for (let from = 0; from < 3_000; from += 500) {
        await s.append(...makeEntries(500, { ownId: true, userId: `u${from}` }));
      }
      const all = await list(s, {}, 700);
      assert.deepEqual(
        all.map(({ id }) => s.nth(id)),
        Array.from({ length: 3_000 }, (_, n) => 3_000 - n),
      );
      assert.equal((await list(s, { user: "u1000" }, 90)).length, 500);
    });

    it("has of each what there is to know", async () => {
      await using s = await startStore(open);
      const acceptedAt = s.clock.now();
      await s.append(...makeEntries(4, { userId: "u1" }));
      const token = (one: Delivery, at: number) => ({ ...delivered(one, at), url: `${URL_A}?token=x`, status: 202 });
      await s.clock.advance("5s");
      const now = s.clock.now();
      await settleAll(s, { "1-crm": failed, "2-crm": token, "3-crm": retried });
      const event = { destination: "crm", source: "website", type: "track", userId: "u1", acceptedAt };
      const none = { replayedAt: null, url: null, status: null, reason: null };
      assert.deepEqual(await list(s), [
        {
          id: 4,
          ...event,
          messageId: "m4",
          state: "waiting",
          attempts: 0,
          dueAt: acceptedAt,
          settledAt: null,
          ...none,
        },
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

    it("has what failed or expired by when it did so", async () => {
      await using s = await startMixed(open);
      assert.deepEqual(await ids(s, { state: "failed" }, 1), ["9-crm", "4-crm", "2-crm"]);
      assert.deepEqual(await ids(s, { state: "failed" }, 100), ["9-crm", "4-crm", "2-crm"]);
      assert.deepEqual(await ids(s, { state: "expired" }), ["4-lake"]);
      const since = s.clock.now() - HOUR / 2;
      assert.deepEqual(await ids(s, { state: "failed", since }), ["9-crm"]);
      assert.deepEqual(await ids(s, { state: "failed", until: since }), ["4-crm", "2-crm"]);
    });

    it("goes by when a delivery was settled, and by when it came while it waits", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(2));
      await s.later("1h");
      const since = s.clock.now();
      await settleAll(s, { "1-crm": delivered });
      await s.append(makeEntry({ messageId: "m3" }));
      assert.deepEqual(await ids(s, { since }), ["3-crm", "1-crm"]);
      assert.deepEqual(await ids(s, { since, state: "waiting" }), ["3-crm"]);
      assert.deepEqual(await ids(s, { until: since }), ["2-crm"]);
      assert.deepEqual(await ids(s, { until: since, state: "waiting" }), ["2-crm"]);
    });

    it("goes on where it was, whatever came and went meanwhile", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(6));
      const first = await page(s, {}, 2, null);
      await s.append(makeEntry({ messageId: "m7" }));
      await settleAll(s, { "5-crm": retried, "4-crm": failed, "3-crm": delivered });
      const second = await page(s, {}, 2, first.cursor);
      assert.deepEqual(
        [...first.deliveries, ...second.deliveries].map(({ id }) => id),
        [6, 5, 4, 3],
      );
      await s.prune({ delivered: 0, failed: s.clock.now() + 1, seen: 0 }, 10);
      const third = await page(s, {}, 9, second.cursor);
      assert.deepEqual([third.deliveries.map(({ id }) => id), third.cursor], [[2, 1], null]);
    });

    it("takes no cursor of another list, and none that it has not made", async () => {
      await using s = await startMixed(open);
      const { cursor } = await page(s, {}, 1, null);
      assert.ok(cursor);
      for (const bad of ["x", "", Buffer.from("[1]").toString("base64url"), cursor]) {
        const found = await s.store().lookup.deliveries({ ...ALL, state: "failed" }, { limit: 1, cursor: bad });
        assert.ok(isFault(found) && found.code === "invalid_request", bad);
      }
    });
  });

  describe("a single delivery", () => {
    it("has its body and its attempts", async () => {
      await using s = await startStore(open);
      const bodies = ["{}", '{"a":1}', '{"b":2}'];
      await s.append(...bodies.map((body, n) => makeEntry({ messageId: `m${n}`, body })));
      const at = s.clock.now();
      const made: Attempt = {
        ...{ at, url: URL_A, duration: 3, outcome: "final", status: 400, reason: "400", answer: "no" },
        trigger: "first",
      };
      const finals = [{ url: `${URL_A}?token=x`, reason: "400" }];
      await settleAll(s, { "1-crm": delivered, "2-crm": (one) => ({ ...failed(one, at), finals, log: [made] }) });
      const detail = async (id: number) => s.store().lookup.delivery({ id, destination: "crm" });
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
      await using s = await startStore(open);
      await s.append(makeEntry({ deliverTo: ["crm"] }), makeEntry({ messageId: "m2", deliverTo: ["lake"] }));
      const find = async (id: number, destination: string) => {
        return (await s.store().lookup.delivery({ id, destination }))?.id ?? null;
      };
      assert.deepEqual([await find(1, "crm"), await find(2, "lake")], [1, 2]);
      for (const [id, name] of [
        [1, "lake"],
        [2, "crm"],
        [3, "crm"],
        [0, "crm"],
      ] as const)
        assert.equal(await find(id, name), null);
      await settleAll(s, { "1-crm": failed, "2-lake": delivered });
      const at = s.clock.now() + 1;
      await s.prune({ delivered: at, failed: 0, seen: 0 }, 10);
      assert.deepEqual([await find(1, "crm"), await find(2, "lake")], [1, null]);
      await s.prune({ delivered: at, failed: at, seen: 0 }, 10);
      assert.equal(await find(1, "crm"), null);
    });
  });

  describe("the trail of a messageId", () => {
    it("is found by its time among many events, over a restart, and also when others around it are gone", async () => {
      await using s = await startStore(open);
      await append(s, 1, 300);
      for (const one of await s.read())
        await s.store().settle(one, (s.nth(one.id) % 7 === 0 ? failed : delivered)(one, s.clock.now()));
      for (const n of [1, 2, 150, 299, 300]) assert.deepEqual(await numbers(s, `m${n}`), [n]);
      await s.reopen();
      assert.deepEqual(await numbers(s, "m150"), [150]);
      await s.prune({ delivered: s.clock.now() + 1, failed: 0, seen: 0 }, 1_000);
      for (const n of [7, 147, 294]) assert.deepEqual(await numbers(s, `m${n}`), [n]);
      assert.deepEqual(await s.store().lookup.event("m150", SOURCES), {
        ...{ events: [], complete: true },
        seen: [{ source: "website", at: s.clock.now() - 151_000 }],
      });
    });

    it("is looked for among all when its time is not known", async () => {
      await using s = await startStore(open);
      await append(s, 1, 120);
      assert.deepEqual(await numbers(s, "m3", ["other"]), [3]);
      const [one] = await s.read();
      assert.ok(one);
      await s.store().settle(one, retried(one, s.clock.now()));
      assert.deepEqual(
        (await s.store().lookup.event("m1", [])).events[0]?.deliveries.map(({ attempts }) => attempts),
        [1],
      );
      assert.deepEqual(await numbers(s, "m", ["other"]), []);
    });

    it("is the newest event if the same id was taken again, after 24 hours", async () => {
      await using s = await startStore(open);
      await append(s, 1, 2);
      await s.later("25h");
      assert.deepEqual(await s.append(makeEntry({ messageId: "m1" })), ["accepted"]);
      assert.deepEqual(await numbers(s, "m1"), [3]);
    });

    it("says which destinations it was not for, and of which nothing is known any more", async () => {
      await using s = await startStore(open);
      const skipped = [{ destination: "lake", rule: "historical" as const }];
      await s.append(...makeEntries(2, { skipped, deliverTo: ["crm", "other"] }));
      const [one] = await s.read();
      assert.ok(one);
      await s.store().settle(one, failed(one, s.clock.now()));
      await s.prune({ delivered: 0, failed: s.clock.now() + 1, seen: 0 }, 10);
      const [event] = (await s.store().lookup.event("m1", SOURCES)).events;
      assert.deepEqual([event?.skipped, event?.forgotten, event?.whole], [skipped, ["crm"], true]);
      assert.deepEqual(
        event?.deliveries.map(({ destination, state }) => [destination, state]),
        [["other", "waiting"]],
      );
    });
  });
}
