import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import { createClock, isClockSynchronized } from "../../src/runtime/clock.ts";

const never = new AbortController().signal;

describe("the time now", () => {
  it("is in whole milliseconds, near the machine's", () => {
    const clock = createClock();
    assert.ok(Number.isInteger(clock.now()));
    assert.ok(Math.abs(clock.now() - Date.now()) < 1_000);
    assert.ok(Math.abs(clock.wall() - Date.now()) < 1_000);
  });

  it("goes on when the machine's clock is set back", () => {
    const clock = createClock();
    const before = clock.now();
    withMachineClock(0, () => {
      assert.equal(clock.wall(), 0);
      assert.ok(clock.now() >= before);
      assert.ok(clock.now() < before + 1_000);
    });
  });

  it("goes on from where the line of the store is, ahead or back, exactly", () => {
    const clock = withMachineClock(5, createClock);
    for (const at of [Date.UTC(2040, 0, 1), Date.UTC(1972, 0, 1)]) {
      clock.continueFrom(at);
      const now = clock.now();
      assert.ok(now >= at && now < at + 1_000, `${now - at} ms off`);
    }
  });
});

describe("the start of the machine", () => {
  it("is one and the same, and the machine has run for longer each time", {
    skip: process.platform !== "linux",
  }, () => {
    const [one, other] = [createClock().boot(), createClock().boot()];
    assert.ok(one && other && one.id === other.id && one.id > 0);
    assert.ok(one.uptime > 0 && other.uptime >= one.uptime);
  });
});

function withMachineClock<T>(at: number, run: () => T): T {
  const real = Date.now;
  Date.now = () => at;
  try {
    return run();
  } finally {
    Date.now = real;
  }
}

describe("a timer", () => {
  it("runs when its time has come, not before", async () => {
    const clock = createClock();
    for (const ms of [0.4, 1, 3, 7]) {
      const due = clock.now() + ms;
      await new Promise<void>((resolve) => clock.after(ms, resolve));
      assert.ok(clock.now() >= due, `${due - clock.now()} ms early`);
    }
  });

  it("does not run when it was cancelled", async () => {
    const clock = createClock();
    let ran = false;
    const cancel = clock.after(1, () => {
      ran = true;
    });
    cancel();
    await clock.sleep(5, never);
    assert.equal(ran, false);
  });

  it("waits for longer than the system's timers can", () => {
    const month = 30 * 24 * 3_600_000;
    const waits = withInstantTimers((run) => createClock().after(month, run));
    assert.deepEqual(waits, [2 ** 31 - 1, month - (2 ** 31 - 1)]);
  });
});

/** Answers how long each timer would have waited until `run` was called. */
function withInstantTimers(start: (run: () => void) => void): number[] {
  const real = globalThis.setTimeout;
  const waits: number[] = [];
  let ran = false;
  globalThis.setTimeout = ((run: (...args: unknown[]) => void, ms: number, ...args: unknown[]) => {
    waits.push(ms);
    run(...args);
    return 0;
  }) as unknown as typeof setTimeout;
  try {
    start(() => {
      ran = true;
    });
  } finally {
    globalThis.setTimeout = real;
  }
  assert.ok(ran);
  return waits;
}

describe("sleep", () => {
  it("ends when its time has come", async () => {
    const clock = createClock();
    const due = clock.now() + 3;
    await clock.sleep(3, never);
    assert.ok(clock.now() >= due);
  });

  it("ends at once when it is aborted", async () => {
    const stop = new AbortController();
    const asleep = createClock().sleep(3_600_000, stop.signal);
    stop.abort();
    await asleep;
  });

  it("does not begin when it was aborted before", async () => {
    await createClock().sleep(3_600_000, AbortSignal.abort());
  });

  it("leaves no listener behind", async () => {
    const stop = new AbortController();
    const counted = countListeners(stop.signal);
    const clock = createClock();
    await clock.sleep(1, stop.signal);
    await clock.sleep(1, stop.signal);
    assert.deepEqual(counted, { added: 2, removed: 2 });
  });
});

function countListeners(signal: AbortSignal): { added: number; removed: number } {
  const counted = { added: 0, removed: 0 };
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    counted.added++;
    return addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    counted.removed++;
    return removeEventListener.apply(signal, args);
  };
  return counted;
}

describe("the next turn", () => {
  it("comes after what is already waiting, and before any timer", async () => {
    const clock = createClock();
    const order: string[] = [];
    const timer = new Promise<void>((resolve) => clock.after(20, resolve)).then(() => order.push("timer"));
    const turn = clock.nextTurn().then(() => order.push("turn"));
    await Promise.resolve().then(() => order.push("promise"));
    await Promise.all([timer, turn]);
    assert.deepEqual(order, ["promise", "turn", "timer"]);
  });

  it("comes at once when the process is idle", async () => {
    const clock = createClock();
    await clock.sleep(20, never);
    const begun = clock.now();
    for (let turn = 0; turn < 100; turn++) await clock.nextTurn();
    assert.ok(clock.now() - begun < 500);
  });
});

describe("whether a time service keeps the clock right", () => {
  it("is known to the kernel of Linux, and the same each time it is asked", {
    skip: process.platform !== "linux",
  }, () => {
    const answer = isClockSynchronized();
    assert.equal(typeof answer, "boolean");
    assert.equal(isClockSynchronized(), answer);
  });
});
