import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import { isClockSynchronized } from "../../src/runtime/clock.ts";

describe("whether a time service keeps the clock right", () => {
  it("is known to the kernel of Linux, and the same each time it is asked", {
    skip: process.platform !== "linux",
  }, () => {
    const answer = isClockSynchronized();
    assert.equal(typeof answer, "boolean");
    assert.equal(isClockSynchronized(), answer);
  });
});
