import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../../src/model/event.ts";
import { isFault } from "../../src/model/fault.ts";
import { parseExactly } from "../../src/model/json.ts";
import { validateCall } from "../../src/validate/call.ts";
import { eventOf, faultOf, makeArrival } from "./make.ts";

/** A call of exactly so many bytes, filled up with this. */
function callOf(bytes: number, filling = "x"): { readonly properties: { readonly text: string } } {
  const call = { type: "track", userId: "u1", event: "E", properties: { text: "" } };
  const room = bytes - Buffer.byteLength(JSON.stringify(call));
  const width = Buffer.byteLength(filling);
  const text = filling.repeat(Math.floor(room / width)) + "x".repeat(room % width);
  return { ...call, properties: { text } };
}

describe("the size of a call (SPEC.md 8: 32 KB)", () => {
  for (const [filling, name] of [["x", "one byte"] as const, ["é", "two"] as const, ["世", "three"] as const]) {
    it(`is at most 32,768 bytes, in characters of ${name}`, () => {
      assert.equal(Buffer.byteLength(JSON.stringify(callOf(32_768, filling))), 32_768);
      eventOf(callOf(32_768, filling));
      assert.equal(faultOf(callOf(32_769, filling)).code, "call_too_large");
    });
  }

  it("is at most 32,768 bytes in characters that are a pair of units", () => {
    eventOf(callOf(32_768, "🙂"));
    assert.equal(faultOf(callOf(32_769, "🙂")).code, "call_too_large");
  });

  it("is named if it is too large", () => {
    assert.equal(faultOf(callOf(32_770)).message, "the call is 32770 bytes; the limit is 32768 (32 KB)");
  });

  it("is what the config says", () => {
    eventOf(callOf(65_536), { maxCall: 65_536 });
    const { message } = faultOf(callOf(65_537), { maxCall: 65_536 });
    assert.equal(message, "the call is 65537 bytes; the limit is 65536 (64 KB)");
  });

  it("counts what the envelope adds", () => {
    const call = callOf(32_000);
    const added = Buffer.byteLength(',"context":{"a":""}');
    const context = { a: "x".repeat(768 - added) };
    eventOf(call, { context });
    assert.equal(faultOf(call, { context: { a: `${context.a}x` } }).code, "call_too_large");
  });

  it("counts the envelope's integrations too", () => {
    assert.equal(faultOf(callOf(32_000), { integrations: { a: "x".repeat(800) } }).code, "call_too_large");
  });

  it("does not count what a call has laid over the envelope's", () => {
    eventOf({ ...callOf(32_000), context: { a: 1 } }, { context: { a: "x".repeat(1_000) } });
  });

  it("does not count spaces that were only in the text of the request", () => {
    eventOf(JSON.parse(`{${" ".repeat(50_000)}"type":"page","userId":"u1"}`));
  });
});

describe("the depth of a call", () => {
  const kinds = { arrays: ["[", "]", ""], objects: ['{"a":', "}", "{}"] } as const;

  /** A call whose innermost array or object is at this level; the call itself is the first, its properties the second. */
  function deep(level: number, [open, close, middle]: readonly [string, string, string]): unknown {
    const levels = middle === "" ? level - 2 : level - 3;
    const inner = open.repeat(levels) + middle + close.repeat(levels);
    return JSON.parse(`{"type":"track","userId":"u1","event":"E","properties":{"a":${inner}}}`);
  }

  for (const [name, kind] of Object.entries(kinds)) {
    it(`is at most 200 levels of ${name}`, () => {
      eventOf(deep(200, kind));
      assert.deepEqual(faultOf(deep(201, kind)), {
        ...{ code: "too_deep", message: "the call nests objects and arrays more than 200 levels deep; flatten it" },
      });
    });

    it(`may be far beyond that without harm, in ${name}`, () => {
      assert.equal(faultOf(deep(5_000, kind)).code, "too_deep");
      assert.equal(faultOf(deep(100_000, kind)).code, "too_deep");
    });
  }

  it("counts what the envelope adds", () => {
    const call = { type: "track", userId: "u1", event: "E" };
    const context = (levels: number): object => JSON.parse('{"a":'.repeat(levels - 1) + "{}" + "}".repeat(levels - 1));
    eventOf(call, { context: { ...context(199) } });
    assert.equal(faultOf(call, { context: { ...context(200) } }).code, "too_deep");
  });

  it("is not about width", () => {
    eventOf({ type: "track", userId: "u1", event: "E", properties: { list: Array.from({ length: 5_000 }, () => []) } });
  });
});

describe("a number that JSON cannot carry on", () => {
  function fromText(properties: string): unknown {
    return parseExactly(`{"type":"track","userId":"u1","event":"E","properties":${properties}}`);
  }

  const infinite = {
    "an exponent": "1e999",
    "an exponent with a sign": "1E+400",
    "an exponent behind a fraction": "0.001e400",
    "a sign of its own": "-1e999",
    "400 digits": "9".repeat(400),
    "309 digits": "9".repeat(309),
    "many digits and a small exponent": `${"9".repeat(250)}e99`,
    "the fewest digits that an exponent of two can make infinite": `${"9".repeat(210)}e99`,
    "zeros before the exponent": "1e0000999",
  };
  for (const [how, number] of Object.entries(infinite)) {
    it(`is refused, by ${how}, wherever it stands`, () => {
      for (const properties of [`{"a":${number}}`, `{"a":[[{"b":${number}}]]}`]) {
        const { code, message } = faultOf(fromText(properties));
        assert.equal(code, "number_out_of_range");
        assert.match(message, /send it as a string/);
      }
    });
  }

  it("is refused for its depth if it is too deep as well", () => {
    assert.equal(faultOf(fromText(`[1e999,${"[".repeat(300)}1e999${"]".repeat(300)}]`)).code, "too_deep");
  });

  it("is refused at the deepest level that is allowed", () => {
    const levels = 198;
    assert.equal(
      faultOf(fromText(`{"a":${"[".repeat(levels)}1e999${"]".repeat(levels)}}`)).code,
      "number_out_of_range",
    );
  });

  it("is harmless within a string", () => {
    for (const text of ["1e999", "9".repeat(400), "id-1E400-x"]) {
      assert.deepEqual(eventOf(fromText(`{"a":"${text}","1e999":1}`)).properties, { a: text, "1e999": 1 });
    }
  });

  it("is not one that is only large, or small", () => {
    const numbers = { a: 1.7976931348623157e308, b: -1e308, c: 5e-324, d: 0 };
    assert.deepEqual(eventOf(fromText(JSON.stringify(numbers))).properties, numbers);
    assert.equal(eventOf(fromText('{"a":1e-999}')).properties?.a, 0);
  });

  it("is not an integer with more digits than a double has, and counts by its digits", () => {
    const digits = "9".repeat(300);
    eventOf(fromText(`{"a":${digits},"b":[${"[".repeat(196)}${digits}${"]".repeat(196)}]}`));
    const many = `[${Array(107).fill(digits).join()}]`;
    const { code, message } = faultOf(fromText(`{"a":${many},"b":"${"x".repeat(1_000)}"}`));
    assert.deepEqual([code, /is 33\d{3} bytes/.test(message)], ["call_too_large", true]);
  });
});

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
  const beyond: Readonly<Record<string, unknown>> = {
    call_too_large: "x".repeat(32_768),
    too_deep: nested(100_000),
    number_out_of_range: Infinity,
  };
  for (const [code, value] of Object.entries(beyond)) {
    it(`is looked into once, and each of its calls is refused: ${code}`, () => {
      const { context, looks } = watched(value);
      const arrival = makeArrival({ context });
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
      "the envelope's context and integrations (10040 bytes) apply to 420 calls, and all copies together may have at most 4MB: send smaller batches",
    );
    assert.ok(!isFault(validateCall(TRACK, makeArrival({ context, calls: 400 }))));
  });

  it("says nothing of the next request's", () => {
    assert.equal(faultOf(TRACK, { context: { a: "x".repeat(32_768) } }).code, "call_too_large");
    assert.ok(!isFault(validateCall(TRACK, makeArrival({ context: { a: "x" } }))));
  });
});
