import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Attempt, Delivery } from "../../../src/model/delivery.ts";
import { SECOND } from "../../../src/model/units.ts";
import { checksum } from "../../../src/store/segment.ts";
import { withoutRef } from "../harness.ts";
import { delivered, expired, failed, makeEntries, makeEntry, offline, refused, retried, URL_A } from "../make.ts";
import { type Row, startOutbox, type TestOutbox } from "./start.ts";

const BODY = '{"type":"page","text":"a\u2028\\u0000🙂"}';
const ABOUT = ["app", "page", "m2", "u2"];

/** The second of three events. */
async function appendOne(o: TestOutbox): Promise<Delivery> {
  const skipped = [{ destination: "other", rule: "type_not_selected" as const }];
  await o.s.append(
    makeEntry({ messageId: "m1", deliverTo: ["warehouse"] }),
    makeEntry({ source: "app", type: "page", messageId: "m2", userId: "u2", body: BODY, skipped }),
    makeEntry({ messageId: "m3" }),
  );
  const [delivery] = await o.s.read();
  assert.equal(delivery?.messageId, "m2");
  return delivery ?? assert.fail();
}

/** The only row, with `about` parsed. */
function row({ sql }: TestOutbox): Row {
  const rows = sql("SELECT * FROM tried");
  assert.equal(rows.length, 1);
  const { sum, about, ...rest } = rows[0] ?? {};
  assert.equal(sum, checksum(String(about), String(rest.body)));
  return { ...rest, about: JSON.parse(String(about)) };
}

describe("a delivery that its first attempt did not deliver", () => {
  const ends = [
    ...[failed, expired].map((end) => ({
      end,
      state: end.name,
      wait: null,
      finals: null,
      attempts: 1,
      stood_still: 0,
    })),
    { end: retried, state: "waiting", wait: SECOND, finals: null, attempts: 1, stood_still: 0 },
    ...[{ end: offline, state: "waiting", wait: SECOND, finals: null, attempts: 0, stood_still: SECOND }],
    {
      ...{ end: refused, state: "waiting", wait: SECOND, attempts: 1, stood_still: 0 },
      finals: JSON.stringify([{ url: URL_A, reason: "answered 410" }]),
    },
  ];
  for (const { end, state, wait, finals, attempts, stood_still } of ends) {
    it(`has a row of its own with all there is to know (${end.name})`, async () => {
      await using o = await startOutbox();
      const delivery = await appendOne(o);
      const acceptedAt = o.s.clock.now();
      await o.s.clock.advance("5s");
      const now = o.s.clock.now();
      const settlement = end(delivery, now);
      assert.equal(await o.s.store().settle(delivery, settlement), "written");
      assert.ok(settlement.state !== "delivered");
      assert.deepEqual(row(o), {
        ...{ event: 2, destination: "crm", state, due_at: wait === null ? null : now + wait, attempts, stood_still },
        ...{ first_attempt_at: attempts === 0 ? null : now, attempted_at: now, settled_at: wait === null ? now : null },
        ...{
          url: null,
          status: null,
          reason: settlement.reason,
          finals,
          accepted_at: acceptedAt,
          body: BODY,
          log: null,
          replayed_at: null,
        },
        about: [...ABOUT, [["type_not_selected", "other"]]],
      });
    });
  }

  it("is read from its row, over a restart and when its segment is gone", async () => {
    await using o = await startOutbox();
    const delivery = await appendOne(o);
    const now = o.s.clock.now();
    await o.s.store().settle(delivery, refused(delivery, now));
    const expected = {
      ...withoutRef(delivery),
      ...{ attempts: 1, firstAttemptAt: now, attemptedAt: now, dueAt: now + SECOND },
      finals: [{ url: URL_A, reason: "answered 410" }],
    };
    assert.deepEqual((await o.s.read({ queue: "retry" })).map(withoutRef), [expected]);
    for (const destination of ["crm", "warehouse"]) {
      for (const one of await o.s.read({ destination })) await o.s.store().settle(one, delivered(one, now));
    }
    await o.s.prune({ delivered: now + 1, failed: 0, seen: 0 }, 10);
    assert.deepEqual(o.sql("SELECT * FROM segments"), []);
    await o.s.reopen();
    assert.deepEqual((await o.s.read({ queue: "retry" })).map(withoutRef), [expected]);
    assert.deepEqual(await o.s.counts(), ["crm waiting: 1"]);
  });

  it("keeps its row when it is delivered after all", async () => {
    await using o = await startOutbox();
    let delivery: Delivery | undefined = await appendOne(o);
    const start = o.s.clock.now();
    for (const end of [offline, retried, offline, delivered]) {
      assert.ok(delivery);
      assert.equal(await o.s.store().settle(delivery, end(delivery, o.s.clock.now())), "written");
      await o.s.clock.advance("1s");
      [delivery] = await o.s.read({ queue: "retry" });
    }
    assert.equal(delivery, undefined);
    const { about, body, accepted_at: acceptedAt, ...rest } = row(o);
    assert.deepEqual(rest, {
      ...{ event: 2, destination: "crm", state: "delivered", due_at: null, attempts: 2, stood_still: 2 * SECOND },
      ...{ first_attempt_at: start + SECOND, attempted_at: start + 3 * SECOND, settled_at: start + 3 * SECOND },
      ...{ url: URL_A, status: 200, reason: null, finals: null, log: null, replayed_at: null },
    });
    assert.deepEqual(o.sql("SELECT states, settled FROM progress WHERE destination = 'crm'"), [
      { states: "-tw", settled: "" },
    ]);
    assert.deepEqual(await o.s.counts(), ["crm delivered: 1", "crm waiting: 1", "warehouse waiting: 1"]);
  });

  it("is delivered by its first attempt that left the machine, in its row", async () => {
    await using o = await startOutbox();
    const first = await appendOne(o);
    const now = o.s.clock.now();
    await o.s.store().settle(first, offline(first, now));
    const [second] = await o.s.read({ queue: "retry" });
    assert.deepEqual([second?.attempts, second?.attemptedAt], [0, now]);
    assert.ok(second);
    assert.equal(await o.s.store().settle(second, delivered(second, now + 1)), "written");
    assert.equal(await o.s.store().settle(second, delivered(second, now + 1)), "gone");
    assert.deepEqual([row(o).state, row(o).attempts, row(o).first_attempt_at], ["delivered", 1, now + 1]);
  });

  it("takes its attempts along when it is settled, and leaves them when it becomes another destination's", async () => {
    await using o = await startOutbox();
    const first = await appendOne(o);
    const now = o.s.clock.now();
    const made = (at: number): Attempt => ({
      ...{ at, url: URL_A, duration: 7, outcome: "retry", status: 503, reason: "503", answer: "busy" },
      trigger: "first",
    });
    const log = [made(now)];
    await o.s.store().settle(first, { ...retried(first, now), log });
    assert.deepEqual(JSON.parse(String(row(o).log)), { first: log, omitted: 0, last: [] });
    await o.s.store().waiting.move({ from: "crm", to: "warehouse" }, 10);
    const moved = o.sql("SELECT destination, log FROM tried");
    assert.deepEqual(moved, [{ destination: "warehouse", log: null }]);
  });

  it("goes by its own time, whatever waits in its segment", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(3));
    const [one, two] = await o.s.read();
    assert.ok(one && two);
    const now = o.s.clock.now();
    await o.s.store().settle(one, failed(one, now));
    await o.s.store().settle(two, retried(two, now));
    const [again] = await o.s.read({ queue: "retry" });
    assert.ok(again);
    await o.s.store().settle(again, delivered(again, now + 10));
    const prune = (at: number) => o.s.prune({ delivered: at, failed: at, seen: 0 }, 10);
    const none = { delivered: 0, failed: 0, expired: 0, unrouted: 0, seen: 0 };
    assert.deepEqual(await prune(now), none);
    assert.deepEqual(await prune(now + 1), { ...none, failed: 1 });
    assert.deepEqual(await prune(now + 10), none);
    assert.deepEqual(await prune(now + 11), { ...none, delivered: 1 });
    assert.deepEqual(await o.s.counts(), ["crm waiting: 1"]);
    assert.deepEqual(o.sql("SELECT states FROM progress"), [{ states: "ttw" }]);
  });
});
