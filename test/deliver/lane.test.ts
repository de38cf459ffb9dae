import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLane, type Lane, type LaneAsk } from "../../src/deliver/lane.ts";
import type { Sign } from "../../src/settle/judge.ts";
import { makeReport, POLICY } from "./make.ts";

const NAME = { destination: "crm", url: "https://a.example.com/" };

function ask(now = 0, more: Partial<LaneAsk> = {}): LaneAsk {
  return { now, concurrency: 64, urgent: false, tried: false, untriedWaits: false, ...more };
}

function end(lane: Lane, sign: Sign, { now = 0, hold = null as number | null, tried = false } = {}): void {
  lane.done({ sign, startedAt: now, tried, reason: "503", hold }, { now, random: 0.5, policy: POLICY });
}

/** How many attempts the lane lets run at once. */
function slots(lane: Lane, now = 0, more: Partial<LaneAsk> = {}): number {
  let count = 0;
  while (lane.hasRoom(ask(now, more))) {
    lane.takeSlot(ask(now, more));
    count += 1;
  }
  for (let n = 0; n < count; n += 1) end(lane, "unknown", { now, ...more });
  return count;
}

function run(lane: Lane, sign: Sign, times: number, now = 0): void {
  for (let n = 0; n < times; n += 1) {
    lane.takeSlot(ask(now));
    end(lane, sign, { now });
  }
}

describe("a lane", () => {
  it("begins with four slots", () => {
    assert.equal(slots(createLane(NAME, makeReport())), 4);
  });

  it("doubles its slots after a full round of successes, up to the concurrency", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "taken", 4);
    assert.equal(slots(lane), 8);
    run(lane, "taken", 8 + 16 + 32 + 64);
    assert.equal(slots(lane), 64);
    assert.equal(slots(lane, 0, { concurrency: 10 }), 10);
  });

  it("halves its slots at an answer of an overloaded receiver, and at none, and keeps one", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "taken", 4);
    run(lane, "overloaded", 1);
    assert.equal(slots(lane), 4);
    run(lane, "silent", 1);
    assert.equal(slots(lane), 2);
    run(lane, "silent", 3);
    assert.equal(slots(lane), 1);
  });

  it("keeps its slots at a receiver that takes some events and refuses others", () => {
    const lane = createLane(NAME, makeReport());
    for (let n = 0; n < 100; n += 1) {
      run(lane, "refused", 9);
      run(lane, "taken", 1);
    }
    assert.equal(slots(lane), 64);
  });

  it("leaves a slot to new events, however many retries hang", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "overloaded", 2);
    assert.equal(slots(lane, 0, { tried: true }), 1);
    lane.takeSlot(ask(0, { tried: true }));
    assert.equal(slots(lane, 0, { tried: true }), 0);
    assert.equal(slots(lane), 1);
    assert.equal(slots(lane, 0, { concurrency: 1 }), 0);
  });

  it("goes on with four requests a second when the receiver refuses everything", () => {
    const told: string[] = [];
    const lane = createLane(NAME, makeReport(told));
    run(lane, "refused", 9);
    assert.deepEqual(told, []);
    run(lane, "refused", 1);
    assert.deepEqual(told, ["laneSlowed"]);
    assert.equal(slots(lane, 249), 0);
    assert.equal(slots(lane, 250), 1);
    run(lane, "refused", 1, 250);
    assert.equal(lane.shutUntil(), 500);
    run(lane, "taken", 1, 500);
    assert.deepEqual(told, ["laneSlowed", "laneOpened"]);
    assert.equal(slots(lane, 500), 4);
  });

  it("trusts a receiver that takes events for longer, up to a thousand refusals in a row", () => {
    const told: string[] = [];
    const lane = createLane(NAME, makeReport(told));
    run(lane, "taken", 1);
    run(lane, "refused", 19);
    assert.deepEqual(told, []);
    run(lane, "refused", 1);
    assert.deepEqual(told, ["laneSlowed"]);
    run(lane, "taken", 100);
    run(lane, "refused", 999);
    assert.deepEqual(told, ["laneSlowed", "laneOpened"]);
    run(lane, "refused", 1);
    assert.deepEqual(told, ["laneSlowed", "laneOpened", "laneSlowed"]);
  });

  it("pauses for a moment when there are too many requests", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "crowded", 1);
    assert.equal(lane.shutUntil(), 250);
  });

  it("closes after ten attempts without an answer, and says so once", () => {
    const told: string[] = [];
    const lane = createLane(NAME, makeReport(told));
    run(lane, "silent", 9);
    assert.deepEqual(told, []);
    run(lane, "silent", 3);
    assert.deepEqual(told, ["laneClosed"]);
    assert.equal(slots(lane, 0), 0);
  });

  it("does not close while the receiver answers now and then", () => {
    const told: string[] = [];
    const lane = createLane(NAME, makeReport(told));
    for (let n = 0; n < 10; n += 1) {
      run(lane, "silent", 9);
      run(lane, "refused", 1);
    }
    assert.deepEqual(told, ["laneSlowed"]);
  });

  it("that is closed is only slowed when a probe is refused", () => {
    const told: string[] = [];
    const lane = createLane(NAME, makeReport(told));
    run(lane, "taken", 20);
    run(lane, "silent", 15);
    run(lane, "refused", 1, 1_000);
    assert.deepEqual(told, ["laneClosed", "laneSlowed"]);
    assert.equal(lane.shutUntil(), 1_250);
  });

  it("is closed once for all that was under way then: their failures are no probes", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "taken", 4 + 8 + 16 + 32 + 64);
    for (let n = 0; n < 64; n += 1) lane.takeSlot(ask());
    for (let n = 0; n < 64; n += 1) end(lane, "silent");
    assert.equal(lane.shutUntil(), 1_000);
  });

  it("lets one probe through at a time, later and later, until ten minutes lie between them", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "silent", 10);
    const waits: number[] = [];
    for (let n = 0, now = 0; n < 12; n += 1) {
      const at = lane.shutUntil();
      waits.push((at - now) / 1_000);
      now = at;
      assert.equal(slots(lane, now - 1), 0);
      assert.equal(slots(lane, now), 1);
      run(lane, "silent", 1, now);
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
  });

  it("is not probed twice in a row with what has failed, while something else waits", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "silent", 10);
    lane.takeSlot(ask(1_000, { tried: true }));
    end(lane, "silent", { now: 1_000, tried: true });
    assert.equal(lane.hasRoom(ask(3_000, { tried: true, untriedWaits: true })), false);
    assert.equal(lane.hasRoom(ask(3_000, { tried: true })), true);
    assert.equal(lane.hasRoom(ask(3_000, { untriedWaits: true })), true);
  });

  it("is tried at once when the operator wants it", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "silent", 15);
    lane.tryNow(false);
    assert.equal(slots(lane, 0), 1);
    lane.takeSlot(ask());
    end(lane, "overloaded", { hold: 60_000 });
    lane.tryNow(false);
    assert.equal(slots(lane, 0), 0, "the receiver wants silence");
    lane.tryNow(true);
    assert.equal(slots(lane, 0), 1);
  });

  it("is left alone for as long as its receiver has asked another daemon, and not for shorter than it knows itself", () => {
    const lane = createLane(NAME, makeReport());
    lane.hold(60_000);
    lane.hold(10_000);
    assert.deepEqual([slots(lane, 59_999), slots(lane, 60_000)], [0, 4]);
    lane.tryNow(true);
    assert.equal(slots(lane, 0), 4);
  });

  it("lets a last attempt through while it is closed", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "silent", 10);
    assert.equal(lane.hasRoom(ask(0)), false);
    assert.equal(lane.hasRoom(ask(0, { urgent: true })), true);
  });

  it("opens again at the first success, with four slots, and says how long it was out of order", () => {
    const told: string[] = [];
    const lane = createLane(NAME, makeReport(told));
    run(lane, "silent", 15, 1_000);
    run(lane, "taken", 1, 5_000);
    assert.deepEqual(told, ["laneClosed", "laneOpened"]);
    assert.deepEqual(lane.outage(), { from: 1_000, until: 5_000 });
    assert.equal(slots(lane, 5_000), 4);
  });

  it("takes a few refusals for no outage, and all of them for five minutes for one", () => {
    const lane = createLane(NAME, makeReport());
    run(lane, "refused", 15, 1_000);
    run(lane, "taken", 1, 5_000);
    assert.equal(lane.outage(), null);
    run(lane, "refused", 30, 6_000);
    run(lane, "taken", 1, 306_000);
    assert.deepEqual(lane.outage(), { from: 6_000, until: 306_000 });
  });

  it("is held for as long as the receiver asks, for urgent deliveries too", () => {
    const lane = createLane(NAME, makeReport());
    lane.takeSlot(ask());
    end(lane, "overloaded", { now: 0, hold: 60_000 });
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
