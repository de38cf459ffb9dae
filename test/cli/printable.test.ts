import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { printable } from "../../src/cli/printable.ts";

describe("text of others", () => {
  it("cannot move the cursor, ring, or change colours", () => {
    assert.equal(printable("a\u001b[2Jb\u0007\r\n\u009b1m"), "a\\u001b[2Jb\\u0007\\u000d\\u000a\\u009b1m");
  });

  it("cannot turn the direction of writing", () => {
    assert.equal(printable("a\u202egpj.exe\u2066b\u200f"), "a\\u202egpj.exe\\u2066b\\u200f");
  });

  it("is left as it is, whatever its language", () => {
    const text = "Größe 日本語 🦊 עברית e\u0301";
    assert.equal(printable(text), text);
  });
});
