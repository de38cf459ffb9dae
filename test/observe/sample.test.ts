import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSample } from "../../src/observe/sample.ts";
import { createChance } from "../simulate/random.ts";

describe("a sample", () => {
  it("has everything while that is little, in its order", () => {
    const sample = createSample({ fraction: () => assert.fail("nothing is left to chance") });
    for (let nth = 0; nth < 50; nth += 1) sample.add(() => String(nth));
    const { events, omitted } = sample.take();
    assert.deepEqual([events.map(Number), omitted], [Array.from({ length: 50 }, (_, nth) => nth), 0]);
    assert.ok(sample.isEmpty());
  });

  it("gives each of many the same chance, and writes few of them", () => {
    const sample = createSample(createChance(1));
    const taken = new Array<number>(10).fill(0);
    let written = 0;
    for (let round = 0; round < 200; round += 1) {
      for (let nth = 0; nth < 1_000; nth += 1) {
        sample.add(() => {
          written += 1;
          return String(nth);
        });
      }
      const { events, omitted } = sample.take();
      assert.deepEqual([events.length, omitted], [50, 950]);
      assert.deepEqual(
        events,
        events.toSorted((one, other) => Number(one) - Number(other)),
      );
      for (const event of events)
        taken[Math.floor(Number(event) / 100)] = (taken[Math.floor(Number(event) / 100)] ?? 0) + 1;
    }
    // A thousand of each tenth, give or take four standard deviations.
    for (const count of taken) assert.ok(Math.abs(count - 1_000) < 125, taken.join(" "));
    assert.ok(written < 200 * 250, String(written));
  });
});
