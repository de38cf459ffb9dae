import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wantsColors } from "../../src/runtime/colors.ts";

describe("colours", () => {
  it("are for terminals that have them", () => {
    assert.equal(wantsColors({ TERM: "xterm-256color" }, true), true);
    assert.equal(wantsColors({}, true), true);
    assert.equal(wantsColors({ TERM: "dumb" }, true), false);
    assert.equal(wantsColors({ TERM: "xterm-256color" }, false), false);
  });

  it("can be forced, and forced off", () => {
    assert.equal(wantsColors({ FORCE_COLOR: "1" }, false), true);
    assert.equal(wantsColors({ FORCE_COLOR: "3", TERM: "dumb" }, true), true);
    assert.equal(wantsColors({ FORCE_COLOR: "0" }, true), false);
    assert.equal(wantsColors({ FORCE_COLOR: "false" }, true), false);
  });

  it("are off with NO_COLOR, whatever it is set to; empty is not set", () => {
    assert.equal(wantsColors({ NO_COLOR: "1" }, true), false);
    assert.equal(wantsColors({ NO_COLOR: "0", FORCE_COLOR: "1" }, true), false);
    assert.equal(wantsColors({ NO_COLOR: "", FORCE_COLOR: "" }, true), true);
  });
});
