import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createThrottle } from "../../src/runtime/throttle.ts";
import { createFalseClock } from "../flow/clock.ts";

function start() {
  const clock = createFalseClock(0);
  const told: string[] = [];
  const throttle = createThrottle<string>({ clock, tell: (summary, leftOut) => told.push(`${leftOut} of ${summary}`) });
  const pass = (subject: string, kind: string, most?: number) =>
    throttle.pass({ subject, kind, summary: `${subject} ${kind}`, ...(most && { most }) });
  return { clock, throttle, pass, told };
}

describe("createThrottle", () => {
  it("lets the first line through, and tells of the others ten seconds later, though nothing else happens", async () => {
    const { clock, pass, told } = start();
    assert.equal(pass("crm", "timeout"), 0);
    for (let i = 0; i < 9_999; i++) assert.equal(pass("crm", "timeout"), null);
    await clock.advance("9999ms");
    assert.deepEqual(told, []);
    await clock.advance("1ms");
    assert.deepEqual(told, ["9999 of crm timeout"]);
    assert.equal(pass("crm", "timeout"), 0);
    assert.equal(pass("crm", "timeout"), null);
  });

  it("lets as many through as are wanted one by one, and tells of those beyond", async () => {
    const { clock, pass, told } = start();
    const passed = Array.from({ length: 12 }, () => pass("crm", "failed", 10));
    assert.deepEqual(passed, [...Array.from({ length: 10 }, () => 0), null, null]);
    await clock.advance("10s");
    assert.deepEqual(told, ["2 of crm failed"]);
  });

  it("tells of nothing where nothing was left out, and wakes for nothing", async () => {
    const { clock, pass, told } = start();
    pass("crm", "timeout");
    await clock.advance("1h");
    assert.deepEqual(told, []);
  });

  it("tells at once when there is no later", async () => {
    const { clock, throttle, pass, told } = start();
    for (let i = 0; i < 3; i++) pass("crm", "timeout");
    throttle.flush();
    assert.deepEqual(told, ["2 of crm timeout"]);
    await clock.advance("10s");
    assert.equal(told.length, 1, "and only once");
  });

  it("keeps subjects and kinds apart", () => {
    const { pass } = start();
    pass("crm", "timeout");
    assert.equal(pass("crm", "status_5xx"), 0);
    assert.equal(pass("shop", "timeout"), 0);
  });

  it("lets the first line after a success through at once, for every kind", () => {
    const { throttle, pass } = start();
    for (const kind of ["timeout", "offline"]) {
      pass("crm", kind);
      pass("crm", kind);
    }
    throttle.forgive("crm");
    for (const kind of ["timeout", "offline"]) {
      assert.equal(pass("crm", kind), 1);
      assert.equal(pass("crm", kind), null);
    }
  });

  it("lets at most five lines through in ten seconds when success and failure alternate", async () => {
    const { clock, throttle, pass, told } = start();
    let lines = 0;
    for (let i = 0; i < 1_000; i++) {
      if (pass("crm", "status_5xx") !== null) lines++;
      throttle.forgive("crm");
    }
    assert.equal(lines, 5);
    await clock.advance("10s");
    assert.deepEqual(told, ["995 of crm status_5xx"]);
  });

  it("remembers at most 1,000 keys, forgets the oldest, and tells what it left out of that", () => {
    const { pass, told } = start();
    for (let i = 0; i < 1_000; i++) pass(`s${i}`, "timeout");
    assert.equal(pass("s0", "timeout"), null);
    pass("one more", "timeout");
    assert.deepEqual(told, ["1 of s0 timeout"]);
    assert.equal(pass("s1", "timeout"), null);
    assert.equal(pass("s0", "timeout"), 0);
  });

  it("counts the kinds of one subject among the keys", () => {
    const { pass } = start();
    pass("first", "timeout");
    for (let i = 0; i < 1_000; i++) pass("second", `kind ${i}`);
    assert.equal(pass("first", "timeout"), 0);
  });

  it("has nothing to forgive until a line was written", () => {
    const { throttle, pass } = start();
    assert.equal(throttle.isEmpty(), true);
    throttle.forgive("crm");
    pass("crm", "timeout");
    assert.equal(throttle.isEmpty(), false);
  });
});
