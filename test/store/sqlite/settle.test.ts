import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Delivery, Settlement } from "../../../src/model/delivery.ts";
import { MINUTE, SECOND } from "../../../src/model/units.ts";
import { makeEntry, URL_A } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

async function appendOne(o: TestOutbox): Promise<Delivery> {
  await o.s.append(makeEntry());
  const [delivery] = await o.s.read();
  assert.ok(delivery);
  return delivery;
}

const COLUMNS =
  "state, attempts, due_at, first_attempt_at, attempted_at, stood_still, settled_at, url, status, reason, finals";

/** Settles the delivery of a new outbox, and answers its row; times count from when it was accepted. */
async function rowAfter(settle: (acceptedAt: number) => Settlement): Promise<Readonly<Record<string, unknown>>> {
  await using o = await startOutbox();
  const delivery = await appendOne(o);
  const { acceptedAt } = delivery;
  assert.equal(await o.s.store().settle(delivery, settle(acceptedAt)), "written");
  const [row = {}] = o.sql(`SELECT ${COLUMNS} FROM deliveries`);
  const since = ([name, value]: [string, unknown]) => [
    name,
    name.endsWith("_at") && typeof value === "number" ? value - acceptedAt : value,
  ];
  return Object.fromEntries(Object.entries(row).map(since));
}

/** A round that began a second after the acceptance, and ended two after it. */
function round(acceptedAt: number) {
  const times = { firstAttemptAt: acceptedAt + SECOND, attemptedAt: acceptedAt + 2 * SECOND };
  return { attempts: 1, ...times, stoodStill: 0, finals: [] };
}

describe("a delivery's row, as an operator reads it", () => {
  it("waits, due at once, before the first attempt", async () => {
    await using o = await startOutbox();
    const { acceptedAt } = await appendOne(o);
    assert.deepEqual(o.sql(`SELECT ${COLUMNS} FROM deliveries`), [
      {
        ...{
          state: "waiting",
          attempts: 0,
          due_at: acceptedAt,
          first_attempt_at: null,
          attempted_at: null,
          stood_still: 0,
        },
        ...{ settled_at: null, url: null, status: null, reason: null, finals: null },
      },
    ]);
  });

  it("says when it was delivered, where, and with which status", async () => {
    assert.deepEqual(await rowAfter((at) => ({ ...round(at), state: "delivered", url: URL_A, status: 202 })), {
      ...{ state: "delivered", attempts: 1, due_at: null, first_attempt_at: null, attempted_at: null, stood_still: 0 },
      ...{ settled_at: 2_000, url: URL_A, status: 202, reason: null, finals: null },
    });
  });

  it("says until when it waits, why, and who has refused it", async () => {
    const finals = [{ url: URL_A, reason: "410" }];
    const dueAt = (at: number) => at + MINUTE;
    const row = await rowAfter((at) => ({
      ...{ ...round(at), attempts: 2, stoodStill: 500, finals },
      ...{ state: "waiting", dueAt: dueAt(at), reason: "answered 503" },
    }));
    assert.deepEqual(row, {
      ...{
        state: "waiting",
        attempts: 2,
        due_at: MINUTE,
        first_attempt_at: 1_000,
        attempted_at: 2_000,
        stood_still: 500,
      },
      ...{ settled_at: null, url: null, status: null, reason: "answered 503" },
      finals: `[{"url":"${URL_A}","reason":"410"}]`,
    });
  });

  for (const state of ["failed", "expired"] as const) {
    it(`says when and why it ${state === "failed" ? "failed" : "expired"}`, async () => {
      assert.deepEqual(await rowAfter((at) => ({ ...round(at), state, reason: "the last answer" })), {
        ...{ state, attempts: 1, due_at: null, first_attempt_at: 1_000, attempted_at: 2_000, stood_still: 0 },
        ...{ settled_at: 2_000, url: null, status: null, reason: "the last answer", finals: null },
      });
    });
  }

  it("no longer holds what it waited for, once it is settled", async () => {
    await using o = await startOutbox();
    const delivery = await appendOne(o);
    const { acceptedAt } = delivery;
    const waiting = {
      ...round(acceptedAt),
      state: "waiting",
      dueAt: acceptedAt + MINUTE,
      reason: "answered 503",
    } as const;
    await o.s.store().settle(delivery, waiting);
    const [again] = await o.s.read({ queue: "retry" });
    assert.ok(again);
    await o.s.store().settle(again, { ...round(acceptedAt), attempts: 2, state: "delivered", url: URL_A, status: 200 });
    assert.deepEqual(o.sql("SELECT state, attempts, reason, status FROM deliveries"), [
      { state: "delivered", attempts: 2, reason: null, status: 200 },
    ]);
  });
});
