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

  it("may nest 1,000 levels deep, however many brackets it has", () => {
    const deep = "[".repeat(999) + "]".repeat(999);
    for (const text of [
      `[${deep}]`,
      `[${Array(200).fill(deep).join()}]`,
      '{"a":'.repeat(1_000) + "1" + "}".repeat(1_000),
    ]) {
      assert.ok("value" in parseJson(text));
    }
  });

  it("is refused beyond, before it is parsed: whole, unfinished, and with anything in between", () => {
    const deep = [
      "[".repeat(1_001) + "]".repeat(1_001),
      "[".repeat(500_000),
      '{"a":'.repeat(1_001),
      '[1,{"x":[],"y":'.repeat(501),
    ];
    const parse = JSON.parse;
    let parsed = 0;
    JSON.parse = (...given) => {
      parsed += 1;
      return parse(...given);
    };
    try {
      for (const text of deep) {
        const result = parseJson(text);
        assert.ok(isFault(result), text.slice(0, 20));
        const message = "the JSON nests objects and arrays more than 1,000 levels deep; flatten it";
        assert.deepEqual([result.code, result.message], ["too_deep", message]);
      }
    } finally {
      JSON.parse = parse;
    }
    assert.equal(parsed, 0);
  });

  it("has brackets in its strings that do not count, whatever they are escaped with", () => {
    for (const inner of [
      "[".repeat(3_000),
      `"${"{".repeat(3_000)}`,
      `\\${"[".repeat(3_000)}\\`,
      `\\"${"[{".repeat(3_000)}`,
    ]) {
      assert.deepEqual(parseJson(JSON.stringify({ [inner]: inner })), { value: { [inner]: inner } });
    }
    // Those that close, in turn, close nothing.
    const hidden = '["]",'.repeat(1_001);
    assert.partialDeepStrictEqual(parseJson(hidden), { code: "too_deep" });
    assert.partialDeepStrictEqual(parseJson(`["\\\\",${hidden}`), { code: "too_deep" });
  });

  it("is refused for its depth exactly where it has that, and is no JSON or a value otherwise", () => {
    const piece = fc.constantFrom("[", "[", "{", '{"a":', "]", "}", '"', '\\"', "\\\\", "x");
    fc.assert(
      fc.property(fc.array(piece, { minLength: 20, maxLength: 80 }), (pieces) => {
        // Repeated, so that the brackets are many.
        const text = pieces.join("").repeat(200);
        const result = parseJson(text);
        assert.equal("code" in result && result.code === "too_deep", depthOf(text) > 1_000);
      }),
      { numRuns: 60 },
    );
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
});

/** The deepest level of a text, read letter by letter. */
function depthOf(text: string): number {
  let [depth, deepest, quoted, escaped] = [0, 0, false, false];
  for (const letter of text) {
    if (quoted) {
      if (!escaped && letter === '"') quoted = false;
      escaped = !escaped && letter === "\\";
    } else if (letter === '"') quoted = true;
    else if (letter === "[" || letter === "{") depth += 1;
    else if (letter === "]" || letter === "}") depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
