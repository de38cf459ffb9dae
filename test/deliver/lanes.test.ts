import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLanes, type Lanes } from "../../src/deliver/lanes.ts";
import { MOST_ATTEMPTS } from "../../src/deliver/slots.ts";
import type { Destination } from "../../src/model/config.ts";
import { DELIVERY } from "../flow/make.ts";
import { makeReport, POLICY } from "./make.ts";

function destination(name: string): Destination {
  return {
    name,
    enabled: true,
    sources: null,
    types: null,
    historical: "accept",
    filter: null,
    template: null,
    noticeTemplate: null,
    webhooks: [{ url: `https://${name}.example.com/`, headers: [], tls: null }],
    sharedSecrets: [],
    standardWebhooks: false,
    rate: null,
    order: "none",
    ...DELIVERY,
  };
}

function destinations(count: number): readonly Destination[] {
  return Array.from({ length: count }, (_, nth) => destination(`d${nth}`));
}

const ASK = {
  now: 0,
  daemons: 1,
  concurrency: MOST_ATTEMPTS,
  urgent: false,
  tried: false,
  untriedWaits: false,
  wake() {},
};

/** Takes all the slots that it can get, and answers how many. */
function takeAll(lanes: Lanes, one: Destination): number {
  let taken = 0;
  while (lanes.takeSlots(one, one.webhooks, ASK).length > 0) taken += 1;
  return taken;
}

function finish(lanes: Lanes, { name, webhooks: [webhook] }: Destination, times: number): void {
  assert.ok(webhook);
  const result = { sign: "taken", tried: false, startedAt: 0, reason: "200", hold: null } as const;
  for (let n = 0; n < times; n += 1) lanes.done(name, webhook, { ...result, now: 0, random: 0.5, policy: POLICY });
}

/** Answers them so often that their lanes have as many slots as a lane can have. */
function grow(lanes: Lanes, all: readonly Destination[]): void {
  for (const one of all) for (let round = 0; round < 10; round += 1) finish(lanes, one, takeAll(lanes, one));
}

/** One that has all the slots that it could get, and others that have what is kept for them. */
function crowd(count: number) {
  const lanes = createLanes(makeReport());
  const [greedy, ...rest] = destinations(count);
  assert.ok(greedy);
  grow(lanes, [greedy, ...rest]);
  for (const one of [greedy, ...rest]) takeAll(lanes, one);
  return { lanes, greedy, rest };
}

describe("the lanes together", () => {
  it("give all slots to one that is alone", () => {
    const lanes = createLanes(makeReport());
    const all = destinations(1);
    grow(lanes, all);
    assert.deepEqual(
      all.map((one) => takeAll(lanes, one)),
      [MOST_ATTEMPTS],
    );
  });

  it("keep the slots that a lane begins with for each, however many the others have grown to", () => {
    const lanes = createLanes(makeReport());
    const all = destinations(21);
    grow(lanes, all);
    const taken = all.map((one) => takeAll(lanes, one));
    assert.deepEqual(taken, [MOST_ATTEMPTS - 20 * 4, ...Array(20).fill(4)]);
  });

  it("keep one for each of a hundred, and no more than half of all", () => {
    const lanes = createLanes(makeReport());
    const all = destinations(100);
    grow(lanes, all);
    const taken = all.map((one) => takeAll(lanes, one));
    assert.deepEqual(taken, [MOST_ATTEMPTS - 99, ...Array(99).fill(1)]);
  });

  it("never give more than there are, to however many", () => {
    const lanes = createLanes(makeReport());
    const all = destinations(300);
    grow(lanes, all);
    const taken = all.map((one) => takeAll(lanes, one)).reduce((sum, count) => sum + count);
    assert.equal(taken, MOST_ATTEMPTS);
  });

  it("call whoever found none because of the others, when an attempt has ended", () => {
    const lanes = createLanes(makeReport());
    const [greedy, modest] = destinations(2);
    assert.ok(greedy && modest);
    grow(lanes, [greedy, modest]);
    takeAll(lanes, greedy);
    takeAll(lanes, modest);
    let called = 0;
    const wake = (): void => {
      called += 1;
    };
    assert.equal(lanes.haveRoom(modest, { ...ASK, wake }), false);
    finish(lanes, greedy, 1);
    assert.equal(called, 1);
    assert.equal(lanes.haveRoom(modest, ASK), true);
  });

  it("call one for each slot that was given back, in the order in which they began to wait", () => {
    const { lanes, greedy, rest } = crowd(101);
    const called: string[] = [];
    for (const one of rest) {
      assert.equal(lanes.haveRoom(one, { ...ASK, wake: () => called.push(one.name) }), false);
    }
    finish(lanes, greedy, 1);
    assert.deepEqual(called, ["d1"]);
    finish(lanes, greedy, 1);
    assert.deepEqual(called, ["d1", "d2"]);
  });

  it("call whoever has waited longest, however often all of them look", () => {
    const { lanes, greedy, rest } = crowd(101);
    const called = new Set<string>();
    const wakers = new Map(rest.map(({ name }) => [name, () => called.add(name)]));
    for (let round = 0; round < rest.length / 10; round += 1) {
      for (const one of rest) lanes.haveRoom(one, { ...ASK, wake: wakers.get(one.name) ?? assert.fail });
      finish(lanes, greedy, 10);
      takeAll(lanes, greedy);
    }
    assert.equal(called.size, rest.length);
  });

  it("call the next one when who was called leaves the slot", () => {
    const { lanes, greedy, rest } = crowd(3);
    const called: string[] = [];
    for (const one of rest) {
      lanes.haveRoom(one, { ...ASK, wake: () => called.push(one.name) });
    }
    finish(lanes, greedy, 1);
    lanes.wakeNext();
    assert.deepEqual(called, ["d1", "d2"]);
    lanes.wakeNext();
    assert.deepEqual(called, ["d1", "d2"], "nobody waits any more");
  });

  it("call nobody for a slot that is kept for others", () => {
    const lanes = createLanes(makeReport());
    const [greedy, modest] = destinations(2);
    assert.ok(greedy && modest);
    grow(lanes, [greedy, modest]);
    takeAll(lanes, greedy);
    let called = 0;
    assert.equal(lanes.haveRoom(greedy, { ...ASK, wake: () => (called += 1) }), false);
    lanes.wakeNext();
    assert.equal(called, 0);
    finish(lanes, greedy, 1);
    assert.equal(called, 1);
  });
});
