import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createLimits } from "../../src/ingest/limits.ts";
import type { RateLimit } from "../../src/model/config.ts";
import { HOUR, MINUTE, type Ms, SECOND } from "../../src/model/units.ts";
import { START } from "../flow/clock.ts";
import { makeSource } from "../flow/make.ts";

const MOST_IN_BATCH = 2_500;

const RATES: fc.Arbitrary<RateLimit> = fc.record({
  requests: fc.integer({ min: 1, max: 100_000 }),
  per: fc.constantFrom(SECOND, MINUTE, HOUR),
  burst: fc.integer({ min: 1, max: 10_000 }),
});
const DAEMONS = fc.integer({ min: 1, max: 5 });

/** Requests of so many calls, each some time after the one before. */
const REQUESTS = fc.array(
  fc.record({
    after: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 0, max: 2_000 }) },
      fc.integer({ min: 0, max: 3 * HOUR }),
    ),
    calls: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: MOST_IN_BATCH })),
  }),
  { maxLength: 80 },
);

/** The limits of sources of which so much waits, and the time, which the test passes. */
function start({ daemons = 1, waiting = (): number | null => 0 } = {}) {
  let [now, counted] = [START, 0];
  const limits = createLimits({
    clock: { now: () => now },
    daemons: () => daemons,
    waitingBytes: waiting,
    countAnew: () => {
      counted += 1;
    },
  });
  return {
    ...limits,
    now: () => now,
    counted: () => counted,
    pass(ms: Ms) {
      now += ms;
    },
  };
}

describe("the rate of a source", () => {
  it("lets in no more than the rate, the burst and one batch in any time, however the calls are batched", () => {
    fc.assert(
      fc.property(RATES, DAEMONS, REQUESTS, (rate, daemons, requests) => {
        const limits = start({ daemons });
        const source = makeSource({ rate });
        const accepted: { readonly at: Ms; readonly calls: number }[] = [];
        for (const { after, calls } of requests) {
          limits.pass(after);
          if (limits.take(source, calls) === null) accepted.push({ at: limits.now(), calls });
        }
        accepted.forEach((first, nth) => {
          let [sum, largest] = [0, 0];
          for (const { at, calls } of accepted.slice(nth)) {
            sum += calls;
            largest = Math.max(largest, calls);
            const most = Math.max(rate.burst / daemons, 1) + ((at - first.at) * rate.requests) / rate.per / daemons;
            assert.ok(sum <= most + largest, `${sum} in ${at - first.at} ms`);
          }
        });
      }),
    );
  });

  it("lets a client go on that waits as long as it is told, whatever it sends", () => {
    fc.assert(
      fc.property(RATES, DAEMONS, REQUESTS, (rate, daemons, requests) => {
        const limits = start({ daemons });
        const source = makeSource({ rate });
        for (const { after, calls } of requests) {
          limits.pass(after);
          const refused = limits.take(source, calls);
          if (refused === null) continue;
          assert.ok(refused.retryAfter !== undefined && refused.retryAfter > 0);
          // Not for the time of more than its own last batch: a client of a second is not kept for hours.
          assert.ok(refused.retryAfter <= Math.ceil((MOST_IN_BATCH * rate.per * daemons) / rate.requests));
          limits.pass(refused.retryAfter);
          assert.equal(limits.take(source, calls), null);
        }
      }),
    );
  });

  it("is not used up by a look, nor by what is given back", () => {
    const limits = start();
    const source = makeSource({ rate: { requests: 1, per: HOUR, burst: 1 } });
    for (let nth = 0; nth < 10; nth += 1) assert.equal(limits.refusal(source), null);
    for (let nth = 0; nth < 10; nth += 1) {
      assert.equal(limits.take(source, 5), null);
      assert.equal(limits.refusal(source)?.code, "rate_limited");
      limits.giveBack(source, 5);
    }
    limits.giveBack(source, 5);
    assert.equal(limits.take(source, 1), null);
    assert.equal(limits.take(source, 1)?.retryAfter, HOUR);
  });

  it("costs nothing for a request without a valid call", () => {
    const limits = start();
    const source = makeSource({ rate: { requests: 1, per: HOUR, burst: 1 } });
    for (let nth = 0; nth < 10; nth += 1) assert.equal(limits.take(source, 0), null);
    assert.equal(limits.take(source, 1), null);
  });
});

describe("how much of a source may wait", () => {
  const maxWaiting = { bytes: 1_000, share: null };
  const [ONE, TWO] = [makeSource({ name: "one", maxWaiting }), makeSource({ name: "two", maxWaiting })];

  it("is refused from there on, until a tenth of it is gone; others are not", () => {
    let bytes: number | null = 0;
    const limits = start({ waiting: () => bytes });
    const codes = [999, 1_000, 950, 900, 899, 999, 1_000].map((now) => {
      bytes = now;
      return limits.refusal(ONE)?.code ?? null;
    });
    assert.deepEqual(codes, [null, "source_full", "source_full", "source_full", null, null, "source_full"]);
    bytes = 950;
    assert.equal(limits.refusal(TWO), null);
  });

  it("is not refused while it is being counted", () => {
    const limits = start({ waiting: () => null });
    assert.equal(limits.refusal(ONE), null);
    assert.deepEqual(limits.of(ONE), { waiting: { bytes: null, max: 1_000 }, refusing: null });
  });

  it("is counted anew when it is refused, to be sure", () => {
    const limits = start({ waiting: () => 1_000 });
    limits.refusal(ONE);
    assert.equal(limits.counted(), 1);
  });

  it("is divided by the daemons that share the outbox", () => {
    const limits = start({ daemons: 4, waiting: () => 250 });
    const refused = limits.refusal(ONE);
    assert.deepEqual([refused?.code, refused?.retryAfter], ["source_full", 10 * SECOND]);
    assert.equal(limits.of(ONE)?.waiting?.max, 250);
  });
});

describe("what the limits have refused", () => {
  it("is one spell while no minute passes without it, and the last one is remembered", () => {
    const limits = start();
    const source = makeSource({ rate: { requests: 1, per: HOUR, burst: 1 } });
    limits.take(source, 1);
    for (let nth = 0; nth < 3; nth += 1) {
      limits.refusal(source);
      limits.pass(59 * SECOND);
    }
    const spell = { code: "rate_limited", since: START, lastAt: START + 118 * SECOND, requests: 3 };
    assert.deepEqual(limits.of(source)?.refusing, spell);
    limits.pass(SECOND);
    assert.equal(limits.of(source)?.refusing, null);
    assert.deepEqual(limits.refusals(), [{ source: "website", ...spell }]);
    limits.refusal(source);
    assert.equal(limits.of(source)?.refusing?.requests, 1);
  });

  it("is over with the limit, which a reload may take away", () => {
    const limits = start();
    const source = makeSource({
      rate: { requests: 1, per: HOUR, burst: 1 },
      maxWaiting: { bytes: 1_000, share: null },
    });
    limits.take(source, 2);
    assert.equal(limits.refusal(source)?.code, "rate_limited");
    assert.equal(limits.of({ ...source, rate: null })?.refusing, null);
  });

  it("is nothing for a source without limits", () => {
    const limits = start({ waiting: () => Number.MAX_SAFE_INTEGER });
    for (let nth = 0; nth < 100; nth += 1) assert.equal(limits.take(makeSource(), 2_500), null);
    assert.equal(limits.of(makeSource()), null);
    assert.deepEqual(limits.refusals(), []);
  });
});
