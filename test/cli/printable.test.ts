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

  it("cannot hide anything, nor be what it does not look like", () => {
    assert.equal(printable("a\u200bb\u00adc\ufeffd\u2060e\u2063f"), "a\\u200bb\\u00adc\\ufeffd\\u2060e\\u2063f");
    assert.equal(printable("a\u{e0041}b"), "a\\udb40\\udc41b");
    assert.equal(printable("a\ud800"), "a\\ud800");
    assert.equal(JSON.parse(`"${printable("\u{e0041}\u009b\u202e")}"`), "\u{e0041}\u009b\u202e");
  });

  it("is left as it is, whatever its language", () => {
    const text = "Größe 日本語 🦊 עברית e\u0301";
    assert.equal(printable(text), text);
  });
});
