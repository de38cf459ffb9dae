import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLane, type Lane } from "../../src/deliver/lane.ts";
import type { Judgement } from "../../src/settle/judge.ts";
import { makeReport, POLICY } from "./make.ts";

const NAME = { destination: "crm", url: "https://a.example.com/" };

function ask(now = 0, more: { concurrency?: number; urgent?: boolean } = {}) {
  return { now, concurrency: 64, urgent: false, ...more };
}

function end(lane: Lane, judgement: Judgement, { now = 0, hold = null as number | null } = {}): void {
  lane.done({ judgement, startedAt: now, reason: "503", hold }, { now, random: 0.5, policy: POLICY });
}

/** How many attempts the lane lets run at once. */
function slots(lane: Lane, now = 0, concurrency = 64): number {
  let count = 0;
  while (lane.hasRoom(ask(now, { concurrency }))) {
    lane.take();
    count += 1;
  }
  for (let n = 0; n < count; n += 1) end(lane, "unknown", { now });
  return count;
}

function run(lane: Lane, judgement: Judgement, times: number, now = 0): void {
  for (let n = 0; n < times; n += 1) {
    lane.take();
    end(lane, judgement, { now });
  }
}

describe("a lane", () => {
  it("begins with four slots", () => {
    assert.equal(slots(createLane(NAME, makeReport())), 4);
  });

  it("doubles its slots after a full round of successes, up to the concurrency", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "delivered", 4);
    assert.equal(slots(lane), 8);
    run(lane, "delivered", 8 + 16 + 32 + 64);
    assert.equal(slots(lane), 64);
    assert.equal(slots(lane, 0, 10), 10);
  });

  it("halves its slots at a failure, and keeps one", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "delivered", 4);
    run(lane, "retry", 1);
    assert.equal(slots(lane), 4);
    run(lane, "retry", 5);
    assert.equal(slots(lane), 1);
  });

  it("takes a final answer about one event for a sign of life", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "final", 4);
    assert.equal(slots(lane), 8);
  });

  it("closes after ten failures without a success, and says so once", () => {
    const told: string[] = [];
    const lane = createLane(NAME, makeReport(told));
    run(lane, "retry", 9);
    assert.deepEqual(told, []);
    run(lane, "retry", 3);
    assert.deepEqual(told, ["laneClosed"]);
    assert.equal(slots(lane, 0), 0);
  });

  it("is closed once for all that was under way then: their failures are no probes", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "delivered", 4 + 8 + 16 + 32 + 64);
    for (let n = 0; n < 64; n += 1) lane.take();
    for (let n = 0; n < 64; n += 1) end(lane, "retry");
    assert.equal(lane.shutUntil(), 1_000);
  });

  it("lets one probe through at a time, later and later, until ten minutes lie between them", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "retry", 10);
    const waits: number[] = [];
    for (let n = 0, now = 0; n < 12; n += 1) {
      const at = lane.shutUntil();
      waits.push((at - now) / 1_000);
      now = at;
      assert.equal(slots(lane, now - 1), 0);
      assert.equal(slots(lane, now), 1);
      run(lane, "retry", 1, now);
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
  });

  it("lets a last attempt through while it is closed", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "retry", 10);
    assert.equal(lane.hasRoom(ask(0)), false);
    assert.equal(lane.hasRoom(ask(0, { urgent: true })), true);
  });

  it("opens again at the first success, with four slots", () => {
    const told: string[] = [];
    const lane = createLane(NAME, makeReport(told));
    run(lane, "retry", 15);
    run(lane, "delivered", 1, 5_000);
    assert.deepEqual(told, ["laneClosed", "laneOpened"]);
    assert.equal(lane.reopenedAt(), 5_000);
    assert.equal(slots(lane, 5_000), 4);
  });

  it("is held for as long as the receiver asks, for urgent deliveries too", () => {
    const lane = createLane(NAME, makeReport());
    lane.take();
    end(lane, "retry", { now: 0, hold: 60_000 });
    assert.equal(lane.shutUntil(), 60_000);
    assert.equal(lane.hasRoom(ask(59_999, { urgent: true })), false);
    assert.equal(lane.hasRoom(ask(60_000)), true);
  });

  it("looks for a lost network more often than for a dead receiver", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "offline", 30);
    assert.ok(lane.shutUntil() <= 60_000);
  });

  it("learns nothing from an attempt that was let go", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "unknown", 20);
    assert.equal(slots(lane), 4);
  });
});
