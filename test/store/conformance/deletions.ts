import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { NewDeletion, TheirEvents, WaitingEvent, WaitingStep, WalkCursor } from "../../../src/model/deletion.ts";
import type { Event } from "../../../src/model/event.ts";
import { isFault } from "../../../src/model/fault.ts";
import { SLOW } from "../../slow.ts";
import { type OpenStore, startStore, type TestStore } from "../harness.ts";
import { delivered, failed, makeEntries, makeEntry, retried } from "../make.ts";

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

export function describeDeletions(open: OpenStore): void {
  describe("a deletion that is stored", () => {
    it("is there after a restart, with the number of the newest event when it came", async () => {
      await using s = await startStore(open);
      await s.append(...makeEntries(3));
      const recorded = await s.store().deletions.record(REQUEST);
      assert.partialDeepStrictEqual(recorded, { id: "del-1", status: "running", stage: "notices", upTo: 3, users: 2 });
      await s.reopen();
      assert.deepEqual(await s.store().deletions.unfinished("notices", ""), [recorded]);
      assert.deepEqual(await s.store().deletions.unfinished("notices", "del-1"), []);
      assert.deepEqual(await s.store().deletions.people("del-1"), ["u1", "u2"]);
      assert.deepEqual(await s.store().deletions.suppressed.among(["u1", "u9"], "anything"), new Set(["u1"]));
    });

    it("makes each notice once, whatever becomes of its keys", async () => {
      await using s = await startStore(open);
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
      await using s = await startStore(open);
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
      await s.later("1m");
      const now = s.clock.now();
      while ((await s.prune({ delivered: now, failed: now, seen: now }, 10)).delivered > 0);
      assert.deepEqual(await states(), { crm: "delivered", lake: "failed", constructor: "forgotten" });
      assert.equal((await check()).closed, true);
    });

    it("is listed with the others, the newest first, page by page, and by each of its users", async () => {
      await using s = await startStore(open);
      const { deletions } = s.store();
      for (const n of [1, 2, 3, 4, 5]) {
        await deletions.record({ ...REQUEST, id: `del-${n}`, userIds: ["u1", `u${n + 1}`] });
      }
      const ask = { limit: 2, user: null };
      const first = await deletions.page({ ...ask, cursor: null });
      const second = await deletions.page({ ...ask, cursor: first.cursor });
      const third = await deletions.page({ ...ask, cursor: second.cursor });
      assert.deepEqual(
        [first, second, third].map((page) => page.deletions.map(({ id }) => id)),
        [["del-5", "del-4"], ["del-3", "del-2"], ["del-1"]],
      );
      assert.equal(third.cursor, null);
      const of = async (user: string) => (await deletions.page({ limit: 9, cursor: null, user })).deletions.length;
      assert.deepEqual([await of("u1"), await of("u3"), await of("u9")], [5, 1, 0]);
    });

    it("has a receipt that says who its users are until they are forgotten, and proves it afterwards", async () => {
      await using s = await startStore(open);
      const { deletions } = s.store();
      const recorded = await deletions.record({ ...REQUEST, userIds: ["u1", "\ud83d"] });
      if (isFault(recorded)) return assert.fail(recorded.message);
      const salt = await deletions.salt();
      const hash = createHash("sha256").update(`${salt}:u1`).digest("hex");
      const before = await deletions.receipt("del-1");
      assert.deepEqual(
        before?.people.map(({ nth, userId, suppressed }) => [nth, userId, suppressed]),
        [
          [0, "u1", true],
          [1, "\ud83d", true],
        ],
      );
      assert.equal(before?.people[0]?.hash, hash);
      await deletions.advance("del-1", { stage: "done", status: "finished", endedAt: 9 });
      assert.equal(await deletions.forgetPeople(recorded), true);
      await s.reopen();
      const after = await s.store().deletions.receipt("del-1");
      assert.partialDeepStrictEqual(after, { status: "finished", stage: "done", endedAt: 9 });
      assert.deepEqual(after?.people[0], { nth: 0, userId: null, hash, suppressed: true });
      assert.equal(await s.store().deletions.receipt("del-2"), null);
    });

    it("takes a force that survives a restart", async () => {
      await using s = await startStore(open);
      await s.store().deletions.record(REQUEST);
      assert.partialDeepStrictEqual(await s.store().deletions.force("del-1"), { forced: true });
      await s.reopen();
      assert.equal((await s.store().deletions.receipt("del-1"))?.forced, true);
    });
  });

  describe("a suppressed user", () => {
    it("is refused in the sources of the request only, by either id of an alias, over a restart", async () => {
      await using s = await startStore(open);
      await s.store().deletions.record({ ...REQUEST, userIds: ["u1"], sources: ["website"] });
      const send = () =>
        s.append(
          makeEntry({ ownId: true, userId: "u1" }),
          makeEntry({ ownId: true, userId: "u1", source: "app" }),
          makeEntry({ ownId: true, userId: "u2" }),
        );
      assert.deepEqual(await send(), ["suppressed", "accepted", "accepted"]);
      const alias = makeEntry({ ownId: true, userId: "u2", type: "alias" });
      const other = { ...alias, event: { ...alias.event, previousId: "u1" } as Event };
      assert.deepEqual(await s.append(other), ["suppressed"]);
      await s.reopen();
      assert.deepEqual(await send(), ["suppressed", "accepted", "accepted"]);
      assert.deepEqual(await s.counts(), ["crm waiting: 4"]);
    });

    it("is not if the request did not ask for it", async () => {
      await using s = await startStore(open);
      await s.store().deletions.record({ ...REQUEST, suppress: false });
      assert.deepEqual(await s.append(makeEntry({ userId: "u1" })), ["accepted"]);
    });

    it("is accepted again once it is lifted, whichever request had suppressed it", async () => {
      await using s = await startStore(open);
      const { suppressed, record, receipt } = s.store().deletions;
      await record({ ...REQUEST, sources: ["website"] });
      await record({ ...REQUEST, id: "del-2", sources: ["app"] });
      assert.equal(await suppressed.lift(["u1", "u1", "u9"]), 1);
      assert.deepEqual(await suppressed.among(["u1", "u2"], "app"), new Set(["u2"]));
      assert.deepEqual(
        (await receipt("del-1"))?.people.map((one) => one.suppressed),
        [false, true],
      );
      const send = (userId: string) => s.append(makeEntry({ ownId: true, userId, source: "app" }));
      assert.deepEqual([await send("u1"), await send("u2")], [["accepted"], ["suppressed"]]);
      await s.reopen();
      assert.deepEqual([await send("u1"), await send("u2")], [["accepted"], ["suppressed"]]);
      assert.equal(await s.store().deletions.suppressed.lift(["u1"]), 0);
    });
  });

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
          await using s = await startStore(open);
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
      await using s = await startStore(open);
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
      await using s = await startStore(open);
      const { deletions } = s.store();
      const first = await deletions.record(REQUEST);
      const second = await deletions.record({ ...REQUEST, id: "del-2", erase: false });
      if (isFault(first) || isFault(second)) return assert.fail();
      assert.equal(await deletions.forgetPeople(first), false);
      await deletions.advance("del-2", { stage: "settling", status: "running", endedAt: null });
      assert.equal(await deletions.forgetPeople(first), true);
      assert.deepEqual([await deletions.people("del-1"), await deletions.people("del-2")], [[], []]);
    });
  });
}

function stateOf(counts: Readonly<Record<string, unknown>>): string | undefined {
  return ["waiting", "delivered", "failed", "expired", "forgotten"].find((state) => counts[state] === 1);
}
