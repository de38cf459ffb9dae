import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { neverStopped, type StoredClock, totalOf } from "../../src/model/destination-clock.ts";
import { mergeClocks, raiseClock } from "../../src/store/clock-merge.ts";

const RUNNING = neverStopped("crm");
const PAUSED: StoredClock = { ...RUNNING, pausedAt: 100, stoppedAt: 100, stoodStill: 7 };

describe("two changes of one clock at once", () => {
  it("leave what only one of them has changed", () => {
    const mine = { ...RUNNING, stoodStill: 5 };
    assert.deepEqual(mergeClocks({ base: PAUSED, mine, theirs: PAUSED }, 900), mine);
  });

  it("keep the pause of one and the reason of the other, from the earlier on", () => {
    const theirs = { ...RUNNING, unservedAt: 90, stoppedAt: 90 };
    const merged = mergeClocks({ base: RUNNING, mine: { ...PAUSED, stoodStill: 0 }, theirs }, 120);
    assert.deepEqual(merged, { ...RUNNING, pausedAt: 100, unservedAt: 90, stoppedAt: 90 });
  });

  it("begin a pause once, when both have paused", () => {
    const theirs = { ...RUNNING, pausedAt: 105, stoppedAt: 105 };
    assert.deepEqual(mergeClocks({ base: RUNNING, mine: { ...PAUSED, stoodStill: 0 }, theirs }, 120).pausedAt, 100);
  });

  it("end a pause also if the other one has begun it anew: this change is the later one", () => {
    const resumed = { ...RUNNING, stoodStill: 57 };
    const again = { ...RUNNING, pausedAt: 160, stoppedAt: 160, stoodStill: 56 };
    assert.deepEqual(mergeClocks({ base: PAUSED, mine: resumed, theirs: again }, 163), { ...RUNNING, stoodStill: 59 });
  });

  it("end a pause while the other one has found a reason to go on standing still", () => {
    const theirs = { ...PAUSED, offlineAt: 130 };
    const merged = mergeClocks({ base: PAUSED, mine: { ...RUNNING, stoodStill: 57 }, theirs }, 150);
    assert.deepEqual(merged, { ...RUNNING, offlineAt: 130, stoppedAt: 100, stoodStill: 7 });
  });

  it("never take back what either has counted", () => {
    const at = fc.option(fc.nat(100), { nil: null });
    const anyClock = fc
      .record({ pausedAt: at, unservedAt: at, offlineAt: at, stoodStill: fc.nat(100) })
      .map((one): StoredClock => {
        const since = [one.pausedAt, one.unservedAt, one.offlineAt].filter((reason) => reason !== null);
        return { destination: "crm", ...one, stoppedAt: since.length === 0 ? null : Math.min(...since) };
      });
    fc.assert(
      fc.property(anyClock, anyClock, anyClock, (base, mine, theirs) => {
        fc.pre(JSON.stringify(base) !== JSON.stringify(theirs));
        const merged = mergeClocks({ base, mine, theirs }, 100);
        assert.equal(totalOf(merged, 100), Math.max(totalOf(mine, 100), totalOf(theirs, 100)));
        const isStopped = merged.pausedAt !== null || merged.unservedAt !== null || merged.offlineAt !== null;
        assert.equal(merged.stoppedAt !== null, isStopped);
      }),
    );
  });
});

describe("a clock that is raised", () => {
  it("has stood still for as long as is asked, or longer", () => {
    assert.equal(totalOf(raiseClock(PAUSED, 500, 200), 200), 500);
    assert.deepEqual(raiseClock(PAUSED, 5, 200), PAUSED);
  });
});
