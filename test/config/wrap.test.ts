import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wrapComments } from "../../packaging/config-example.ts";

describe("wrapComments", () => {
  it("breaks a long comment between words, and keeps what stands before it", () => {
    assert.deepEqual(wrapComments(["  # one two three four"], 13), ["  # one two", "  # three", "  # four"]);
    assert.deepEqual(wrapComments(["#   # one two three"], 13), ["#   # one two", "#   # three"]);
  });

  it("uses every column it may, and none more", () => {
    assert.deepEqual(wrapComments(["# one two"], 9), ["# one two"]);
    assert.deepEqual(wrapComments(["# one two"], 8), ["# one", "# two"]);
  });

  it("keeps together what is in backquotes, and a word that is too long", () => {
    assert.deepEqual(wrapComments(["# run `a b c`. Then overflowing"], 10), [
      ...["# run", "# `a b c`.", "# Then", "# overflowing"],
    ]);
  });

  it("leaves what is no comment as it is", () => {
    assert.deepEqual(wrapComments(["key: a # b c d e"], 8), ["key: a # b c d e"]);
  });
});
