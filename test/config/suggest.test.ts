import assert from "node:assert/strict";
import { describe, it } from "node:test";
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
