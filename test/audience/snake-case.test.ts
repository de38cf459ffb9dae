import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { snakeCase } from "../../src/audience/audiences.ts";
import { SLOW } from "../slow.ts";

const NAMES: Readonly<Record<string, string>> = {
  "Big Spenders": "big_spenders",
  bigSpenders: "big_spenders",
  "big-spenders": "big_spenders",
  BIG_SPENDERS: "big_spenders",
  "HTTPServer v2": "http_server_v2",
  Top10Users: "top10_users",
  "  30 days, active!  ": "30_days_active",
  __proto__: "proto",
  "Größe ÄÖÜ": "größe_äöü",
  "Ｆｕｌｌ Width": "full_width",
  ﬁne: "fine",
  "Ürün ℃": "ürün_c",
  "Ελληνικά ΌΡΟΣ": "ελληνικά_όρος",
  "большие Покупатели": "большие_покупатели",
  "हिन्दी नाम": "हिन्दी_नाम",
  "高额 客户": "高额_客户",
  İstanbul: "i̇stanbul",
  "★": "u2605",
  "👍🏽": "u1f44d_u1f3fd",
  "-": "u2d",
  "\ud800": "ud800",
  "": "unnamed",
};

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 }).map((units) => String.fromCharCode(...units)),
);

describe("snake_case of a name (SPEC.md 6)", () => {
  for (const [name, key] of Object.entries(NAMES)) {
    it(`of ${JSON.stringify(name)} is ${key}`, () => assert.equal(snakeCase(name), key));
  }

  it("is letters, their marks, digits and single _ between them, and never empty", () => {
    fc.assert(
      fc.property(anyText, (name) => {
        assert.match(snakeCase(name), /^[\p{L}\p{N}\p{M}]+(_[\p{L}\p{N}\p{M}]+)*$/u);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is the same of what it has made", () => {
    fc.assert(
      fc.property(anyText, (name) => assert.equal(snakeCase(snakeCase(name)), snakeCase(name))),
      { numRuns: 2_000 },
    );
  });

  it("is so for every character there is", SLOW, () => {
    const wrong: string[] = [];
    for (let code = 0; code <= 0x10ffff; code += 1) {
      // Planes 4 to 13 have no characters.
      if (code === 0x4_0000) code = 0xe_0000;
      const character = String.fromCodePoint(code);
      for (const name of [character, `a${character}B`]) {
        const key = snakeCase(name);
        if (!/^[\p{L}\p{N}\p{M}]+(_[\p{L}\p{N}\p{M}]+)*$/u.test(key) || snakeCase(key) !== key)
          wrong.push(code.toString(16));
      }
    }
    assert.deepEqual(wrong, []);
  });
});
