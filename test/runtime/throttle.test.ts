import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LogLevel } from "../../src/model/config.ts";
import type { Fields } from "../../src/runtime/log.ts";
import { createThrottle } from "../../src/runtime/throttle.ts";
import { createFalseClock } from "../flow/clock.ts";

function start() {
  const clock = createFalseClock(0);
  /** Lines that count suppressed ones, written apart from any other. */
  const summaries: string[] = [];
  let written: Fields | null = null;
  const log = {
    enabled: () => true,
    line(_level: LogLevel, _name: string, fields: Fields) {
      if (fields.of === undefined) written = fields;
      else summaries.push(`${fields.suppressed} of ${fields.of}`);
    },
  };
  const throttle = createThrottle({ log, clock });
  /** Null if the line is suppressed, else how many were before it. */
  function write(subject: string, kind: string, most?: number): number | null {
    written = null;
    const common = { of: `${subject} ${kind}` };
    const line = {
      level: "error",
      name: "a.b",
      subject,
      kind,
      common,
      fields: () => ({}),
      ...(most && { most }),
    } as const;
    throttle.line(line);
    return written && Number((written as Fields).suppressed ?? 0);
  }
  return { clock, throttle, write, summaries };
}

describe("createThrottle", () => {
  it("writes the first line, and the number of suppressed ones ten seconds later, even if nothing else happens", async () => {
    const { clock, write, summaries } = start();
    assert.equal(write("crm", "timeout"), 0);
    for (let i = 0; i < 9_999; i++) assert.equal(write("crm", "timeout"), null);
    await clock.advance("9999ms");
    assert.deepEqual(summaries, []);
    await clock.advance("1ms");
    assert.deepEqual(summaries, ["9999 of crm timeout"]);
    assert.equal(write("crm", "timeout"), 0);
    assert.equal(write("crm", "timeout"), null);
  });

  it("writes as many lines as asked for, and the number of those beyond", async () => {
    const { clock, write, summaries } = start();
    const passed = Array.from({ length: 12 }, () => write("crm", "failed", 10));
    assert.deepEqual(passed, [...Array.from({ length: 10 }, () => 0), null, null]);
    await clock.advance("10s");
    assert.deepEqual(summaries, ["2 of crm failed"]);
  });

  it("writes no number if nothing was suppressed", async () => {
    const { clock, write, summaries } = start();
    write("crm", "timeout");
    await clock.advance("1h");
    assert.deepEqual(summaries, []);
  });

  it("writes the numbers at once on flush", async () => {
    const { clock, throttle, write, summaries } = start();
    for (let i = 0; i < 3; i++) write("crm", "timeout");
    throttle.flush();
    assert.deepEqual(summaries, ["2 of crm timeout"]);
    await clock.advance("10s");
    assert.equal(summaries.length, 1, "and only once");
  });

  it("keeps subjects and kinds apart", () => {
    const { write } = start();
    write("crm", "timeout");
    assert.equal(write("crm", "status_5xx"), 0);
    assert.equal(write("shop", "timeout"), 0);
  });

  it("writes the first line after a success at once, for every kind", () => {
    const { throttle, write } = start();
    for (const kind of ["timeout", "offline"]) {
      write("crm", kind);
      write("crm", kind);
    }
    throttle.recovered("crm");
    for (const kind of ["timeout", "offline"]) {
      assert.equal(write("crm", kind), 1);
      assert.equal(write("crm", kind), null);
    }
  });

  it("writes at most five lines in ten seconds when success and failure alternate", async () => {
    const { clock, throttle, write, summaries } = start();
    let lines = 0;
    for (let i = 0; i < 1_000; i++) {
      if (write("crm", "status_5xx") !== null) lines++;
      throttle.recovered("crm");
    }
    assert.equal(lines, 5);
    await clock.advance("10s");
    assert.deepEqual(summaries, ["995 of crm status_5xx"]);
  });

  it("remembers at most 1,000 keys, forgets the oldest, and writes what it suppressed of that", () => {
    const { write, summaries } = start();
    for (let i = 0; i < 1_000; i++) write(`s${i}`, "timeout");
    assert.equal(write("s0", "timeout"), null);
    write("one more", "timeout");
    assert.deepEqual(summaries, ["1 of s0 timeout"]);
    assert.equal(write("s1", "timeout"), null);
    assert.equal(write("s0", "timeout"), 0);
  });

  it("counts the kinds of one subject among the keys", () => {
    const { write } = start();
    write("first", "timeout");
    for (let i = 0; i < 1_000; i++) write("second", `kind ${i}`);
    assert.equal(write("first", "timeout"), 0);
  });

  it("is empty until a line was written", () => {
    const { throttle, write } = start();
    assert.equal(throttle.isEmpty(), true);
    throttle.recovered("crm");
    write("crm", "timeout");
    assert.equal(throttle.isEmpty(), false);
  });
});
