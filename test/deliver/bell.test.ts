import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBell } from "../../src/deliver/bell.ts";
import { createFalseClock, START } from "../flow/clock.ts";

const NEVER = new AbortController().signal;

describe("a bell", () => {
  it("wakes whoever waits", async () => {
    const bell = createBell(createFalseClock());
    const waiting = bell.rung(null, NEVER);
    bell.ring();
    await waiting;
  });

  it("keeps a ring that nobody waited for", async () => {
    const bell = createBell(createFalseClock());
    bell.ring();
    await bell.rung(null, NEVER);
  });

  it("wakes once for several rings", async () => {
    const clock = createFalseClock();
    const bell = createBell(clock);
    bell.ring();
    bell.ring();
    await bell.rung(null, NEVER);
    let woken = false;
    void bell.rung(START + 1_000, NEVER).then(() => {
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
    const waiting = bell.rung(START + 1_000, NEVER);
    bell.ring();
    await waiting;
    const next = bell.rung(null, NEVER);
    let woken = false;
    void next.then(() => {
      woken = true;
    });
    await clock.advance("1h");
    assert.equal(woken, false);
  });

  it("wakes when the daemon stops", async () => {
    const stop = new AbortController();
    const bell = createBell(createFalseClock());
    const waiting = bell.rung(null, stop.signal);
    stop.abort();
    await waiting;
    await bell.rung(null, stop.signal);
  });
});
