import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Delivery, DeliveryState } from "../../../src/model/delivery.ts";
import type { Queue } from "../../../src/model/ports.ts";
import { type OpenStore, startStore, type TestStore } from "../harness.ts";
import { delivered, expectReceipts, expired, failed, makeEntry, retried } from "../make.ts";

/** One thing that the daemon does with its store. Numbers choose among what is there. */
export type Step =
  | { readonly do: "append"; readonly ids: readonly number[]; readonly to: readonly string[] }
  | { readonly do: "settle"; readonly choice: number; readonly end: keyof typeof ENDS }
  | { readonly do: "settle again"; readonly choice: number; readonly end: keyof typeof ENDS }
  | { readonly do: "prune"; readonly limit: number }
  | { readonly do: "wait" }
  | { readonly do: "reopen" };

const ENDS = { delivered, failed, expired, waiting: retried } as const;
const DESTINATIONS = ["crm", "warehouse", "constructor"];

const anyEnd = fc.constantFrom(...(Object.keys(ENDS) as (keyof typeof ENDS)[]));

export const anySteps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant("append" as const),
      ids: fc.array(fc.nat(30), { maxLength: 6 }),
      to: fc.subarray(DESTINATIONS),
    }),
    { weight: 2, arbitrary: fc.record({ do: fc.constant("settle" as const), choice: fc.nat(), end: anyEnd }) },
    fc.record({ do: fc.constant("settle again" as const), choice: fc.nat(), end: anyEnd }),
    fc.record({ do: fc.constant("prune" as const), limit: fc.integer({ min: 1, max: 4 }) }),
    fc.constant({ do: "wait" as const }),
    fc.constant({ do: "reopen" as const }),
  ),
  { maxLength: 30 },
);

/** What there should be, in plain memory. */
export type Expected = {
  readonly seen: Set<number>;
  readonly rows: Map<number, { readonly delivery: Delivery; state: DeliveryState; tried: boolean; settledAt: number }>;
};

export function describeSequences(open: OpenStore): void {
  describe("any sequence of operations", () => {
    it("leaves the counts and the backlog as they should be", async () => {
      await fc.assert(
        fc.asyncProperty(anySteps, async (steps) => {
          await using s = await startStore(open);
          const expected: Expected = { seen: new Set(), rows: new Map() };
          for (const step of steps) {
            await play(step, s, expected);
            assert.deepEqual(s.counts(), countsOf(expected));
          }
          for (const destination of DESTINATIONS) await compareBacklog(destination, s, expected);
        }),
        { numRuns: 60 },
      );
    });
  });
}

/** Does it, checks what it answers, and expects what follows from it. */
export async function play(step: Step, s: TestStore, expected: Expected): Promise<void> {
  switch (step.do) {
    case "append":
      return append(step, s, expected);
    case "settle":
      return settle(step, s, expected);
    case "settle again":
      return settleAgain(step, s, expected);
    case "prune":
      return prune(step.limit, s, expected);
    case "wait":
      return s.clock.advance("1m");
    case "reopen":
      return s.reopen();
  }
}

export function countsOf({ rows }: Expected): readonly string[] {
  const counts = new Map<string, number>();
  for (const { delivery, state } of rows.values()) {
    const key = `${delivery.destination} ${state}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => `${key}: ${count}`).sort();
}

async function append({ ids, to }: Extract<Step, { do: "append" }>, s: TestStore, expected: Expected): Promise<void> {
  const receipts = expectReceipts(ids, expected.seen);
  const entries = ids.map((id) => makeEntry({ messageId: `m${id}`, deliverTo: to }));
  assert.deepEqual(await s.append(...entries), receipts);
  const count = receipts.filter((kind) => kind === "accepted").length;
  for (const destination of to) {
    const known = [...expected.rows.keys()];
    const fresh = (await s.read({ destination })).filter(({ id }) => !known.includes(id));
    assert.equal(fresh.length, count);
    for (const delivery of fresh) {
      expected.rows.set(delivery.id, { delivery, state: "waiting", tried: false, settledAt: 0 });
    }
  }
}

type Settling = Extract<Step, { do: "settle" | "settle again" }>;

async function settle({ choice, end }: Settling, s: TestStore, { rows }: Expected): Promise<void> {
  const waiting = [...rows.values()].filter(({ state }) => state === "waiting");
  const row = waiting[choice % waiting.length];
  if (!row) return;
  const settlement = ENDS[end](row.delivery, s.clock.now());
  assert.equal(await s.store().settle(row.delivery, settlement), "written");
  Object.assign(row, { state: end, tried: true, settledAt: s.clock.now() });
}

async function settleAgain({ choice, end }: Settling, s: TestStore, { rows }: Expected): Promise<void> {
  const settled = [...rows.values()].filter(({ state }) => state !== "waiting");
  const row = settled[choice % settled.length];
  if (!row) return;
  assert.equal(await s.store().settle(row.delivery, ENDS[end](row.delivery, s.clock.now())), "gone");
}

/** What was delivered goes after a minute, what failed or expired after two: the oldest first, `limit` of each. */
async function prune(limit: number, s: TestStore, { rows }: Expected): Promise<void> {
  const before = { delivered: s.clock.now() - 30_000, failed: s.clock.now() - 90_000, expired: s.clock.now() - 90_000 };
  const counts = await s.store().prune({ ...before, seen: 0 }, limit);
  for (const state of ["delivered", "failed", "expired"] as const) {
    const old = [...rows].filter(([, row]) => row.state === state && row.settledAt < before[state]);
    old.sort(([a, one], [b, other]) => one.settledAt - other.settledAt || a - b);
    for (const [id] of old.slice(0, limit)) rows.delete(id);
    assert.equal(counts[state], Math.min(old.length, limit));
  }
}

async function compareBacklog(destination: string, s: TestStore, { rows }: Expected): Promise<void> {
  for (const queue of ["first", "retry"] satisfies Queue[]) {
    const expected = [...rows.values()]
      .filter(({ delivery, state, tried }) => {
        return delivery.destination === destination && state === "waiting" && tried === (queue === "retry");
      })
      .map(({ delivery }) => delivery.id);
    const found = (await s.read({ destination, queue })).map(({ id }) => id);
    assert.deepEqual(
      found.sort((a, b) => a - b),
      expected.sort((a, b) => a - b),
    );
  }
}
