import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createClocks, createDestinationClock, type Reason } from "../../src/deliver/clocks.ts";
import type { Destination } from "../../src/model/config.ts";
import { neverStopped, type StoredClock, type StoredClocks } from "../../src/model/destination-clock.ts";
import { type Fault, fault } from "../../src/model/fault.ts";
import { SECOND } from "../../src/model/units.ts";
import { createFalseClock, START } from "../flow/clock.ts";
import { makeDestination } from "../flow/make.ts";

const FULL = fault("store_failed", "the disk is full");
const CRM = makeDestination();
const OFF = makeDestination({ enabled: false });
const RUNNING = neverStopped("crm");

/** On a store that writes, unless it is told not to; something waits for crm. */
function start(stored: readonly StoredClock[] = []) {
  const clock = createFalseClock();
  const store: { broken: boolean; waiting: number; readonly saved: StoredClock[][] } = {
    ...{ broken: false, waiting: 1, saved: [] },
  };
  const leaving = new AbortController();
  let changes = 0;
  const saving: Pick<StoredClocks, "save"> = {
    async save(written): Promise<Fault | null> {
      await clock.nextTurn();
      if (store.broken) return FULL;
      store.saved.push([...written]);
      return null;
    },
  };
  const waiting = (): ReadonlySet<string> => new Set(store.waiting > 0 ? ["crm"] : []);
  const changed = () => {
    changes += 1;
  };
  const clocks = createClocks({
    clock,
    clockStore: saving,
    storedClocks: stored,
    stopping: leaving.signal,
    onPauseChange: changed,
  });
  const { pauses } = clocks;
  const serve = (destinations: readonly Destination[]) => clocks.setDestinations(destinations, waiting());
  return { clock, store, leaving, clocks, pauses, serve, crm: clocks.of("crm"), changes: () => changes };
}

describe("a pause", () => {
  it("does not count before it is durable, and not at all if it cannot be", async () => {
    const { pauses, crm, store, changes } = start();
    const pausing = pauses.pause("crm");
    assert.equal(pauses.since("crm"), null);
    assert.deepEqual(await pausing, { since: START, changed: true });
    assert.deepEqual([pauses.since("crm"), crm.standsStill(), changes()], [START, true, 1]);
    store.broken = true;
    assert.deepEqual(await pauses.resume("crm"), FULL);
    assert.deepEqual([pauses.since("crm"), changes()], [START, 1]);
    assert.deepEqual(store.saved, [[{ ...RUNNING, pausedAt: START, stoppedAt: START }]]);
  });

  it("is what was stored, and its time is added to what was before", async () => {
    const paused = { ...RUNNING, pausedAt: START - 100, stoppedAt: START - 100, stoodStill: 10 };
    const { pauses, clock, crm, store } = start([paused]);
    await clock.advance("1s");
    assert.equal(crm.stoodStill(clock.now()), SECOND + 110);
    await pauses.resume("crm");
    assert.deepEqual(store.saved, [[{ ...RUNNING, stoodStill: SECOND + 110 }]]);
    await clock.advance("1h");
    assert.equal(crm.stoodStill(clock.now()), SECOND + 110);
  });

  it("keeps what another config and the network say while it is being written", async () => {
    const { pauses, serve, crm, clock, store } = start();
    crm.noteOnline(START - 5);
    const pausing = pauses.pause("crm");
    await Promise.resolve();
    serve([OFF]);
    crm.noteOffline();
    await pausing;
    await clock.rest();
    const all = { ...RUNNING, pausedAt: START, unservedAt: START, offlineAt: START - 5, stoppedAt: START - 5 };
    assert.deepEqual(store.saved.at(-1), [all]);
  });
});

describe("a config without a destination", () => {
  it("stops its clock only if something waits, and only once", async () => {
    const { serve, crm, clock, store } = start();
    serve([OFF]);
    await clock.advance("1h");
    serve([]);
    await clock.rest();
    assert.deepEqual(store.saved, [[{ ...RUNNING, unservedAt: START, stoppedAt: START }]]);
    serve([CRM]);
    await clock.rest();
    assert.deepEqual(store.saved.at(-1), [{ ...RUNNING, stoodStill: clock.now() - START }]);
    assert.equal(crm.standsStill(), false);
    const other = start();
    other.store.waiting = 0;
    other.serve([]);
    await other.clock.rest();
    assert.deepEqual([other.store.saved, other.crm.standsStill()], [[], false]);
  });

  it("writes nothing if nothing is new", async () => {
    const { serve, clock, store } = start([{ ...RUNNING, pausedAt: 3, stoppedAt: 3, stoodStill: 1 }]);
    serve([CRM]);
    await clock.rest();
    assert.deepEqual(store.saved, []);
  });

  it("is written as soon as the store can, and counts before", async () => {
    const { serve, crm, clock, store } = start();
    store.broken = true;
    serve([OFF]);
    await clock.rest();
    assert.equal(crm.standsStill(), true);
    store.broken = false;
    await clock.advance("10s");
    assert.deepEqual(store.saved, [[{ ...RUNNING, unservedAt: START, stoppedAt: START }]]);
  });

  it("is not written for ever while the daemon stops", async () => {
    const { serve, clock, store, leaving } = start();
    store.broken = true;
    serve([OFF]);
    await clock.rest();
    leaving.abort();
    await clock.rest();
    store.broken = false;
    await clock.advance("1h");
    assert.deepEqual(store.saved, []);
  });
});

describe("a machine that is offline", () => {
  it("stops the clock from the last attempt on that left it, until the next one that does", async () => {
    const { crm, clock, store } = start();
    await clock.advance("1s");
    crm.noteOnline(clock.now());
    await clock.advance("9s");
    crm.noteOffline();
    crm.noteOffline();
    await clock.rest();
    const since = START + SECOND;
    assert.deepEqual(store.saved, [[{ ...RUNNING, offlineAt: since, stoppedAt: since }]]);
    await clock.advance("1s");
    crm.noteOnline(clock.now());
    await clock.rest();
    assert.deepEqual(store.saved.at(-1), [{ ...RUNNING, stoodStill: 10 * SECOND }]);
    crm.noteOnline(clock.now() + 1);
    assert.equal(store.saved.length, 2);
  });

  it("stops it from the start of the daemon on, if none has left it since", () => {
    const { crm, clock } = start();
    crm.noteOffline();
    assert.equal(crm.stoodStill(clock.now() + 5), 5);
  });
});

describe("what a clock has counted", () => {
  it("is forgotten when nothing waits that needs it; a pause is not", async () => {
    const stored = { ...RUNNING, pausedAt: START - 10, unservedAt: START - 20, stoppedAt: START - 20, stoodStill: 1 };
    const { serve, clock, store } = start([stored]);
    store.waiting = 0;
    serve([CRM]);
    await clock.rest();
    assert.deepEqual(store.saved, [[{ ...RUNNING, pausedAt: START - 10, stoppedAt: START - 10 }]]);
  });
});

describe("a clock that another daemon has saved", () => {
  const PAUSED = { ...RUNNING, pausedAt: START - 10, stoppedAt: START - 10 };

  it("is paused and resumed here too, and nothing is saved again", async () => {
    const { clocks, pauses, crm, clock, store, changes } = start();
    clocks.hear([PAUSED]);
    assert.deepEqual([pauses.since("crm"), crm.stoodStill(START), changes()], [START - 10, 10, 1]);
    clocks.hear([PAUSED]);
    assert.equal(changes(), 1);
    await clock.advance("1s");
    clocks.hear([{ ...RUNNING, stoodStill: SECOND + 10 }]);
    assert.deepEqual([pauses.since("crm"), crm.standsStill(), changes()], [null, false, 2]);
    assert.equal(crm.stoodStill(START), 10);
    await clock.rest();
    assert.deepEqual(store.saved, []);
  });

  it("has counted less than this one: that stays, and is saved", async () => {
    const { clocks, crm, clock, store } = start([PAUSED]);
    await clock.advance("1s");
    clocks.hear([{ ...RUNNING, stoodStill: 400 }]);
    assert.deepEqual([crm.standsStill(), crm.stoodStill(clock.now())], [false, SECOND + 10]);
    await clock.rest();
    assert.deepEqual(store.saved, [[{ ...RUNNING, stoodStill: SECOND + 10 }]]);
  });

  it("goes on standing still while this one does not serve it, or is offline", async () => {
    const { clocks, serve, crm, clock, store } = start();
    crm.noteOnline(START - 5);
    serve([OFF]);
    crm.noteOffline();
    await clock.advance("1s");
    clocks.hear([{ ...RUNNING, stoodStill: SECOND }]);
    await clock.rest();
    const stood = { unservedAt: START, offlineAt: START - 5, stoppedAt: clock.now(), stoodStill: SECOND + 5 };
    assert.deepEqual(store.saved.at(-1), [{ ...RUNNING, ...stood }]);
    serve([CRM]);
    crm.noteOnline(clock.now());
    const saved = store.saved.length;
    clocks.hear([{ ...RUNNING, stoodStill: SECOND + 5 }]);
    await clock.rest();
    assert.deepEqual([crm.standsStill(), store.saved.length], [false, saved + 1]);
  });

  it("is online again with the first attempt that leaves this machine", async () => {
    const { clocks, crm, clock, store } = start();
    clocks.hear([{ ...RUNNING, offlineAt: START, stoppedAt: START }]);
    await clock.advance("1s");
    assert.equal(crm.standsStill(), true);
    crm.noteOnline(clock.now());
    await clock.rest();
    assert.deepEqual(store.saved, [[{ ...RUNNING, stoodStill: SECOND }]]);
  });

  it("does not undo what this one has not saved yet", async () => {
    const unserved = { ...RUNNING, unservedAt: START - 10, stoppedAt: START - 10 };
    const { clocks, serve, crm, clock, store } = start([unserved]);
    store.broken = true;
    serve([CRM]);
    await clock.rest();
    clocks.hear([{ ...unserved, pausedAt: START }]);
    assert.equal(crm.standsStill(), true);
    clocks.hear([unserved]);
    assert.equal(crm.standsStill(), false);
    store.broken = false;
    await clock.advance("10s");
    assert.deepEqual(store.saved, [[{ ...RUNNING, stoodStill: 10 }]]);
  });

  it("is paused again by another daemon while this one resumes it: it stays paused", async () => {
    const { clocks, pauses, clock } = start([PAUSED]);
    const resuming = pauses.resume("crm");
    await Promise.resolve();
    clocks.hear([{ ...PAUSED, pausedAt: START, stoodStill: 5 }]);
    assert.deepEqual(await resuming, { since: START - 10 });
    assert.equal(pauses.since("crm"), START);
    await clock.rest();
  });
});

const REASONS: readonly Reason[] = ["pausedAt", "unservedAt", "offlineAt"];

function startClock() {
  return createDestinationClock(neverStopped("crm"));
}

describe("the clock of a destination", () => {
  it("stands still while there is a reason, and then goes on", () => {
    const clock = startClock();
    clock.stop("pausedAt", 100);
    assert.deepEqual([clock.standsStill(), clock.stoodStill(100), clock.stoodStill(150)], [true, 0, 50]);
    clock.start("pausedAt", 200);
    assert.deepEqual([clock.standsStill(), clock.stoodStill(200), clock.stoodStill(900)], [false, 100, 100]);
  });

  it("stands still once for several reasons, until the last has ended", () => {
    const clock = startClock();
    clock.stop("pausedAt", 100);
    clock.stop("unservedAt", 150);
    clock.start("pausedAt", 200);
    assert.deepEqual([clock.standsStill(), clock.stoodStill(250)], [true, 150]);
    clock.start("unservedAt", 300);
    assert.equal(clock.stoodStill(400), 200);
  });

  it("knows how long it had stood still a moment ago", () => {
    const clock = startClock();
    clock.stop("pausedAt", 100);
    clock.start("pausedAt", 200);
    assert.deepEqual([90, 100, 130, 200, 300].map(clock.stoodStill), [0, 0, 30, 100, 100]);
  });

  it("counts no time twice, though a reason is known only later", () => {
    const clock = startClock();
    clock.stop("pausedAt", 100);
    clock.start("pausedAt", 200);
    clock.stop("offlineAt", 50);
    assert.equal(clock.stoodStill(300), 200);
    const other = startClock();
    other.stop("pausedAt", 100);
    other.stop("offlineAt", 50);
    assert.equal(other.stoodStill(300), 250);
  });

  it("goes on where it was after a restart", () => {
    const clock = startClock();
    clock.stop("unservedAt", 100);
    clock.start("unservedAt", 150);
    clock.stop("pausedAt", 200);
    const again = createDestinationClock(clock.stored());
    again.start("pausedAt", 1_000);
    assert.equal(again.stoodStill(2_000), 850);
  });

  it("forgets all but a pause", () => {
    const clock = startClock();
    clock.stop("unservedAt", 100);
    clock.stop("pausedAt", 150);
    assert.deepEqual([clock.forget(), clock.forget()], [true, false]);
    assert.deepEqual(clock.stored(), { ...neverStopped("crm"), pausedAt: 150, stoppedAt: 150 });
    clock.start("pausedAt", 200);
    clock.forget();
    assert.deepEqual(clock.stored(), neverStopped("crm"));
  });

  it("has stood still for as many moments as there was any reason, whatever happens", () => {
    const anyChange = fc.record({ reason: fc.constantFrom(...REASONS), after: fc.nat(20), stops: fc.boolean() });
    fc.assert(
      fc.property(fc.array(anyChange), fc.nat(20), (changes, rest) => {
        const clock = startClock();
        const reasons = new Set<Reason>();
        let [now, expected] = [0, 0];
        for (const { reason, after, stops } of changes) {
          if (reasons.size > 0) expected += after;
          now += after;
          if (stops) reasons.add(reason);
          else reasons.delete(reason);
          if (stops) clock.stop(reason, now);
          else clock.start(reason, now);
          assert.equal(clock.standsStill(), reasons.size > 0);
        }
        assert.equal(clock.stoodStill(now + rest), expected + (reasons.size > 0 ? rest : 0));
      }),
    );
  });
});
