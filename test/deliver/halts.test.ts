import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHalts } from "../../src/deliver/halts.ts";
import type { Destination } from "../../src/model/destination.ts";
import { type Fault, fault } from "../../src/model/fault.ts";
import type { Halt, StoredHalts } from "../../src/model/pause.ts";
import { createFalseClock, START } from "../flow/clock.ts";
import { makeDestination } from "../flow/make.ts";

const FULL = fault("store_failed", "the disk is full");
const CRM = makeDestination();
const OFF = makeDestination({ enabled: false });

/** On a store that writes, unless it is told not to; something waits for crm. */
function start(stored: readonly Halt[] = []) {
  const clock = createFalseClock();
  const store: { broken: boolean; waiting: number; readonly saved: Halt[][] } = {
    broken: false,
    waiting: 1,
    saved: [],
  };
  const leaving = new AbortController();
  let changes = 0;
  const halts: StoredHalts = {
    all: () => stored,
    async save(written): Promise<Fault | null> {
      await clock.nextTurn();
      if (store.broken) return FULL;
      store.saved.push([...written]);
      return null;
    },
  };
  const counts = () => [{ destination: "crm", state: "waiting", count: store.waiting }] as const;
  const changed = () => {
    changes += 1;
  };
  const made = createHalts({ clock, halts, stopping: leaving.signal, changed });
  const serve = (destinations: readonly Destination[]) => made.serve(destinations, counts());
  return { clock, store, leaving, halts: { ...made, serve }, changes: () => changes };
}

const NOTHING = { destination: "crm", pausedAt: null, unservedAt: null, spells: [] };

describe("a pause", () => {
  it("does not count before it is durable, and not at all if it cannot be", async () => {
    const { halts, store, changes } = start();
    const pausing = halts.pause("crm");
    assert.equal(halts.since("crm"), null);
    assert.deepEqual(await pausing, { since: START, changed: true });
    assert.deepEqual([halts.since("crm"), halts.isHalted("crm"), changes()], [START, true, 1]);
    store.broken = true;
    assert.deepEqual(await halts.resume("crm"), FULL);
    assert.deepEqual([halts.since("crm"), changes()], [START, 1]);
    assert.deepEqual(store.saved, [[{ ...NOTHING, pausedAt: START }]]);
  });

  it("is what was stored, and becomes a spell", async () => {
    const { halts, clock, store } = start([{ ...NOTHING, pausedAt: START - 100, spells: [{ from: 1, until: 2 }] }]);
    await clock.advance("1s");
    assert.deepEqual(halts.spells("crm", clock.now()), [
      { from: 1, until: 2 },
      { from: START - 100, until: START + 1_000 },
    ]);
    await halts.resume("crm");
    const spells = [
      { from: 1, until: 2 },
      { from: START - 100, until: START + 1_000 },
    ];
    assert.deepEqual(store.saved, [[{ ...NOTHING, spells }]]);
    await clock.advance("1h");
    assert.deepEqual(halts.spells("crm", clock.now()), spells);
  });

  it("keeps what another config says while it is being written", async () => {
    const { halts, clock, store } = start();
    const pausing = halts.pause("crm");
    await Promise.resolve();
    halts.serve([OFF]);
    await pausing;
    await clock.rest();
    assert.deepEqual(store.saved.at(-1), [{ ...NOTHING, pausedAt: START, unservedAt: START }]);
  });
});

describe("a config without a destination", () => {
  it("begins a spell only if something waits, and only once", async () => {
    const { halts, clock, store } = start();
    halts.serve([OFF]);
    await clock.advance("1h");
    halts.serve([]);
    await clock.rest();
    assert.deepEqual(store.saved, [[{ ...NOTHING, unservedAt: START }]]);
    halts.serve([CRM]);
    await clock.rest();
    assert.deepEqual(store.saved.at(-1), [{ ...NOTHING, spells: [{ from: START, until: clock.now() }] }]);
    assert.equal(halts.isHalted("crm"), false);
    const other = start();
    other.store.waiting = 0;
    other.halts.serve([]);
    await other.clock.rest();
    assert.deepEqual([other.store.saved, other.halts.isHalted("crm")], [[], false]);
  });

  it("writes nothing if nothing is new", async () => {
    const spells = [{ from: 1, until: 2 }];
    const { halts, clock, store } = start([{ ...NOTHING, pausedAt: 3, spells }]);
    halts.serve([CRM]);
    await clock.rest();
    assert.deepEqual(store.saved, []);
  });

  it("is written as soon as the store can, and counts before", async () => {
    const { halts, clock, store } = start();
    store.broken = true;
    halts.serve([OFF]);
    await clock.rest();
    assert.equal(halts.isHalted("crm"), true);
    store.broken = false;
    await clock.advance("10s");
    assert.deepEqual(store.saved, [[{ ...NOTHING, unservedAt: START }]]);
  });

  it("is not written for ever while the daemon stops", async () => {
    const { halts, clock, store, leaving } = start();
    store.broken = true;
    halts.serve([OFF]);
    await clock.rest();
    leaving.abort();
    await clock.rest();
    store.broken = false;
    await clock.advance("1h");
    assert.deepEqual(store.saved, []);
  });
});

describe("spells", () => {
  it("are forgotten when nothing waits that could have been there; a pause is not", async () => {
    const stored = { ...NOTHING, pausedAt: START - 10, unservedAt: START - 20, spells: [{ from: 1, until: 2 }] };
    const { halts, clock, store } = start([stored]);
    store.waiting = 0;
    halts.serve([CRM]);
    await clock.rest();
    assert.deepEqual(store.saved, [[{ ...NOTHING, pausedAt: START - 10 }]]);
  });
});
