import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isLongInteger, parseExactly } from "../../src/model/json.ts";

/** What comes out when a text is parsed and written again. */
function again(text: string): string {
  return JSON.stringify(parseExactly(text));
}

const spaces = fc.constantFrom("", "", "", " ", "\n\t ");
const word = fc.oneof(
  fc.string(),
  fc.constantFrom('"', "\\", '\\"', ",12345678901234567890,", ':9007199254740993}"', "__proto__"),
);
/** V8 15.0 (Deno 2.9) takes the key `"` for the key `\\` where it has parsed an object with that one before. */
const name = word.filter((text) => !text.includes("\\"));
const long = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String);
const scalar = fc.oneof(
  long,
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => JSON.stringify(one)),
  fc.constantFrom("true", "null", "0.1234567890123456", "1234567890123456", "9007199254740992"),
  word.map((text) => JSON.stringify(text)),
);
/** A compact JSON text that JavaScript would write the same way, and the same with spaces. */
const { value: anyText } = fc.letrec<{ value: { compact: string; spaced: string } }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    scalar.map((one) => ({ compact: one, spaced: one })),
    fc.tuple(spaces, fc.array(tie("value"), { maxLength: 5 })).map(([space, items]) => ({
      compact: `[${items.map(({ compact }) => compact).join()}]`,
      spaced: `[${space}${items.map(({ spaced }) => spaced).join(`${space},${space}`)}${space}]`,
    })),
    fc
      .tuple(spaces, fc.uniqueArray(fc.tuple(name, tie("value")), { maxLength: 5, selector: ([key]) => key }))
      .map(([space, fields]) => {
        const named = fields
          .filter(([key]) => !/^\d+$/.test(key))
          .map(([key, one]) => [JSON.stringify(key), one] as const);
        return {
          compact: `{${named.map(([key, { compact }]) => `${key}:${compact}`).join()}}`,
          spaced: `{${space}${named.map(([key, { spaced }]) => `${key}${space}:${space}${spaced}`).join(`,${space}`)}${space}}`,
        };
      }),
  ),
}));

describe("integers beyond 2^53", () => {
  it("keep their digits, wherever they stand, and all else is as JSON.parse has it", () => {
    let longOnes = 0;
    fc.assert(
      fc.property(anyText, ({ compact, spaced }) => {
        assert.equal(again(compact), compact);
        assert.equal(again(spaced), compact);
        if (JSON.stringify(JSON.parse(compact)) !== compact) longOnes += 1;
      }),
      { numRuns: 1_000 },
    );
    assert.ok(longOnes > 100, `only ${longOnes} texts had one`);
  });

  it("are known as such, and no other value is", () => {
    const [long, exact, short, text, object] = parseExactly(
      '[9007199254740993,9007199254740992,9007199254740991,"9007199254740993",{"rawJSON":"1"}]',
    ) as unknown[];
    assert.ok(isLongInteger(long) && isLongInteger(exact));
    assert.ok([short, text, object, null, undefined].every((one) => !isLongInteger(one)));
  });

  it("count once where a key comes twice", () => {
    assert.equal(
      again('{"a":12345678901234567890,"a":1,"b":1,"b":12345678901234567890}'),
      '{"a":1,"b":12345678901234567890}',
    );
  });

  it("are no fractions, no powers, and nothing beyond a double", () => {
    const text = `[12345678901234567890.5,12345678901234567890e1,1e-1234567890123456789,${"9".repeat(309)}]`;
    assert.deepEqual(parseExactly(text), JSON.parse(text));
  });

  it("are found at any depth that JSON.parse reads", () => {
    const text = `${"[".repeat(20_000)}12345678901234567890${"]".repeat(20_000)}`;
    let value = parseExactly(text);
    while (Array.isArray(value)) [value] = value;
    assert.ok(isLongInteger(value));
  });

  it("do not make JSON of what is none", () => {
    for (const text of [
      "12345678901234567890,",
      "0x12345678901234567890",
      "{12345678901234567890:1}",
      '"12345678901234567890',
      "[-]",
    ]) {
      assert.throws(() => parseExactly(text), SyntaxError);
    }
  });
});
