import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HOUR } from "../../src/model/units.ts";
import { cutoffAt, isPastCutoff } from "../../src/settle/backoff.ts";

describe("the cutoff (SPEC.md 7)", () => {
  const life = { firstAttemptAt: 1_000_000, held: 0 };

  it("is four hours after the first attempt began", () => {
    assert.equal(cutoffAt(life, 4 * HOUR), 1_000_000 + 4 * HOUR);
  });

  it("moves on by the time that does not count", () => {
    assert.equal(cutoffAt({ ...life, held: HOUR }, 4 * HOUR), 1_000_000 + 5 * HOUR);
  });

  it("is not there before the first attempt", () => {
    assert.equal(cutoffAt({ firstAttemptAt: null, held: 0 }, 4 * HOUR), null);
  });

  it("is reached on the millisecond, not before", () => {
    const at = 1_000_000 + 4 * HOUR;
    const past = [at - 1, at, at + 1].map((now) => isPastCutoff(life, { now, cutoff: 4 * HOUR }));
    assert.deepEqual(past, [false, true, true]);
  });

  it("is never reached by what was never tried", () => {
    const untried = { firstAttemptAt: null, held: 0 };
    assert.equal(isPastCutoff(untried, { now: Number.MAX_SAFE_INTEGER, cutoff: 4 * HOUR }), false);
  });
});
