import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { editDistance, suggest } from "../../src/config/suggest.ts";

const KEYS = ["ingest", "admin", "outbox", "delivery", "log", "sources", "destinations"];

describe("suggest", () => {
  it("finds the key that was meant", () => {
    const slips = ["desinations", "destination", "Sources", "souces", "admni", "lgo", "logs", "delivry"];
    assert.deepEqual(
      slips.map((slip) => suggest(slip, KEYS)),
      ["destinations", "destinations", "sources", "sources", "admin", "log", "log", "delivery"],
    );
  });

  it("keeps quiet when nothing is near", () => {
    for (const word of ["tls", "webhooks", "", "x", "a".repeat(1_000_000)]) assert.equal(suggest(word, KEYS), null);
  });

  it("overlooks no word that is near, whatever it leaves out to be quick", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c", "D", "é", "🙂"), maxLength: 12 });
    fc.assert(
      fc.property(word, word, (written, known) => {
        const distance = editDistance(written.toLowerCase(), known.toLowerCase());
        const isNear = distance <= Math.max(1, Math.floor(written.length / 3));
        assert.equal(suggest(written, [known]), isNear ? known : null);
      }),
      { numRuns: 2_000 },
    );
  });

  it("prefers the nearest", () => {
    assert.equal(suggest("types", ["type", "types"]), "types");
    assert.equal(suggest("tipe", ["types", "type"]), "type");
  });
});

describe("editDistance", () => {
  it("counts letters that were added, left out, changed and swapped", () => {
    const pairs: [string, string, number][] = [
      ["", "", 0],
      ["", "abc", 3],
      ["abc", "", 3],
      ["abc", "abc", 0],
      ["abc", "abxc", 1],
      ["abc", "ac", 1],
      ["abc", "axc", 1],
      ["abc", "acb", 1],
      ["kitten", "sitting", 3],
    ];
    for (const [from, to, distance] of pairs) assert.equal(editDistance(from, to), distance, `${from} → ${to}`);
  });
});
