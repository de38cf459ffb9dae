import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseJson } from "../../src/http/json.ts";
import { isFault } from "../../src/model/fault.ts";

describe("a JSON text", () => {
  it("may be any value", () => {
    for (const text of ["null", "7", '"x"', "[]", "{}", " true "]) {
      assert.deepEqual(parseJson(text), { value: JSON.parse(text) });
    }
  });

  it("is refused when it is none", () => {
    for (const text of ["", " ", "{", "undefined", "{'a':1}", '{"a":1,}', "NaN", '{"a":01}', "\u0000", "{}{}"]) {
      const result = parseJson(text);
      if (!isFault(result)) return assert.fail(`${text} was taken`);
      assert.equal(result.code, "invalid_json");
      assert.match(result.message, /^the body is not JSON: (it is empty|expected .* at line \d, column \d+)/);
    }
  });

  const places = {
    '{"batch":[{"userId":"u",\n "n":1,}]}': "expected a key in double quotes at line 2, column 8",
    '{"properties":{"score":NaN}}':
      "expected a value at line 1, column 24 (got NaN, which JSON does not have: send null, or leave it out)",
    "[-Infinity]":
      'expected a value or "]" at line 1, column 2 (got -Infinity, which JSON does not have: send null, or leave it out)',
    '{"secret":"ein Wort","n":tru}': "expected a value at line 1, column 26",
    '{"batch":[': 'expected a value or "]" at line 1, column 11',
  };
  for (const [text, where] of Object.entries(places)) {
    it(`is refused with its place, and with nothing of what it says: ${text}`, () => {
      const result = parseJson(text);
      assert.equal("message" in result && result.message, `the body is not JSON: ${where}`);
    });
  }

  it("may nest deeply without harm", () => {
    const result = parseJson("[".repeat(200_000) + "]".repeat(200_000));
    assert.ok("value" in result || result.code === "too_deep");
  });

  it("is a value or a fault, whatever it is", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json()), (text) => {
        const result = parseJson(text);
        assert.ok("value" in result || result.code === "invalid_json");
      }),
    );
  });
});
