import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type BucketRule, createBucket } from "../../src/model/bucket.ts";
import { HOUR, MINUTE, type Ms, SECOND } from "../../src/model/units.ts";
import { START } from "../flow/clock.ts";

const RULE: BucketRule = { requests: 10, per: SECOND, burst: 10, round: 1, daemons: 1 };

const RULES: fc.Arbitrary<BucketRule> = fc
  .record({
    requests: fc.integer({ min: 1, max: 10_000 }),
    per: fc.constantFrom(SECOND, MINUTE, HOUR),
    burst: fc.integer({ min: 1, max: 1_000 }),
    round: fc.integer({ min: 1, max: 5 }),
    daemons: fc.integer({ min: 1, max: 7 }),
  })
  .map((rule) => ({ ...rule, burst: Math.max(rule.burst, rule.round) }));

/** Steps of a clock: usually forward, sometimes far, sometimes back. */
const STEPS: fc.Arbitrary<readonly Ms[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 2_000 }) },
    fc.integer({ min: 0, max: 3 * HOUR }),
    fc.integer({ min: -3 * HOUR, max: 0 }),
  ),
  { maxLength: 60 },
);

/** Takes all that the bucket gives now, and at most so many. */
function drain(bucket: ReturnType<typeof createBucket>, { round }: BucketRule, now: Ms, most = 5_000): number {
  let taken = 0;
  while (taken < most && bucket.hasRound(now)) {
    bucket.take(round, now);
    taken += round;
  }
  return taken;
}

/** What a daemon may send in a time: its part of the burst, or a round, and its part of the rate. */
function mostIn(elapsed: Ms, { requests, per, burst, round, daemons }: BucketRule): number {
  return Math.max(burst / daemons, round) + (elapsed * requests) / per / daemons;
}

describe("a bucket", () => {
  it("never gives more than its burst and its rate in any time, whatever its clock does", () => {
    fc.assert(
      fc.property(RULES, STEPS, (rule, steps) => {
        const bucket = createBucket(rule, START);
        // Only time that goes on adds tokens: one that goes back and on again passes twice.
        let [now, passed] = [START, 0];
        const taken: { readonly at: Ms; readonly count: number }[] = [];
        for (const step of [0, ...steps]) {
          now += step;
          passed += Math.max(0, step);
          taken.push({ at: passed, count: drain(bucket, rule, now) });
        }
        for (let first = 0; first < taken.length; first += 1) {
          let sum = 0;
          for (const { at, count } of taken.slice(first)) {
            sum += count;
            assert.ok(sum <= mostIn(at - (taken[first]?.at ?? 0), rule) + 1e-9, `${sum} in ${at}`);
          }
        }
      }),
    );
  });

  it("never starves: what it holds back goes on when it said, and one round takes no longer than its rate", () => {
    fc.assert(
      fc.property(RULES, STEPS, (rule, steps) => {
        const bucket = createBucket(rule, START);
        let now = START;
        for (const step of steps) {
          now += step;
          drain(bucket, rule, now);
          const next = bucket.nextAt();
          if (bucket.hasRound(now)) continue;
          assert.ok(next !== null && next > now);
          assert.ok(next - now <= Math.ceil((rule.round * rule.per * rule.daemons) / rule.requests));
          assert.ok(!bucket.hasRound(next - 1), "it could have gone on before");
          now = next;
          assert.ok(bucket.hasRound(now));
        }
      }),
    );
  });

  it("gives exactly its rate over a day, however odd", () => {
    for (const [requests, per] of [
      [1, MINUTE],
      [7, MINUTE],
      [3, SECOND],
      [1, HOUR],
      [999, HOUR],
    ] as const) {
      // With room for two, nothing overflows while a timer waits for its whole millisecond.
      const rule = { ...RULE, requests, per, burst: 2 };
      const bucket = createBucket(rule, START);
      let [now, count] = [START, 0];
      while (now < START + 24 * HOUR) {
        if (bucket.hasRound(now)) {
          bucket.take(1, now);
          count += 1;
        } else now = bucket.nextAt() ?? assert.fail();
      }
      const exact = (24 * HOUR * requests) / per;
      assert.ok(count <= exact + 1 && count >= Math.floor(exact), `${count} of ${exact}`);
    }
  });

  it("begins with a round, and has its burst after a rest", () => {
    const bucket = createBucket(RULE, START);
    assert.equal(drain(bucket, RULE, START), 1);
    assert.equal(drain(bucket, RULE, START + HOUR), 10);
  });

  it("changes its rule with the tokens that it has", () => {
    const bucket = createBucket(RULE, START);
    const later = START + HOUR;
    drain(bucket, RULE, later, 6);
    const slow = { ...RULE, requests: 1, per: MINUTE, burst: 100 };
    bucket.setRule(slow, later);
    assert.equal(drain(bucket, slow, later), 4);
    const fast = { ...RULE, requests: 100, burst: 1_000 };
    bucket.setRule(fast, later);
    assert.equal(drain(bucket, fast, later), 0);
    assert.equal(drain(bucket, fast, later + SECOND), 100);
    bucket.setRule(RULE, later + HOUR);
    assert.equal(drain(bucket, RULE, later + HOUR), 10);
  });

  it("changes its rule any number of times without a token more than the largest would give", () => {
    fc.assert(
      fc.property(fc.array(RULES, { minLength: 1, maxLength: 20 }), (rules) => {
        const [first] = rules;
        assert.ok(first);
        const bucket = createBucket(first, START);
        drain(bucket, first, START);
        for (const rule of rules) {
          bucket.setRule(rule, START);
          assert.ok(drain(bucket, rule, START) <= 0);
        }
      }),
    );
  });

  it("says since when it holds something back, as long as it does so again and again", () => {
    const bucket = createBucket(RULE, START);
    assert.equal(bucket.heldSince(START), null);
    drain(bucket, RULE, START);
    for (let now = START + 100; now <= START + MINUTE; now += 100) {
      assert.equal(drain(bucket, RULE, now), 1);
      assert.equal(bucket.heldSince(now), START);
    }
    assert.equal(bucket.heldSince(START + MINUTE + 100), START);
    assert.equal(bucket.heldSince(START + 2 * MINUTE), null);
    drain(bucket, RULE, START + 3 * MINUTE);
    assert.equal(bucket.heldSince(START + 3 * MINUTE), START + 3 * MINUTE);
  });
});
