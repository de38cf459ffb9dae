import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createDestinationClock, neverStopped, type Reason } from "../../src/deliver/destination-clock.ts";

const REASONS: readonly Reason[] = ["pausedAt", "unservedAt", "offlineAt"];

function start() {
  return createDestinationClock(neverStopped("crm"));
}

describe("the clock of a destination", () => {
  it("stands still while there is a reason, and then goes on", () => {
    const clock = start();
    clock.stop("pausedAt", 100);
    assert.deepEqual([clock.standsStill(), clock.stoodStill(100), clock.stoodStill(150)], [true, 0, 50]);
    clock.start("pausedAt", 200);
    assert.deepEqual([clock.standsStill(), clock.stoodStill(200), clock.stoodStill(900)], [false, 100, 100]);
  });

  it("stands still once for several reasons, until the last has ended", () => {
    const clock = start();
    clock.stop("pausedAt", 100);
    clock.stop("unservedAt", 150);
    clock.start("pausedAt", 200);
    assert.deepEqual([clock.standsStill(), clock.stoodStill(250)], [true, 150]);
    clock.start("unservedAt", 300);
    assert.equal(clock.stoodStill(400), 200);
  });

  it("knows how long it had stood still a moment ago", () => {
    const clock = start();
    clock.stop("pausedAt", 100);
    clock.start("pausedAt", 200);
    assert.deepEqual([90, 100, 130, 200, 300].map(clock.stoodStill), [0, 0, 30, 100, 100]);
  });

  it("counts no time twice, though a reason is known only later", () => {
    const clock = start();
    clock.stop("pausedAt", 100);
    clock.start("pausedAt", 200);
    clock.stop("offlineAt", 50);
    assert.equal(clock.stoodStill(300), 200);
    const other = start();
    other.stop("pausedAt", 100);
    other.stop("offlineAt", 50);
    assert.equal(other.stoodStill(300), 250);
  });

  it("goes on where it was after a restart", () => {
    const clock = start();
    clock.stop("unservedAt", 100);
    clock.start("unservedAt", 150);
    clock.stop("pausedAt", 200);
    const again = createDestinationClock(clock.stored());
    again.start("pausedAt", 1_000);
    assert.equal(again.stoodStill(2_000), 850);
  });

  it("forgets all but a pause", () => {
    const clock = start();
    clock.stop("unservedAt", 100);
    clock.stop("pausedAt", 150);
    assert.deepEqual([clock.forget(), clock.forget()], [true, false]);
    assert.deepEqual(clock.stored(), { ...neverStopped("crm"), pausedAt: 150, stoppedAt: 150 });
    clock.start("pausedAt", 200);
    clock.forget();
    assert.deepEqual(clock.stored(), neverStopped("crm"));
  });

  it("has stood still for as many moments as there was any reason, whatever happens", () => {
    const anyChange = fc.record({ reason: fc.constantFrom(...REASONS), after: fc.nat(20), stops: fc.boolean() });
    fc.assert(
      fc.property(fc.array(anyChange), fc.nat(20), (changes, rest) => {
        const clock = start();
        const reasons = new Set<Reason>();
        let [now, expected] = [0, 0];
        for (const { reason, after, stops } of changes) {
          if (reasons.size > 0) expected += after;
          now += after;
          if (stops) reasons.add(reason);
          else reasons.delete(reason);
          if (stops) clock.stop(reason, now);
          else clock.start(reason, now);
          assert.equal(clock.standsStill(), reasons.size > 0);
        }
        assert.equal(clock.stoodStill(now + rest), expected + (reasons.size > 0 ? rest : 0));
      }),
    );
  });
});
