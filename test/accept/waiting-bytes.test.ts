import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createWaitingBytes, type WaitingBytes } from "../../src/accept/waiting-bytes.ts";
import type { Delivery, Settlement } from "../../src/model/delivery.ts";
import { type Fault, fault, StoreAway } from "../../src/model/fault.ts";
import type { Accepted } from "../../src/model/observer.ts";
import type { Clock, QueueAsk, QueuePage, Settle } from "../../src/model/ports.ts";
import { KB } from "../../src/model/units.ts";
import { START } from "../flow/clock.ts";
import { makeSource } from "../flow/make.ts";
import { makeDelivery } from "../settle/make.ts";

const DESTINATIONS = ["crm", "erp", "lake"];
const [COUNTED, OTHER] = ["website", "app"];
const PAGE = 3;

type Step =
  | { readonly kind: "accept"; readonly source: string; readonly to: number; readonly body: string }
  | { readonly kind: "end" | "retry"; readonly pick: number; readonly wait: number };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("accept" as const),
    source: fc.constantFrom(COUNTED, COUNTED, OTHER),
    to: fc.integer({ min: 1, max: 7 }),
    body: fc.string({ unit: "grapheme", maxLength: 30 }).map((text) => JSON.stringify({ text })),
  }),
  fc.record({
    kind: fc.constantFrom("end" as const, "retry" as const),
    pick: fc.nat(),
    wait: fc.integer({ min: 1, max: 5 }),
  }),
);

/** Steps at each turn of the event loop, of which a walk has one between two pages. */
const TURNS = fc.array(fc.array(STEP, { maxLength: 4 }), { maxLength: 60 });

type Kept = { delivery: Delivery; queue: QueueAsk["queue"] };

/** What waits, in memory; and a clock whose turns the test fills. */
function createWorld(between: (turn: number) => Promise<void>) {
  const kept = new Map<string, Kept>();
  const done = new AbortController();
  let [now, ids, turn, failures] = [START, 0, 0, 0];
  const pass = async (): Promise<void> => {
    now += 1;
    await between(turn);
    turn += 1;
  };
  const clock = {
    now: () => now,
    nextTurn: pass,
    // A walk begins with this sleep; the other one follows it.
    async sleep(ms: number) {
      now += ms;
      if (ms === 1_000) await pass();
      else if (bytes.of(COUNTED) !== null) done.abort();
    },
  } as unknown as Clock;
  const bytes = createWaitingBytes({
    clock,
    report: { storeFailed: (_, error) => assert.fail(String(error)) },
    backlog: { counts: async () => DESTINATIONS.map((destination) => ({ destination, state: "waiting", count: 1 })) },
    async readQueue(ask) {
      if (failures > 0) {
        failures -= 1;
        throw new StoreAway("gone");
      }
      return pageOf(kept, ask);
    },
  });
  const settle = bytes.noting(async (delivery, settlement) => settleIn(kept, delivery, settlement));
  return {
    bytes,
    settle,
    kept,
    done,
    failNext(times: number) {
      failures = times;
    },
    /** `late`: it was accepted so long ago, and the counter hears of it only now. */
    accept(source: string, to: number, body: string, late = 0): void {
      ids += 1;
      const deliveries = DESTINATIONS.filter((_, nth) => to & (1 << nth)).map((destination) => {
        return { ...makeDelivery({ id: ids, destination, body }), source, acceptedAt: now - late, dueAt: now - late };
      });
      for (const delivery of deliveries) kept.set(nameOf(delivery), { delivery, queue: "first" });
      bytes.accepted(source, { receipts: [{ kind: "accepted", deliveries }] } as unknown as Accepted);
    },
    /** Fails a delivery for now, or ends it. */
    async attempt(pick: number, wait: number | null): Promise<void> {
      const { delivery } = [...kept.values()][pick % Math.max(1, kept.size)] ?? {};
      if (!delivery) return;
      const state = wait === null ? "delivered" : "waiting";
      await settle(delivery, { state, dueAt: now + (wait ?? 0), attemptedAt: now } as unknown as Settlement);
    },
  };
}

function nameOf({ id, destination }: Delivery): string {
  return `${id}-${destination}`;
}

function pageOf(kept: ReadonlyMap<string, Kept>, { destination, queue, after }: QueueAsk): QueuePage {
  const key = ({ dueAt, id }: { dueAt: number; id: number }): number => (queue === "first" ? id : dueAt * 1e4 + id);
  const all = [...kept.values()]
    .filter((one) => one.queue === queue && one.delivery.destination === destination)
    .map(({ delivery }) => delivery)
    .filter((one) => after === null || key(one) > key(after))
    .sort((one, other) => key(one) - key(other));
  return { deliveries: all.slice(0, PAGE), more: all.length > PAGE };
}

function settleIn(kept: Map<string, Kept>, delivery: Delivery, settlement: Settlement): "written" | "gone" {
  if (!kept.has(nameOf(delivery))) return "gone";
  if (settlement.state !== "waiting") kept.delete(nameOf(delivery));
  else {
    const { attemptedAt, dueAt } = settlement;
    kept.set(nameOf(delivery), { delivery: { ...delivery, attemptedAt, dueAt }, queue: "retry" });
  }
  return "written";
}

function sizeOf(kept: ReadonlyMap<string, Kept>, source: string): number {
  const bodies = [...kept.values()].filter(({ delivery }) => delivery.source === source);
  return bodies.reduce((sum, { delivery }) => sum + Buffer.byteLength(delivery.body) + KB / 2, 0);
}

const LIMITED = [makeSource({ maxWaiting: { bytes: 1, share: null } }), makeSource({ name: OTHER })];

describe("the bytes of a source that wait", () => {
  it("are counted to the byte, whatever comes, fails and ends while they are counted", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { maxLength: 60 }), TURNS, async (before, turns) => {
        const run = async (step: Step, late = 0): Promise<void> => {
          if (step.kind === "accept") world.accept(step.source, step.to, step.body, late);
          else await world.attempt(step.pick, step.kind === "end" ? null : step.wait);
        };
        const world = createWorld(async (turn) => {
          // Before the first page.
          for (const step of turns[turn] ?? []) await run(step, turn === 0 ? 2_000 : 0);
        });
        for (const step of before) await run(step);
        world.bytes.watch(LIMITED);
        assert.equal(world.bytes.of(COUNTED), null);
        await world.bytes.run(world.done.signal);
        assert.equal(world.bytes.of(COUNTED), sizeOf(world.kept, COUNTED));
        assert.equal(world.bytes.of(OTHER), null);
        // And afterwards, without another walk.
        for (const step of turns.flat()) await run(step);
        assert.equal(world.bytes.of(COUNTED), sizeOf(world.kept, COUNTED));
      }),
      { numRuns: 300 },
    );
  });

  it("are counted again later if the store cannot be read", async () => {
    const world = createWorld(async () => {});
    world.accept(COUNTED, 1, "{}");
    world.bytes.watch(LIMITED);
    world.failNext(2);
    await world.bytes.run(world.done.signal);
    assert.equal(world.bytes.of(COUNTED), 2 + KB / 2);
  });

  it("stay as they are if a settlement was not written, or the delivery was gone", async () => {
    const world = createWorld(async () => {});
    world.accept(COUNTED, 1, "{}");
    world.bytes.watch(LIMITED);
    await world.bytes.run(world.done.signal);
    const [{ delivery } = assert.fail()] = world.kept.values();
    for (const answer of ["gone", fault("store_failed", "no")] as const) {
      assert.equal(await noted(world.bytes, answer, delivery), answer);
      assert.equal(world.bytes.of(COUNTED), 2 + KB / 2);
    }
    await noted(world.bytes, "written", delivery);
    assert.equal(world.bytes.of(COUNTED), 0);
  });

  it("are not counted for sources without a limit, whose settlements go their way unchanged", async () => {
    const world = createWorld(async () => {});
    world.bytes.watch([makeSource()]);
    world.accept(COUNTED, 1, "{}");
    const [{ delivery } = assert.fail()] = world.kept.values();
    const answer = Promise.resolve("written" as const);
    const settle = world.bytes.noting(() => answer);
    assert.equal(settle(delivery, { state: "delivered" } as Settlement), answer);
    assert.equal(world.bytes.of(COUNTED), null);
  });
});

function noted(bytes: WaitingBytes, answer: "written" | "gone" | Fault, delivery: Delivery): ReturnType<Settle> {
  return bytes.noting(async () => answer)(delivery, { state: "delivered" } as Settlement);
}
