import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBuckets } from "../../src/deliver/bucket.ts";
import { MINUTE } from "../../src/model/units.ts";
import { START } from "../flow/clock.ts";
import { makeDestination, URL_A, URL_B } from "../flow/make.ts";

describe("the buckets of all destinations", () => {
  const ask = { now: START, daemons: 1 };
  const rate = { requests: 1, per: MINUTE, burst: 1 };

  it("hold back none without a rate, and each other by nothing", () => {
    const buckets = createBuckets();
    const [crm, lake] = [makeDestination({ rate }), makeDestination({ name: "lake", rate })];
    for (let n = 0; n < 1_000; n += 1) assert.ok(buckets.hasRound(makeDestination({ name: "free" }), ask));
    assert.ok(buckets.hasRound(crm, ask));
    buckets.take(crm, 1, START);
    assert.deepEqual([buckets.hasRound(crm, ask), buckets.hasRound(lake, ask)], [false, true]);
    assert.deepEqual([buckets.nextAt(crm), buckets.nextAt(lake)], [START + MINUTE, null]);
    assert.deepEqual([buckets.heldSince(crm, START), buckets.heldSince(lake, START)], [START, null]);
  });

  it("keep a destination's over a reload, by which it loses its rate or gets another", () => {
    const buckets = createBuckets();
    const crm = makeDestination({ rate });
    buckets.hasRound(crm, ask);
    buckets.take(crm, 1, START);
    assert.ok(!buckets.hasRound(makeDestination({ rate: { ...rate, burst: 100 } }), ask));
    assert.ok(buckets.hasRound(makeDestination(), ask));
    assert.equal(buckets.nextAt(makeDestination()), null);
    assert.ok(!buckets.hasRound(crm, ask));
  });

  it("wait for a request to each webhook, and for what other daemons have of the rate", () => {
    const buckets = createBuckets();
    const crm = makeDestination({ rate: { ...rate, burst: 2 }, urls: [URL_A, URL_B] });
    assert.ok(buckets.hasRound(crm, { now: START, daemons: 3 }));
    buckets.take(crm, 2, START);
    assert.ok(!buckets.hasRound(crm, { now: START, daemons: 3 }));
    assert.equal(buckets.nextAt(crm), START + 6 * MINUTE);
    // The others are gone: what is left to wait is less at once.
    assert.ok(!buckets.hasRound(crm, { now: START + MINUTE, daemons: 1 }));
    assert.equal(buckets.nextAt(crm), START + MINUTE + (5 / 3) * MINUTE);
  });
});
