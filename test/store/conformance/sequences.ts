import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Delivery, Settlement } from "../../../src/model/delivery.ts";
import type { Entry, PruneBefore, PruneCounts, Queue, QueueAsk, QueuePage, Receipt } from "../../../src/model/ports.ts";
import type { At } from "../../../src/model/units.ts";
import type { Redirect } from "../../../src/model/waiting-deliveries.ts";
import { SLOW } from "../../slow.ts";
import { makeAsk, type OpenStore, startStore, type TestStore, withoutRef } from "../harness.ts";
import { delivered, expired, failed, makeEntry, offline, refused, retried } from "../make.ts";
import {
  createExpected,
  type Expected,
  expectAppend,
  expectPrune,
  expectSettle,
  keyOf,
  learnRefs,
  needsPrune,
  waitingIn,
} from "./model.ts";
import { expectCounts, expectOldestWaitingAt, expectPage, retriesOf } from "./model-reads.ts";
import { type Replaying, replay } from "./model-replay.ts";
import { expectDiscard, expectMove } from "./model-unserved.ts";

/** One thing that the daemon does with its store. Numbers choose among what is there. */
export type Step =
  | { readonly do: "commit"; readonly acts: readonly Act[] }
  | { readonly do: "read"; readonly what: Omit<QueueAsk, "after" | "dueBy">; readonly after: number | null }
  | ({ readonly do: "replay" } & Replaying)
  | { readonly do: "wait" }
  | { readonly do: "reopen" }
  | { readonly do: "kill" };

/** What shares a commit with others. */
export type Act =
  | { readonly do: "append"; readonly events: readonly Sent[] }
  | { readonly do: "settle"; readonly choices: readonly number[]; readonly asRead: boolean; readonly end: End }
  | { readonly do: "settle again"; readonly choice: number; readonly end: End }
  | { readonly do: "prune"; readonly what: keyof typeof PRUNES; readonly limit: number }
  | Unserving;

type Unserving =
  | { readonly do: "discard"; readonly destination: string; readonly limit: number }
  | { readonly do: "move"; readonly by: Redirect; readonly limit: number };

type Sent = { readonly id: number; readonly to: readonly string[] };
type End = keyof typeof ENDS;

const ENDS = { delivered, failed, expired, retried, offline, refused } as const;
export const DESTINATIONS = ["crm", "warehouse", "constructor"];

/** By age, or because the store is crowded: then a little or all that can be. */
const PRUNES: Readonly<Record<"old" | "delivered" | "settled", (now: At) => PruneBefore>> = {
  old: (now) => ({ delivered: now - 30_000, failed: now - 90_000, seen: 0 }),
  delivered: (now) => ({ delivered: now + 1, failed: now - 90_000, seen: 0, sparse: now - 30_000 }),
  settled: (now) => ({ delivered: now + 1, failed: now + 1, seen: 0, sparse: now + 1 }),
};

const anyEnd = fc.oneof(
  { weight: 2, arbitrary: fc.constant("delivered" as const) },
  fc.constantFrom(...(Object.keys(ENDS) as End[])),
);

/** What only the operator does. */
export function anyUnserving(): readonly fc.Arbitrary<Act>[] {
  const limit = fc.integer({ min: 1, max: 12 });
  const pairs = fc.shuffledSubarray([...DESTINATIONS, "new"], { minLength: 2, maxLength: 2 });
  const by = pairs.map(([from = "", to = ""]) => ({ from, to }));
  return [
    fc.record({ do: fc.constant("discard" as const), destination: fc.constantFrom(...DESTINATIONS), limit }),
    fc.record({ do: fc.constant("move" as const), by, limit }),
  ];
}

export const anyAct: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    do: fc.constant("append" as const),
    events: fc.array(fc.record({ id: fc.nat(60), to: fc.subarray(DESTINATIONS) }), { maxLength: 8 }),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      choices: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 6 }),
      asRead: fc.boolean(),
      end: anyEnd,
    }),
  },
  fc.record({ do: fc.constant("settle again" as const), choice: fc.nat(1_000), end: anyEnd }),
  fc.record({
    do: fc.constant("prune" as const),
    what: fc.constantFrom("old", "delivered", "settled"),
    limit: fc.integer({ min: 1, max: 12 }),
  }),
  { weight: 2, arbitrary: fc.oneof(...anyUnserving()) },
);

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("commit" as const),
      acts: fc.array(anyAct, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("read" as const),
      what: fc.record({
        destination: fc.constantFrom(...DESTINATIONS),
        queue: fc.constantFrom("first", "retry"),
        limit: fc.integer({ min: 1, max: 8 }),
      }),
      after: fc.option(fc.nat(1_000)),
    }),
  },
  fc.record({ do: fc.constant("replay" as const), choice: fc.nat(1_000), settled: fc.boolean() }),
  fc.constant({ do: "wait" as const }),
  fc.constant({ do: "reopen" as const }),
);

export const anySteps: fc.Arbitrary<readonly Step[]> = fc.array(anyStep, { maxLength: 30 });

/** A killed store goes on in another folder. */
const anyStepsAndKills = fc.array(fc.oneof({ weight: 9, arbitrary: anyStep }, fc.constant({ do: "kill" as const })), {
  maxLength: 30,
});

export function describeSequences(open: OpenStore): void {
  describe("any sequence of operations", () => {
    it("leaves the counts and the backlog as they should be", SLOW, async () => {
      await fc.assert(
        fc.asyncProperty(anyStepsAndKills, async (steps) => {
          await using s = await startStore(open);
          const expected = createExpected();
          for (const step of steps) {
            await play(step, s, expected);
            assert.deepEqual(await s.counts(), expectCounts(expected));
          }
          for (const destination of [...DESTINATIONS, "new"]) await compareBacklog(destination, s, expected);
        }),
        { numRuns: 100 },
      );
    });
  });
}

/** Does it, checks what it answers, and expects what follows from it. */
export async function play(step: Step, s: TestStore, expected: Expected): Promise<void> {
  switch (step.do) {
    case "commit":
      for (const acts of s.anyOrder ? step.acts.map((act) => [act]) : [step.acts]) await commit(acts, s, expected);
      return;
    case "read":
      return read(step, s, expected);
    case "replay":
      return replay(step, s, expected);
    case "wait":
      return s.later("1m");
    case "reopen":
      return s.reopen();
    case "kill":
      return s.kill();
  }
}

/** All at once. What is chosen, and whether there is anything to remove, is decided by how it was before. */
async function commit(acts: readonly Act[], s: TestStore, expected: Expected): Promise<void> {
  const now = s.clock.now();
  const wanted = s.anyOrder ? acts.map(withoutLimit) : acts;
  const calls = wanted.flatMap((act) => callsOf(act, expected, now));
  const answers = await Promise.all(calls.map((call) => ask(call, s)));
  const appends = calls.map((call) => (call.do === "append" ? call.entries : null));
  const others = calls.flatMap((call) => (call.do === "append" ? [] : [expectAnswer(call, expected)]));
  assert.deepEqual(
    answers.filter((_, nth) => appends[nth] === null),
    others,
  );
  const receipts = answers.filter((_, nth) => appends[nth] !== null).flat() as readonly Receipt[];
  learnNumber(expected, receipts);
  const entries = appends.flatMap((some) => some ?? []);
  assert.deepEqual(receipts.map(plainReceipt), expectAppend(expected, entries, now).map(plainReceipt));
  learnRefs(expected, receipts);
}

/** Of everything that is old. */
function withoutLimit(act: Act): Act {
  return act.do === "prune" ? { ...act, limit: 10_000 } : act;
}

/** The numbers of a commit follow each other, and are larger than all before. There may be a gap. */
function learnNumber(expected: Expected, receipts: readonly Receipt[]): void {
  const stored = receipts.flatMap((receipt) => (receipt.kind === "accepted" ? [receipt.deliveries] : []));
  const nth = stored.findIndex((deliveries) => deliveries.length > 0);
  const first = (stored[nth]?.[0]?.id ?? expected.nextNumber + nth) - nth;
  assert.ok(first >= expected.nextNumber, `${first} was given before`);
  expected.nextNumber = first;
}

type Call =
  | { readonly do: "append"; readonly entries: readonly Entry[] }
  | { readonly do: "settle"; readonly delivery: Delivery; readonly settlement: Settlement }
  | { readonly do: "prune"; readonly before: PruneBefore; readonly limit: number; readonly needed: boolean }
  | (Unserving & { readonly now: At });

function callsOf(act: Act, expected: Expected, now: At): readonly Call[] {
  switch (act.do) {
    case "append":
      return [
        { do: "append", entries: act.events.map(({ id, to }) => makeEntry({ messageId: `m${id}`, deliverTo: to })) },
      ];
    case "settle": {
      const waiting = waitingIn(expected);
      const chosen = act.choices.flatMap((choice) => waiting[choice % waiting.length] ?? []);
      const handles = chosen.map((one) => (act.asRead ? one : (expected.handed.get(keyOf(one)) ?? one)));
      return handles.map((delivery) => ({ do: "settle", delivery, settlement: ENDS[act.end](delivery, now) }));
    }
    case "settle again": {
      const waiting = new Set(waitingIn(expected).map(keyOf));
      const settled = [...expected.handed.values()].filter((delivery) => !waiting.has(keyOf(delivery)));
      const chosen = settled.slice(act.choice % Math.max(1, settled.length)).slice(0, 1);
      return chosen.map((delivery) => ({ do: "settle", delivery, settlement: ENDS[act.end](delivery, now) }));
    }
    case "prune": {
      const before = PRUNES[act.what](now);
      return [{ do: "prune", before, limit: act.limit, needed: needsPrune(expected, before) }];
    }
    case "discard":
    case "move":
      return [{ ...act, now }];
  }
}

function ask(call: Call, s: TestStore): Promise<unknown> {
  if (call.do === "append") return s.store().append(call.entries);
  if (call.do === "settle") return s.store().settle(call.delivery, call.settlement);
  if (call.do === "discard") return s.store().waiting.discard(call.destination, call.limit);
  if (call.do === "move") return s.store().waiting.move(call.by, call.limit);
  return s.prune(call.before, call.limit);
}

const NOTHING: PruneCounts = { delivered: 0, failed: 0, expired: 0, unrouted: 0, seen: 0 };

function expectAnswer(call: Exclude<Call, { do: "append" }>, expected: Expected): unknown {
  if (call.do === "settle") return expectSettle(expected, keyOf(call.delivery), call.settlement);
  if (call.do === "discard") return expectDiscard(expected, call.destination, call);
  if (call.do === "move") return expectMove(expected, call.by, call);
  return call.needed ? expectPrune(expected, call.before, call.limit) : NOTHING;
}

function plainReceipt(receipt: Receipt): unknown {
  return receipt.kind === "accepted" ? receipt.deliveries.map(withoutRef) : receipt.kind;
}

function plainPage(page: QueuePage): unknown {
  return { ...page, deliveries: page.deliveries.map(withoutRef) };
}

type Reading = Extract<Step, { do: "read" }>;

/** Behind any delivery there ever was, or from the start. */
async function read({ what, after }: Reading, s: TestStore, expected: Expected): Promise<void> {
  const waiting = new Map(waitingIn(expected).map((delivery) => [keyOf(delivery), delivery]));
  const all = [...expected.handed.values()].map((delivery) => waiting.get(keyOf(delivery)) ?? delivery);
  const behind = after === null ? null : (all[after % Math.max(1, all.length)] ?? null);
  const asked = makeAsk({ ...what, after: behind, dueBy: s.clock.now() });
  assert.deepEqual(plainPage(await s.store().readQueue(asked)), plainPage(expectPage(expected, asked)));
}

export async function compareBacklog(destination: string, s: TestStore, expected: Expected): Promise<void> {
  for (const queue of ["first", "retry"] satisfies Queue[]) {
    const all = makeAsk({ destination, queue });
    assert.deepEqual(plainPage(await s.store().readQueue(all)), plainPage(expectPage(expected, all)));
  }
  const { backlog } = s.store();
  const [next] = retriesOf(expected, destination);
  assert.equal(await backlog.nextRetryAt(destination, null), next?.dueAt ?? null);
  assert.equal(await backlog.oldestWaitingAt(destination), expectOldestWaitingAt(expected, destination));
}
