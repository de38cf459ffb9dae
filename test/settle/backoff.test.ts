import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { backoff, OFFLINE_WAITS, WAITS } from "../../src/settle/backoff.ts";

function waits(chance: number, attempts: number): number[] {
  return Array.from({ length: attempts }, (_, n) => backoff(n + 1, WAITS, chance));
}

describe("the wait before a retry", () => {
  it("is one second, doubling to ten minutes, when chance is in the middle", () => {
    const seconds = waits(0.5, 13).map((ms) => ms / 1_000);
    assert.deepEqual(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]);
  });

  it("is a fifth shorter when chance is lowest", () => {
    assert.deepEqual(waits(0, 11), [
      ...[800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 102_400, 204_800, 409_600, 480_000],
    ]);
  });

  it("is a fifth longer when chance is highest", () => {
    assert.deepEqual(waits(1, 11), [
      ...[1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 76_800, 153_600, 307_200, 614_400, 720_000],
    ]);
  });

  it("stays at its longest however many attempts there were", () => {
    for (const attempts of [100, 1_100, 1e9, Number.MAX_SAFE_INTEGER]) {
      assert.equal(backoff(attempts, WAITS, 0.5), 600_000);
    }
  });

  it("is short while the machine is offline, and at most a minute", () => {
    const policy = { ...WAITS, ...OFFLINE_WAITS };
    assert.deepEqual(
      [1, 2, 3, 4, 5].map((attempts) => backoff(attempts, policy, 0.5)),
      [10_000, 20_000, 40_000, 60_000, 60_000],
    );
  });

  it("is in whole milliseconds, and between a fifth less and a fifth more, whatever chance says", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempts, chance) => {
          const wait = backoff(attempts, WAITS, chance);
          const middle = backoff(attempts, WAITS, 0.5);
          assert.ok(Number.isInteger(wait));
          assert.ok(wait >= middle * 0.8 && wait <= middle * 1.2, `${wait} of ${middle}`);
        },
      ),
    );
  });
});
