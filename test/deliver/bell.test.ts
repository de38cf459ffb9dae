import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBell } from "../../src/deliver/bell.ts";
import { createFalseClock, START } from "../flow/clock.ts";

describe("a bell", () => {
  it("knows whether its waiter has woken since the last check", async () => {
    const bell = createBell(createFalseClock());
    assert.deepEqual([bell.checkLiveness(), bell.checkLiveness()], [true, false]);
    bell.ring();
    assert.equal(bell.checkLiveness(), false);
    await bell.rung(null);
    assert.deepEqual([bell.checkLiveness(), bell.checkLiveness()], [true, false]);
    const waiting = bell.rung(null);
    await waiting;
    assert.equal(bell.checkLiveness(), true);
  });

  it("wakes whoever waits", async () => {
    const bell = createBell(createFalseClock());
    const waiting = bell.rung(null);
    bell.ring();
    await waiting;
  });

  it("keeps a ring that nobody waited for", async () => {
    const bell = createBell(createFalseClock());
    bell.ring();
    await bell.rung(null);
  });

  it("wakes once for several rings", async () => {
    const clock = createFalseClock();
    const bell = createBell(clock);
    bell.ring();
    bell.ring();
    await bell.rung(null);
    let woken = false;
    void bell.rung(START + 1_000).then(() => {
      woken = true;
    });
    await clock.rest();
    assert.equal(woken, false);
    await clock.advance("1s");
    assert.equal(woken, true);
  });

  it("wakes at the time asked for, and leaves no timer behind when it was rung before", async () => {
    const clock = createFalseClock();
    const bell = createBell(clock);
    const waiting = bell.rung(START + 1_000);
    bell.ring();
    await waiting;
    const next = bell.rung(null);
    let woken = false;
    void next.then(() => {
      woken = true;
    });
    await clock.advance("1h");
    assert.equal(woken, false);
  });

  it("leaves no timer behind when it is silenced", async () => {
    const clock = createFalseClock();
    const bell = createBell(clock);
    const waiting = bell.rung(START + 1_000);
    bell.ring();
    await waiting;
    bell.silence();
    let woken = false;
    void bell.rung(null).then(() => {
      woken = true;
    });
    await clock.advance("1h");
    assert.equal(woken, false);
  });

  it("keeps its timer while it is asked for the same time again", async () => {
    const clock = createFalseClock();
    const bell = createBell(clock);
    for (let n = 0; n < 3; n += 1) {
      const waiting = bell.rung(START + 1_000);
      bell.ring();
      await waiting;
    }
    const waiting = bell.rung(START + 1_000);
    await clock.advance("1s");
    await waiting;
  });
});
