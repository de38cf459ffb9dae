import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLimits, type Limit } from "../../src/deliver/attempt.ts";
import type { Clock } from "../../src/model/ports.ts";
import { HOUR, SECOND } from "../../src/model/units.ts";
import { createFalseClock } from "../flow/clock.ts";

/** Limits on a false clock that counts the timers that are set, and have neither run nor been cancelled. */
function startLimits() {
  const clock = createFalseClock();
  const timers = new Set<object>();
  const counting: Clock = {
    ...clock,
    after(ms, run) {
      const timer = {};
      timers.add(timer);
      const cancel = clock.after(ms, () => {
        timers.delete(timer);
        run();
      });
      return () => {
        timers.delete(timer);
        cancel();
      };
    },
  };
  return { clock, limits: createLimits(counting), timers: () => timers.size };
}

function ended(limits: readonly Limit[]): readonly boolean[] {
  return limits.map(({ aborted }) => aborted);
}

describe("the time limit of an attempt", () => {
  it("ends when its time is up, and not before", async () => {
    const { clock, limits } = startLimits();
    const limit = limits.start(10 * SECOND);
    await clock.advance("9999ms");
    assert.equal(limit.aborted, false);
    await clock.advance("1ms");
    assert.equal(limit.aborted, true);
  });

  it("ends at its own time, also beside earlier and later ones of its length", async () => {
    const { clock, limits } = startLimits();
    const all: Limit[] = [];
    for (let n = 0; n < 4; n += 1) {
      all.push(limits.start(10 * SECOND));
      await clock.advance("3s");
    }
    // It is the twelfth second now, and they began at 0, 3, 6 and 9.
    assert.deepEqual(ended(all), [true, false, false, false]);
    await clock.advance("999ms");
    assert.deepEqual(ended(all), [true, false, false, false]);
    await clock.advance("1ms");
    assert.deepEqual(ended(all), [true, true, false, false]);
    await clock.advance("3s");
    assert.deepEqual(ended(all), [true, true, true, false]);
    await clock.advance("3s");
    assert.deepEqual(ended(all), [true, true, true, true]);
  });

  it("ends at its own time when there is a millisecond between them", async () => {
    const { clock, limits } = startLimits();
    const all = [limits.start(10 * SECOND)];
    await clock.advance("1ms");
    all.push(limits.start(10 * SECOND));
    await clock.advance("9999ms");
    assert.deepEqual(ended(all), [true, false]);
    await clock.advance("1ms");
    assert.deepEqual(ended(all), [true, true]);
  });

  it("ends together with those that began with it", async () => {
    const { clock, limits } = startLimits();
    const all = Array.from({ length: 5 }, () => limits.start(10 * SECOND));
    await clock.advance("10s");
    assert.deepEqual(ended(all), [true, true, true, true, true]);
  });

  it("ends at its own time when the one before it was over early", async () => {
    const { clock, limits } = startLimits();
    const first = limits.start(10 * SECOND);
    await clock.advance("4s");
    const second = limits.start(10 * SECOND);
    first.end();
    await clock.advance("9999ms");
    assert.deepEqual(ended([first, second]), [false, false]);
    await clock.advance("1ms");
    assert.deepEqual(ended([first, second]), [false, true]);
  });

  it("ends at its own time when all before it were over, and the timer has run for nothing", async () => {
    const { clock, limits } = startLimits();
    limits.start(10 * SECOND).end();
    await clock.advance("20s");
    const next = limits.start(10 * SECOND);
    await clock.advance("9999ms");
    assert.equal(next.aborted, false);
    await clock.advance("1ms");
    assert.equal(next.aborted, true);
  });

  it("does not end an attempt that is over", async () => {
    const { clock, limits } = startLimits();
    const all = Array.from({ length: 3 }, () => limits.start(10 * SECOND));
    all[1]?.end();
    all[1]?.end();
    await clock.advance("1h");
    assert.deepEqual(ended(all), [true, false, true]);
  });

  it("is not held up by longer ones, nor do shorter ones cut it short", async () => {
    const { clock, limits } = startLimits();
    const long = limits.start(30 * SECOND);
    const short = limits.start(5 * SECOND);
    await clock.advance("1s");
    const all = [long, short, limits.start(5 * SECOND), limits.start(30 * SECOND)];
    await clock.advance("4s");
    assert.deepEqual(ended(all), [false, true, false, false]);
    await clock.advance("1s");
    assert.deepEqual(ended(all), [false, true, true, false]);
    await clock.advance("24s");
    assert.deepEqual(ended(all), [true, true, true, false]);
    await clock.advance("1s");
    assert.deepEqual(ended(all), [true, true, true, true]);
  });
});

describe("who listens to the limit of an attempt", () => {
  it("is called once when it ends, unless the attempt is over or the listener has left", async () => {
    const { clock, limits } = startLimits();
    const called: string[] = [];
    const [running, over] = [limits.start(10 * SECOND), limits.start(10 * SECOND)];
    const left = (): unknown => called.push("left");
    running.addEventListener("abort", () => called.push("first"));
    running.addEventListener("abort", left);
    running.addEventListener("abort", () => called.push("second"));
    running.removeEventListener("abort", left);
    over.addEventListener("abort", () => called.push("over"));
    over.end();
    await clock.advance("10s");
    limits.release();
    assert.deepEqual(called, ["first", "second"]);
  });

  it("may end other attempts", async () => {
    const { clock, limits } = startLimits();
    const all = Array.from({ length: 4 }, () => limits.start(10 * SECOND));
    all[0]?.addEventListener("abort", () => {
      all[0]?.end();
      all[1]?.end();
    });
    await clock.advance("10s");
    assert.deepEqual(ended(all), [true, false, true, true]);
  });
});

describe("a release", () => {
  it("ends all attempts at once, of whatever length, but for those that are over", () => {
    const { limits } = startLimits();
    const all = [limits.start(SECOND), limits.start(SECOND), limits.start(HOUR), limits.start(HOUR)];
    all[3]?.end();
    assert.deepEqual([limits.released(), limits.signal.aborted], [false, false]);
    limits.release();
    assert.deepEqual([limits.released(), limits.signal.aborted], [true, true]);
    assert.deepEqual(ended(all), [true, true, true, false]);
  });

  it("ends also those to come", () => {
    const { limits } = startLimits();
    limits.start(SECOND);
    limits.release();
    assert.deepEqual(ended([limits.start(SECOND), limits.start(HOUR)]), [true, true]);
  });

  it("may come twice", () => {
    const { limits } = startLimits();
    const limit = limits.start(SECOND);
    limits.release();
    limits.release();
    limit.end();
    assert.deepEqual([limit.aborted, limits.released()], [true, true]);
  });

  it("leaves no timer behind", () => {
    const { limits, timers } = startLimits();
    for (const length of [SECOND, SECOND, HOUR]) limits.start(length);
    limits.release();
    assert.equal(timers(), 0);
    limits.start(SECOND);
    assert.equal(timers(), 0);
  });
});

describe("the timers of the limits", () => {
  it("are one for each length, however many attempts there are", async () => {
    const { clock, limits, timers } = startLimits();
    assert.equal(timers(), 0);
    for (let n = 0; n < 100; n += 1) {
      limits.start(10 * SECOND);
      limits.start(5 * SECOND).end();
      await clock.advance("30ms");
      assert.equal(timers(), 2);
    }
  });

  it("are all gone a while after the last attempt, whether it was over in time or not", async () => {
    const { clock, limits, timers } = startLimits();
    for (let n = 0; n < 10; n += 1) {
      const limit = limits.start(10 * SECOND);
      if (n % 3 > 0) limit.end();
      await clock.advance("2s");
    }
    await clock.advance("10s");
    assert.equal(timers(), 0);
  });
});
