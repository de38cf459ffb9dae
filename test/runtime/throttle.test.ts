import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createThrottle } from "../../src/runtime/throttle.ts";

function start() {
  const clock = { at: 0, now: () => clock.at };
  return { clock, throttle: createThrottle(clock) };
}

describe("createThrottle", () => {
  it("lets the first line through, and the next after ten seconds with the number of those between", () => {
    const { clock, throttle } = start();
    assert.equal(throttle.pass("crm", "timeout"), 0);
    for (let i = 0; i < 9_998; i++) assert.equal(throttle.pass("crm", "timeout"), null);
    clock.at = 9_999;
    assert.equal(throttle.pass("crm", "timeout"), null);
    clock.at = 10_000;
    assert.equal(throttle.pass("crm", "timeout"), 9_999);
    assert.equal(throttle.pass("crm", "timeout"), null);
  });

  it("keeps subjects and kinds apart", () => {
    const { throttle } = start();
    throttle.pass("crm", "timeout");
    assert.equal(throttle.pass("crm", "status_5xx"), 0);
    assert.equal(throttle.pass("shop", "timeout"), 0);
  });

  it("lets the first line after a success through at once, for every kind", () => {
    const { throttle } = start();
    for (const kind of ["timeout", "offline"]) {
      throttle.pass("crm", kind);
      throttle.pass("crm", kind);
    }
    throttle.forgive("crm");
    for (const kind of ["timeout", "offline"]) {
      assert.equal(throttle.pass("crm", kind), 1);
      assert.equal(throttle.pass("crm", kind), null);
    }
  });

  it("lets at most five lines through in ten seconds when success and failure alternate", () => {
    const { clock, throttle } = start();
    const passed = (rounds: number) => {
      let lines = 0;
      for (let i = 0; i < rounds; i++) {
        if (throttle.pass("crm", "status_5xx") !== null) lines++;
        throttle.forgive("crm");
      }
      return lines;
    };
    assert.equal(passed(1_000), 5);
    clock.at = 10_000;
    assert.equal(throttle.pass("crm", "status_5xx"), 995);
  });

  it("remembers at most 1,000 keys, and forgets the oldest", () => {
    const { throttle } = start();
    for (let i = 0; i < 1_000; i++) throttle.pass(`s${i}`, "timeout");
    assert.equal(throttle.pass("s0", "timeout"), null);
    throttle.pass("one more", "timeout");
    assert.equal(throttle.pass("s1", "timeout"), null);
    assert.equal(throttle.pass("s0", "timeout"), 0);
  });

  it("counts the kinds of one subject among the keys", () => {
    const { throttle } = start();
    throttle.pass("first", "timeout");
    for (let i = 0; i < 1_000; i++) throttle.pass("second", `kind ${i}`);
    assert.equal(throttle.pass("first", "timeout"), 0);
  });

  it("has nothing to forgive until a line was written", () => {
    const { throttle } = start();
    assert.equal(throttle.isEmpty(), true);
    throttle.forgive("crm");
    throttle.pass("crm", "timeout");
    assert.equal(throttle.isEmpty(), false);
  });
});
