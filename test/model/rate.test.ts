import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRate } from "../../src/model/rate.ts";
import { SECOND } from "../../src/model/units.ts";

const START = 1_000_000 * SECOND;

describe("a rate", () => {
  it("is what has happened in the last sixty seconds, on average", () => {
    const rate = createRate();
    assert.equal(rate.perSecond(START), 0);
    for (let second = 0; second < 60; second++) rate.add(3, START + second * SECOND);
    assert.equal(rate.perSecond(START + 59 * SECOND), 3);
    assert.equal(rate.perSecond(START + 89 * SECOND), 1.5);
  });

  it("is nothing a minute later, however long nobody looked", () => {
    const rate = createRate();
    rate.add(600, START);
    assert.equal(rate.perSecond(START + 59 * SECOND), 10);
    assert.equal(rate.perSecond(START + 60 * SECOND), 0);
    rate.add(60, START + 1_000_000 * SECOND);
    assert.equal(rate.perSecond(START + 1_000_001 * SECOND), 1);
  });

  it("adds up within a second", () => {
    const rate = createRate();
    for (let ms = 0; ms < 1_000; ms += 100) rate.add(6, START + ms);
    assert.equal(rate.perSecond(START + 999), 1);
  });
});
