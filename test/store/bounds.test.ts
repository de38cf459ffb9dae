import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Bound } from "../../src/model/space.ts";
import { crowdedBy, fullBy, type Measures } from "../../src/store/room.ts";

const BOUNDS = { maxSize: 1_000, freeDisk: 100 };

function measuresOf({ used = 0, overflow = 0, free = 1_000 }: Partial<Measures>): Measures {
  return { used, overflow, free };
}

describe("when a store is full", () => {
  const cases: readonly (readonly [string, Partial<Measures>, Bound | null, Bound | null])[] = [
    ["nothing is near", {}, null, null],
    ["all but a byte is used", { used: 999 }, null, null],
    ["all is used", { used: 1_000 }, null, "maxSize"],
    ["the log has the rest", { used: 600, overflow: 400 }, null, "maxSize"],
    ["it was full, and has opened a little", { used: 970 }, "maxSize", "maxSize"],
    ["it was full, and has opened far enough", { used: 969 }, "maxSize", null],
    ["just enough of the disk is free", { free: 100 }, null, null],
    ["too little of the disk is free", { free: 99 }, null, "freeDisk"],
    ["the disk was full, and has a little room", { free: 124 }, "freeDisk", "freeDisk"],
    ["the disk was full, and has room", { free: 125 }, "freeDisk", null],
    ["nobody knows what is free", { free: null }, "freeDisk", null],
    ["both are reached", { used: 1_000, free: 0 }, null, "maxSize"],
    ["both are reached, and the disk was before", { used: 1_000, free: 0 }, "freeDisk", "freeDisk"],
    ["one ends while the other is reached", { used: 1_000 }, "freeDisk", "maxSize"],
  ];
  for (const [name, measures, was, is] of cases) {
    it(`is ${is ?? "not"} if ${name}`, () => assert.equal(fullBy(measuresOf(measures), BOUNDS, was), is));
  }

  it("is never by a disk of which nothing must stay free", () => {
    assert.equal(fullBy(measuresOf({ free: 0 }), { ...BOUNDS, freeDisk: 0 }, "freeDisk"), null);
  });
});

describe("when a store is crowded", () => {
  const cases: readonly (readonly [Partial<Measures>, Bound | null])[] = [
    [{ used: 899 }, null],
    [{ used: 900 }, "maxSize"],
    [{ used: 899, overflow: 1_000 }, null],
    [{ free: 150 }, null],
    [{ free: 149 }, "freeDisk"],
    [{ used: 900, free: 0 }, "maxSize"],
  ];
  for (const [measures, is] of cases) {
    it(`is ${is ?? "not"} with ${JSON.stringify(measures)}`, () => {
      assert.equal(crowdedBy(measuresOf(measures), BOUNDS), is);
    });
  }
});
