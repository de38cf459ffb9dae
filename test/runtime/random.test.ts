import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../src/runtime/random.ts";

describe("random hex", () => {
  it("has two digits for each byte, whatever was asked for before", () => {
    const random = createRandom();
    for (const bytes of [0, 1, 16, 1_000, 20, 1_024, 7, 5_000, 16]) {
      assert.match(random.hex(bytes), new RegExp(`^[0-9a-f]{${2 * bytes}}$`));
    }
  });

  it("does not repeat", () => {
    const random = createRandom();
    const seen = new Set(Array.from({ length: 10_000 }, () => random.hex(16)));
    assert.equal(seen.size, 10_000);
  });

  it("uses every digit in every place", () => {
    const random = createRandom();
    const ids = Array.from({ length: 2_000 }, () => random.hex(4));
    for (let place = 0; place < 8; place++) assert.equal(new Set(ids.map((id) => id[place])).size, 16);
  });
});

describe("a random fraction", () => {
  it("is from 0 up to, but not including, 1", () => {
    const random = createRandom();
    const fractions = Array.from({ length: 10_000 }, () => random.fraction());
    assert.ok(fractions.every((fraction) => fraction >= 0 && fraction < 1));
    assert.ok(Math.min(...fractions) < 0.01);
    assert.ok(Math.max(...fractions) > 0.99);
  });
});
