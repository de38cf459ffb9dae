import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createArrivals } from "../../src/accept/arrivals.ts";
import { createFalseClock, UNSHIFTED } from "../flow/clock.ts";

const NOTHING = { entries: [], receipts: [] };

describe("what has come from a source", () => {
  it("is nothing at first", () => {
    assert.deepEqual(createArrivals(createFalseClock(), UNSHIFTED).of("website"), { perSecond: 0, lastAt: null });
  });

  it("is how much each second of the last minute, and when last", async () => {
    const clock = createFalseClock();
    const arrivals = createArrivals(clock, UNSHIFTED);
    arrivals.accepted("website", { ...NOTHING, count: 100 });
    await clock.advance("10s");
    arrivals.accepted("website", { ...NOTHING, count: 20 });
    const lastAt = clock.wall();
    assert.deepEqual(arrivals.of("website"), { perSecond: 2, lastAt });
    assert.deepEqual(arrivals.of("app"), { perSecond: 0, lastAt: null });
    await clock.advance("10m");
    assert.deepEqual(arrivals.of("website"), { perSecond: 0, lastAt });
  });
});
