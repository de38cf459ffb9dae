import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isYes } from "../../../src/cli/unserved/confirm.ts";
import { aboutOf, complaintOf, progressOf } from "../../../src/cli/unserved/words.ts";

describe("what waits", () => {
  it("is said in a person's words", () => {
    assert.equal(aboutOf(0, "old"), "No delivery waits for old");
    assert.equal(aboutOf(1, "old"), "1 delivery waits for old");
    assert.equal(aboutOf(1_234_567, "old"), "1,234,567 deliveries wait for old");
    assert.equal(aboutOf(2, "old\u001b[2J"), "2 deliveries wait for old\\u001b[2J");
  });

  it("may be more by now than was counted", () => {
    assert.equal(progressOf(500, 1_234), "500 of 1,234");
    assert.equal(progressOf(1_236, 1_234), "1,236 of 1,236");
  });
});

describe("what was not finished", () => {
  const progress = { done: 500, waiting: 1_234 };

  it("says how far it came", () => {
    assert.deepEqual(complaintOf("interrupted", progress), {
      ...{ code: 1, message: "interrupted: 500 of 1,234 are done, the others go on waiting", error: "interrupted" },
    });
    const why = { code: 1, message: "crm is served now" } as const;
    assert.equal(complaintOf(why, progress).message, "crm is served now; 500 of 1,234 were done before");
    assert.equal(complaintOf(why, { ...progress, done: 0 }), why);
  });
});

describe("an answer", () => {
  it("is a yes only if it says so", () => {
    for (const yes of ["y", "Y", " yes ", "YES\r"]) assert.ok(isYes(yes), yes);
    for (const no of ["", "n", "no", "yep", "yesterday", "y n"]) assert.ok(!isYes(no), no);
  });
});
