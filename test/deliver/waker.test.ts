import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createWaker } from "../../src/deliver/waker.ts";
import { createFalseClock, START } from "../flow/clock.ts";

describe("a waker", () => {
  it("knows whether its waiter has woken since the last check", async () => {
    const waker = createWaker(createFalseClock());
    assert.deepEqual([waker.checkLiveness(), waker.checkLiveness()], [true, false]);
    waker.wake();
    assert.equal(waker.checkLiveness(), false);
    await waker.wait(null);
    assert.deepEqual([waker.checkLiveness(), waker.checkLiveness()], [true, false]);
    const waiting = waker.wait(null);
    await waiting;
    assert.equal(waker.checkLiveness(), true);
  });

  it("wakes whoever waits", async () => {
    const waker = createWaker(createFalseClock());
    const waiting = waker.wait(null);
    waker.wake();
    await waiting;
  });

  it("keeps a wake-up that nobody waited for", async () => {
    const waker = createWaker(createFalseClock());
    waker.wake();
    await waker.wait(null);
  });

  it("wakes once for several wake-ups", async () => {
    const clock = createFalseClock();
    const waker = createWaker(clock);
    waker.wake();
    waker.wake();
    await waker.wait(null);
    let woken = false;
    void waker.wait(START + 1_000).then(() => {
      woken = true;
    });
    await clock.rest();
    assert.equal(woken, false);
    await clock.advance("1s");
    assert.equal(woken, true);
  });

  it("wakes at the time asked for, and leaves no timer behind when it was woken before", async () => {
    const clock = createFalseClock();
    const waker = createWaker(clock);
    const waiting = waker.wait(START + 1_000);
    waker.wake();
    await waiting;
    const next = waker.wait(null);
    let woken = false;
    void next.then(() => {
      woken = true;
    });
    await clock.advance("1h");
    assert.equal(woken, false);
  });

  it("leaves no timer behind when it is silenced", async () => {
    const clock = createFalseClock();
    const waker = createWaker(clock);
    const waiting = waker.wait(START + 1_000);
    waker.wake();
    await waiting;
    waker.stop();
    let woken = false;
    void waker.wait(null).then(() => {
      woken = true;
    });
    await clock.advance("1h");
    assert.equal(woken, false);
  });

  it("keeps its timer while it is asked for the same time again", async () => {
    const clock = createFalseClock();
    const waker = createWaker(clock);
    for (let n = 0; n < 3; n += 1) {
      const waiting = waker.wait(START + 1_000);
      waker.wake();
      await waiting;
    }
    const waiting = waker.wait(START + 1_000);
    await clock.advance("1s");
    await waiting;
  });
});
