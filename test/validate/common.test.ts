import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../../src/model/event.ts";
import { isFault } from "../../src/model/fault.ts";
import { validateCall } from "../../src/validate/call.ts";
import { faultOf, makeArrival } from "./make.ts";

const TRACK = { type: "track", userId: "u1", event: "E" };

/** An envelope's context that says how often it was looked into. */
function watched(value: unknown): { readonly context: JsonObject; readonly looks: () => number } {
  let looks = 0;
  const context = {
    get a() {
      looks += 1;
      return value;
    },
  };
  return { context, looks: () => looks };
}

function nested(levels: number): unknown {
  return JSON.parse("[".repeat(levels) + "]".repeat(levels));
}

describe("an envelope that is beyond the limits of one call", () => {
  const beyond: Readonly<Record<string, readonly [value: unknown, numbers?: "unchecked"]>> = {
    call_too_large: ["x".repeat(32_768)],
    too_deep: [nested(100_000)],
    number_out_of_range: [Infinity, "unchecked"],
  };
  for (const [code, [value, numbers = "checked"]] of Object.entries(beyond)) {
    it(`is looked into once, and each of its calls is refused: ${code}`, () => {
      const { context, looks } = watched(value);
      const arrival = makeArrival({ context, numbers });
      const first = validateCall(TRACK, arrival);
      const once = looks();
      for (let n = 0; n < 100; n += 1) assert.equal(validateCall(TRACK, arrival), first);
      assert.ok(isFault(first));
      assert.equal(first.code, code);
      assert.equal(looks(), once);
    });
  }

  it("is refused also where a call has laid its own over it", () => {
    const context = { a: "x".repeat(32_768) };
    assert.equal(faultOf({ ...TRACK, context: { a: 1 } }, { context }).code, "call_too_large");
  });

  it("is refused for its integrations too", () => {
    assert.equal(faultOf(TRACK, { integrations: { a: "x".repeat(32_768) } }).code, "call_too_large");
  });

  it("is refused for what all its copies have, and may be so large under fewer calls", () => {
    const context = { a: "x".repeat(10_000) };
    const fault = faultOf(TRACK, { context, calls: 420 });
    assert.equal(fault.code, "envelope_too_large");
    assert.equal(
      fault.message,
      "the envelope's context and integrations (10040 bytes) lie under 420 calls, and all copies together may have 4MB; send smaller batches",
    );
    assert.ok(!isFault(validateCall(TRACK, makeArrival({ context, calls: 400 }))));
  });

  it("says nothing of the next request's", () => {
    assert.equal(faultOf(TRACK, { context: { a: "x".repeat(32_768) } }).code, "call_too_large");
    assert.ok(!isFault(validateCall(TRACK, makeArrival({ context: { a: "x" } }))));
  });
});
