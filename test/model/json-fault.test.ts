import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { findJsonFault } from "../../src/model/json.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The text up to the fault, and what should come then. */
function faultOf(text: string): string {
  const fault = findJsonFault(text);
  assert.ok(fault, `${text} has no fault`);
  return `${text.slice(0, fault.at)} <- ${fault.expected}`;
}

describe("the first fault in a text that is not JSON", () => {
  it("is where the shell has taken the quotes away", () => {
    assert.equal(faultOf("{plan:pro}"), '{ <- a key in double quotes, or "}"');
    assert.equal(faultOf('{"plan":pro}'), '{"plan": <- a value');
  });

  it("is the single quote, the comma at the end, and the missing comma of people who write JavaScript", () => {
    assert.equal(faultOf("{'a':1}"), '{ <- a key in double quotes, or "}"');
    assert.equal(faultOf('{"a":1,}'), '{"a":1, <- a key in double quotes');
    assert.equal(faultOf("[1,]"), "[1, <- a value");
    assert.equal(faultOf('{"a":1 "b":2}'), '{"a":1  <- "," or "}"');
    assert.equal(faultOf('["a" "b"]'), '["a"  <- "," or "]"');
    assert.equal(faultOf('{"a" 1}'), '{"a"  <- ":"');
  });

  it("is the end of what is not complete", () => {
    assert.equal(faultOf(""), " <- a value");
    assert.equal(faultOf('{"a":[1'), '{"a":[1 <- "," or "]"');
    assert.equal(faultOf('"abc'), '"abc <- a closing double quote');
    assert.equal(faultOf("["), '[ <- a value or "]"');
  });

  it("is what follows a value that is complete", () => {
    assert.equal(faultOf("{} {}"), "{}  <- nothing more");
    assert.equal(faultOf("[]]"), "[] <- nothing more");
    assert.equal(faultOf("01"), "0 <- nothing more");
  });

  it("is the escape or the line break in a string that JSON does not have", () => {
    assert.equal(faultOf('"C:\\dir"'), '"C: <- an escape of JSON, such as \\\\ or \\u00e9');
    assert.equal(faultOf('"a\nb"'), '"a <- an escape, such as \\n for a line break');
  });

  it("is found in JSON that is nested deeper than any stack", () => {
    assert.equal(findJsonFault("[".repeat(300_000))?.at, 300_000);
    assert.equal(findJsonFault(`${"[".repeat(300_000)}${"]".repeat(300_000)}`), null);
  });

  it("is there exactly when the runtime's own parser refuses the text", () => {
    const scraps = fc.constantFrom(
      '{"a":',
      "{",
      "}",
      "[",
      "]",
      ",",
      '"a"',
      ":",
      "1",
      "-",
      "1.5e3",
      "tru",
      "null",
      " ",
      "\\",
    );
    const broken = fc.array(scraps, { maxLength: 8 }).map((some) => some.join(""));
    const mutated = fc.tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 })).map(([json, at, text]) => {
      const place = at % (json.length + 1);
      return json.slice(0, place) + text + json.slice(place + text.length);
    });
    fc.assert(
      fc.property(fc.oneof(broken, mutated, fc.json()), (text) => {
        assert.equal(findJsonFault(text) === null, isJson(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it("is never beyond a character that JSON has nowhere", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (json, at) => {
        const place = at % (json.length + 1);
        const fault = findJsonFault(`${json.slice(0, place)}\u0001${json.slice(place)}`);
        assert.ok(fault && fault.at <= place);
      }),
    );
  });
});
