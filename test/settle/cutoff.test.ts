import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HOUR } from "../../src/model/units.ts";
import { cutoffAt, isPastCutoff } from "../../src/settle/backoff.ts";

describe("the cutoff (SPEC.md 7)", () => {
  const life = { firstAttemptAt: 1_000_000, stoodStill: 0 };
  const limit = { cutoff: 4 * HOUR, stoodStill: 0 };

  it("is four hours after the first attempt began", () => {
    assert.equal(cutoffAt(life, limit), 1_000_000 + 4 * HOUR);
  });

  it("is later by as long as the destination's clock has stood still since then", () => {
    const before = { ...life, stoodStill: 9 * HOUR };
    assert.equal(cutoffAt(before, { ...limit, stoodStill: 10 * HOUR }), 1_000_000 + 5 * HOUR);
  });

  it("is never earlier, though a crash has lost what the clock had counted", () => {
    assert.equal(cutoffAt({ ...life, stoodStill: HOUR }, limit), 1_000_000 + 4 * HOUR);
  });

  it("is not there before the first attempt", () => {
    assert.equal(cutoffAt({ firstAttemptAt: null, stoodStill: 0 }, limit), null);
  });

  it("is reached on the millisecond, not before", () => {
    const at = 1_000_000 + 4 * HOUR;
    const past = [at - 1, at, at + 1].map((now) => isPastCutoff(life, { ...limit, now }));
    assert.deepEqual(past, [false, true, true]);
  });

  it("is never reached by what was never tried", () => {
    const untried = { firstAttemptAt: null, stoodStill: 0 };
    assert.equal(isPastCutoff(untried, { ...limit, now: Number.MAX_SAFE_INTEGER }), false);
  });
});
