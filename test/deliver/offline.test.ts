import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOffline, type Offline } from "../../src/deliver/offline.ts";
import { timeIn } from "../../src/deliver/spells.ts";

function since(offline: Offline, at: number, now: number): number {
  return timeIn(offline.spells(now), { at, now });
}

describe("time offline", () => {
  it("is from the first attempt that did not leave the machine until one that did", () => {
    const offline = createOffline();
    offline.saw(false, { startedAt: 0, now: 10 });
    offline.saw(true, { startedAt: 100, now: 110 });
    offline.saw(true, { startedAt: 200, now: 210 });
    offline.saw(false, { startedAt: 300, now: 310 });
    assert.equal(since(offline, 0, 1_000), 210);
  });

  it("counts only from the moment asked about", () => {
    const offline = createOffline();
    offline.saw(true, { startedAt: 100, now: 110 });
    offline.saw(false, { startedAt: 300, now: 300 });
    assert.equal(since(offline, 250, 1_000), 50);
    assert.equal(since(offline, 500, 1_000), 0);
  });

  it("goes on until now while the machine is still offline", () => {
    const offline = createOffline();
    offline.saw(true, { startedAt: 100, now: 110 });
    assert.equal(since(offline, 0, 1_000), 900);
  });

  it("adds up the periods of a network that comes and goes", () => {
    const offline = createOffline();
    for (const from of [100, 300, 500]) {
      offline.saw(true, { startedAt: from, now: from });
      offline.saw(false, { startedAt: from + 50, now: from + 50 });
    }
    assert.equal(since(offline, 0, 1_000), 150);
  });
});
