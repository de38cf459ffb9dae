import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Bound, StoreState } from "../../src/model/disk.ts";
import { type Fault, isFault } from "../../src/model/fault.ts";
import type { PruneBefore, PruneCounts } from "../../src/model/ports.ts";
import { DAY, GB, HOUR, MINUTE } from "../../src/model/units.ts";
import { createJanitor } from "../../src/store/janitor.ts";
import { createFalseClock } from "../flow/clock.ts";
import { createFalseReport, type Told } from "./harness.ts";

const NONE: PruneCounts = { delivered: 0, failed: 0, expired: 0, unrouted: 0, seen: 0 };
const KEEP = { keepDelivered: 2 * HOUR, keepFailed: 3 * DAY };

const FAULT: Fault = { code: "store_failed", message: "the outbox cannot be written" };

/** Null: there is nothing to do. */
type Step = Partial<PruneCounts> | Fault | null;
/** `onAsked` runs while the janitor waits for an answer. */
type FalseStore = { steps: Step[]; crowding: Bound | null; onAsked: (() => void) | null };
type Asked = { readonly before: PruneBefore; readonly limit: number; readonly at: number };

/** A janitor at work on a store that has these counts to remove, step by step, and then nothing. */
async function startJanitor({ steps = [], crowding = null }: { steps?: Step[]; crowding?: Bound | null } = {}) {
  const clock = createFalseClock();
  const told: Told[] = [];
  const asked: Asked[] = [];
  const store: FalseStore = { steps, crowding, onAsked: null };
  const outbox = { path: "", postgres: null, maxSize: GB, freeDisk: 0, ...KEEP };
  const janitor = createJanitor({
    async prune(before, limit) {
      asked.push({ before, limit, at: clock.now() });
      store.onAsked?.();
      const step = store.steps.shift() ?? null;
      return step && (isFault(step) ? step : { ...NONE, ...step });
    },
    health: { state: async () => ({ crowding: store.crowding }) as StoreState },
    outbox: () => outbox,
    clock,
    report: createFalseReport(told),
  });
  const stopping = new AbortController();
  const running = janitor.run(stopping.signal);
  await clock.rest();
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  return { clock, told, asked, store, outbox, janitor, stop, [Symbol.asyncDispose]: stop };
}

describe("the janitor", () => {
  it("removes what was kept long enough, and ids after 24 hours", async () => {
    await using j = await startJanitor();
    const now = j.clock.now();
    assert.deepEqual(j.asked, [
      { before: { delivered: now - 2 * HOUR, failed: now - 3 * DAY, seen: now - DAY }, limit: 500, at: now },
    ]);
  });

  it("looks every five minutes", async () => {
    await using j = await startJanitor();
    const start = j.clock.now();
    await j.clock.advance("15m");
    assert.deepEqual(
      j.asked.map(({ at }) => at - start),
      [0, 300_000, 600_000, 900_000],
    );
  });

  it("goes on at once, in small steps, until there is nothing to do, whatever the counts say", async () => {
    await using j = await startJanitor({
      steps: [{ delivered: 500 }, { seen: 4_000 }, { failed: 1 }, {}],
    });
    assert.equal(j.asked.length, 5);
    assert.equal(new Set(j.asked.map(({ at }) => at)).size, 1);
  });

  it("tells what it has removed", async () => {
    await using j = await startJanitor({ steps: [{ delivered: 500 }, { delivered: 3, unrouted: 1 }] });
    assert.deepEqual(j.told, [
      { what: "pruned", args: [{ ...NONE, delivered: 500 }, "age"] },
      { what: "pruned", args: [{ ...NONE, delivered: 3, unrouted: 1 }, "age"] },
    ]);
  });

  it("keeps things as long as the config in force says", async () => {
    await using j = await startJanitor();
    Object.assign(j.outbox, { keepDelivered: HOUR, keepFailed: DAY });
    await j.clock.advance("5m");
    const { before, at } = j.asked.at(-1) ?? assert.fail("it did not look");
    assert.deepEqual(before, { delivered: at - HOUR, failed: at - DAY, seen: at - DAY });
  });

  it("tries again later where the store fails, which has logged why", async () => {
    await using j = await startJanitor({ steps: [FAULT, { delivered: 1 }] });
    assert.deepEqual(j.told, []);
    assert.equal(j.asked.length, 1);
    await j.clock.advance("10s");
    assert.equal(j.asked.length, 3);
  });

  it("leaves a full disk alone for a while, though each commit that it refuses wakes the janitor", async () => {
    await using j = await startJanitor({ crowding: "freeDisk" });
    const before = j.asked.length;
    j.store.steps.push(...Array.from({ length: 100 }, () => FAULT));
    j.store.onAsked = () => j.store.steps.length > 0 && j.janitor.wake();
    j.janitor.wake();
    await j.clock.rest();
    assert.equal(j.asked.length, before + 1);
    await j.clock.advance("1m");
    assert.equal(j.asked.length, before + 7);
  });

  it("stops when it is told to, also in the middle of much work", async () => {
    await using j = await startJanitor();
    j.store.steps.push(...Array.from({ length: 1_000 }, () => ({ delivered: 500 })));
    j.janitor.wake();
    await j.stop();
    const { length } = j.asked;
    assert.ok(length < 1_000);
    await j.clock.advance("10m");
    j.janitor.wake();
    await j.clock.rest();
    assert.equal(j.asked.length, length);
  });
});

describe("the janitor of a crowded store", () => {
  it("removes what was delivered before its time, up to this moment, and nothing else while that helps", async () => {
    await using j = await startJanitor({ crowding: "maxSize", steps: [{ delivered: 10 }, { delivered: 10 }] });
    const now = j.clock.now();
    const [first, second] = j.asked;
    const sparse = now - MINUTE;
    assert.deepEqual(first?.before, { delivered: now + 1, failed: now - 3 * DAY, seen: now - DAY, sparse });
    assert.deepEqual(second?.before, first?.before);
  });

  it("removes only what was delivered while the disk is nearly full: what failed is there for the operator", async () => {
    await using j = await startJanitor({ crowding: "freeDisk", steps: [{ delivered: 10 }] });
    const now = j.clock.now();
    const before = { delivered: now + 1, failed: now - 3 * DAY, seen: now - DAY, sparse: now - MINUTE };
    assert.deepEqual(
      j.asked.map((one) => one.before),
      [before, before],
    );
    assert.equal(j.told.at(-1)?.args[1], "space");
  });

  it("then removes what failed or expired", async () => {
    await using j = await startJanitor({ crowding: "maxSize", steps: [null, { failed: 10, expired: 10 }] });
    const now = j.clock.now();
    const sparse = now - MINUTE;
    assert.deepEqual(j.asked[1]?.before, { delivered: now + 1, failed: now + 1, seen: now - DAY, sparse });
  });

  it("then removes the messageIds of repeats, but for those of the last hour", async () => {
    await using j = await startJanitor({ crowding: "maxSize", steps: [null, null, { seen: 10 }] });
    const now = j.clock.now();
    const sparse = now - MINUTE;
    assert.deepEqual(j.asked[2]?.before, { delivered: now + 1, failed: now + 1, seen: now - HOUR, sparse });
    assert.deepEqual(j.told.at(-1)?.args[1], "space");
  });

  it("begins with the delivered ones again at each step", async () => {
    await using j = await startJanitor({ crowding: "maxSize", steps: [null, { failed: 10 }, { delivered: 1 }] });
    const failedToo = j.asked.map(({ before }) => before.failed > j.clock.now());
    assert.deepEqual(failedToo, [false, true, false, false, true, true]);
  });

  it("stops as soon as there is room", async () => {
    await using j = await startJanitor();
    Object.assign(j.store, { steps: [{ delivered: 10 }, { delivered: 10 }], crowding: "maxSize" });
    j.store.onAsked = () => {
      j.store.crowding = null;
    };
    const now = j.clock.now();
    j.janitor.wake();
    await j.clock.rest();
    const early = j.asked.map(({ before }) => before.delivered > now);
    assert.deepEqual(early, [false, true, false, false]);
  });

  it("does not go on to the next kind while it makes room, also if what went is in no count", async () => {
    await using j = await startJanitor({ crowding: "maxSize", steps: [{}, {}, {}] });
    const failedToo = j.asked.map(({ before }) => before.failed > j.clock.now());
    assert.deepEqual(failedToo, [false, false, false, false, true, true]);
  });

  it("rests when there is nothing left to remove, until it is woken or its time has come", async () => {
    await using j = await startJanitor({ crowding: "maxSize" });
    assert.equal(j.asked.length, 3);
    await j.clock.advance("4m59s");
    assert.equal(j.asked.length, 3);
    j.janitor.wake();
    await j.clock.rest();
    assert.equal(j.asked.length, 6);
    await j.clock.advance("5m");
    assert.equal(j.asked.length, 9);
  });

  it("looks again if it was woken while it looked", async () => {
    await using j = await startJanitor();
    assert.equal(j.asked.length, 1);
    j.store.onAsked = () => {
      j.store.onAsked = null;
      j.janitor.wake();
    };
    j.janitor.wake();
    await j.clock.rest();
    assert.equal(j.asked.length, 3);
  });
});
