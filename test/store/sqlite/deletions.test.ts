import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { NewDeletion, TheirEvents, WaitingEvent, WaitingStep, WalkCursor } from "../../../src/model/deletion.ts";
import { isFault } from "../../../src/model/fault.ts";
import { SLOW } from "../../slow.ts";
import { startStore, type TestStore } from "../harness.ts";
import { delivered, failed, makeEntries, makeEntry, retried } from "../make.ts";
import { failing, openSqlite, startOutbox } from "./start.ts";

const REQUEST: NewDeletion = {
  ...{ id: "del-1", requestedAt: 5, userIds: ["u1", "u2"], sources: null, affected: ["website"], untold: [] },
  ...{ erase: true, suppress: true },
};

async function waitingOf(s: TestStore, of: TheirEvents): Promise<readonly WaitingEvent[]> {
  const found: WaitingEvent[] = [];
  let after: WalkCursor | null = null;
  do {
    const step: WaitingStep = await s.store().deletions.waiting(of, after);
    found.push(...step.found);
    after = step.next;
  } while (after !== null);
  return found;
}

function noticeEntry(nth: number, deliverTo = ["crm"]) {
  const messageId = `delete-1000${nth}0000`;
  return {
    ...makeEntry({ type: "delete", messageId, userId: `u${nth + 1}`, deliverTo }),
    notice: { deletion: "del-1", nth },
  };
}

describe("a deletion that is stored", () => {
  it("is there after a restart, with the number of the newest event when it came", async () => {
    await using s = await startStore(openSqlite);
    await s.append(...makeEntries(3));
    const recorded = await s.store().deletions.record(REQUEST);
    assert.partialDeepStrictEqual(recorded, { id: "del-1", status: "running", stage: "notices", upTo: 3, users: 2 });
    await s.reopen();
    assert.deepEqual(await s.store().deletions.unfinished("notices", ""), [recorded]);
    assert.deepEqual(await s.store().deletions.unfinished("notices", "del-1"), []);
    assert.deepEqual(await s.store().deletions.people("del-1"), ["u1", "u2"]);
    assert.deepEqual(await s.store().deletions.suppressed.among(["u1", "u9"], "anything"), new Set(["u1"]));
  });

  it("suppresses nobody if it could not be written, nor takes somebody back who is suppressed already", async () => {
    await using o = await startOutbox();
    const { deletions } = o.s.store();
    await deletions.record({ ...REQUEST, userIds: ["u1"] });
    o.shell.exec(failing("deletions"));
    assert.partialDeepStrictEqual(await deletions.record({ ...REQUEST, id: "del-2" }), { code: "store_failed" });
    assert.deepEqual(await deletions.suppressed.among(["u1", "u2"], "website"), new Set(["u1"]));
    assert.equal(await deletions.receipt("del-2"), null);
  });

  it("makes each notice once, whatever becomes of its keys", async () => {
    await using s = await startStore(openSqlite);
    const { deletions } = s.store();
    await deletions.record(REQUEST);
    const of = { id: "del-1", source: "website" };
    assert.deepEqual(
      (await deletions.unnoticed(of, 9)).map(({ nth }) => nth),
      [0, 1],
    );
    assert.deepEqual(await s.append(noticeEntry(0)), ["accepted"]);
    assert.deepEqual(await s.append(noticeEntry(0), noticeEntry(1)), ["duplicate", "accepted"]);
    assert.deepEqual(await deletions.unnoticed(of, 9), []);
    assert.deepEqual(await s.counts(), ["crm waiting: 2"]);
    assert.deepEqual(
      (await deletions.unnoticed({ ...of, source: "app" }, 1)).map(({ userId }) => userId),
      ["u1"],
    );
  });

  it("counts what has become of its notices, also of those that are not kept any more", async () => {
    await using s = await startStore(openSqlite);
    await s.store().deletions.record(REQUEST);
    await s.append(noticeEntry(0, ["crm", "lake", "constructor"]));
    const check = async () => {
      const now = await s.store().deletions.check("del-1");
      return isFault(now) ? assert.fail(now.message) : now;
    };
    const states = async () =>
      Object.fromEntries((await check()).notices.map((one) => [one.destination, stateOf(one)]));
    assert.deepEqual(await states(), { crm: "waiting", lake: "waiting", constructor: "waiting" });
    const [crm] = await s.read();
    const [lake] = await s.read({ destination: "lake" });
    assert.ok(crm && lake);
    await s.store().settle(crm, delivered(crm, s.clock.now()));
    await s.store().settle(lake, failed(lake, s.clock.now()));
    assert.deepEqual(await states(), { crm: "delivered", lake: "failed", constructor: "waiting" });
    assert.equal((await check()).closed, false);
    const [last] = await s.read({ destination: "constructor" });
    assert.ok(last);
    await s.store().settle(last, retried(last, s.clock.now()));
    await s.store().settle({ ...last, attempts: 1, attemptedAt: s.clock.now() }, delivered(last, s.clock.now()));
    await s.clock.advance("1m");
    const now = s.clock.now();
    while ((await s.prune({ delivered: now, failed: now, seen: now }, 10)).delivered > 0);
    assert.deepEqual(await states(), { crm: "delivered", lake: "failed", constructor: "forgotten" });
    assert.equal((await check()).closed, true);
  });
});

function stateOf(counts: Readonly<Record<string, unknown>>): string | undefined {
  return ["waiting", "delivered", "failed", "expired", "forgotten"].find((state) => counts[state] === 1);
}

describe("what waits of some users", () => {
  it("is all that does, of their sources, and that was there before", SLOW, async () => {
    const anyEvent = fc.record({
      userId: fc.constantFrom("u1", "u2", "u3"),
      source: fc.constantFrom("website", "app"),
      type: fc.constantFrom("track", "delete"),
      size: fc.constantFrom(1, 3_000),
      fate: fc.constantFrom("waits", "waits", "retried", "delivered", "failed"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anyEvent, { maxLength: 40 }), fc.nat(40), fc.boolean(), async (events, upTo, all) => {
        await using s = await startStore(openSqlite);
        for (let from = 0; from < events.length; from += 7) {
          const entries = events.slice(from, from + 7).map(({ size, ...one }, n) =>
            makeEntry({
              ...one,
              type: one.type as "track",
              messageId: `m${from + n}`,
              body: `{"x":"${"x".repeat(size)}"}`,
            }),
          );
          await s.append(...entries);
        }
        for (const delivery of await s.read()) {
          const fate = events[delivery.id - 1]?.fate;
          const settlement = { retried, delivered, failed }[fate as "retried"]?.(delivery, s.clock.now());
          if (settlement) await s.store().settle(delivery, settlement);
        }
        const sources = all ? null : ["website"];
        const found = await waitingOf(s, { users: new Set(["u1", "u3"]), sources, upTo });
        const wanted = events.flatMap(({ userId, source, type, fate }, n) => {
          const waits = (fate === "waits" || fate === "retried") && type !== "delete" && n < upTo;
          return waits && userId !== "u2" && (all || source === "website") ? [{ event: n + 1, source, userId }] : [];
        });
        assert.deepEqual(
          found.toSorted((one, other) => one.event - other.event),
          wanted,
        );
      }),
      { numRuns: 60 },
    );
  });
});

describe("erasing", () => {
  it("leaves what waits still, and says so", async () => {
    await using s = await startStore(openSqlite);
    const { deletions } = s.store();
    await s.append(...makeEntries(2, { userId: "u1" }), makeEntry({ messageId: "m3", userId: "u3" }));
    const recorded = await deletions.record(REQUEST);
    if (isFault(recorded)) return assert.fail(recorded.message);
    const [one] = await s.read();
    assert.ok(one);
    await s.store().settle(one, delivered(one, s.clock.now()));
    const of = { users: new Set(["u1", "u2"]), sources: null, upTo: recorded.upTo };
    const steps = async () => {
      let busy = false;
      let after: WalkCursor | null = null;
      do {
        const step = await deletions.erase(recorded, of, after);
        if (isFault(step)) return assert.fail(step.message);
        busy ||= step.busy;
        after = step.next;
      } while (after !== null);
      return busy;
    };
    assert.equal(await steps(), true);
    assert.deepEqual(await s.read().then((all) => all.map(({ id, body }) => [id, body])), [
      ...[
        [2, '{"messageId":"m2"}'],
        [3, '{"messageId":"m3"}'],
      ],
    ]);
    await s.store().withdraw({ events: [2], reason: "user deleted" });
    assert.equal(await steps(), false);
    assert.deepEqual((await deletions.receipt("del-1"))?.erased, { events: 2, deliveries: 1 });
    assert.deepEqual(await s.counts(), ["crm delivered: 1", "crm waiting: 1"]);
    const first = await s.store().lookup.delivery({ id: 1, destination: "crm" });
    assert.partialDeepStrictEqual(first, {
      state: "delivered",
      userId: null,
      messageId: "",
      body: '{"type":"track","erased":true}',
    });
  });

  it("waits for another request that needs to know who they are", async () => {
    await using s = await startStore(openSqlite);
    const { deletions } = s.store();
    const first = await deletions.record(REQUEST);
    const second = await deletions.record({ ...REQUEST, id: "del-2", erase: false });
    if (isFault(first) || isFault(second)) return assert.fail();
    assert.equal(await deletions.forgetPeople(first), false);
    await deletions.advance("del-2", { stage: "settling", status: "running", endedAt: null });
    assert.equal(await deletions.forgetPeople(first), true);
    assert.deepEqual([await deletions.people("del-1"), await deletions.people("del-2")], [[], []]);
  });

  it("says that the log cannot be emptied while somebody reads it", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(3));
    o.shell.exec("BEGIN; SELECT * FROM segments");
    await o.s.append(makeEntry({ messageId: "m4" }));
    assert.equal(await o.s.store().deletions.scrub(), false);
    o.shell.exec("ROLLBACK");
    assert.equal(await o.s.store().deletions.scrub(), true);
  });
});
