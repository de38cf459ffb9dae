import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Attempt, NO_ATTEMPTS, withAttempts } from "../../src/model/delivery.ts";

function attempts(from: number, count: number): readonly Attempt[] {
  return Array.from({ length: count }, (_, n) => ({
    ...{ at: from + n, url: "https://a.example.com/", duration: 1, outcome: "retry", status: 503, reason: "503" },
    ...{ answer: "busy", trigger: "retry" },
  }));
}

describe("the log of attempts", () => {
  it("keeps the first five and the last five, and counts the others", () => {
    const log = attempts(1, 23).reduce((so, one) => withAttempts(so, [one]), NO_ATTEMPTS);
    assert.deepEqual(log, { first: attempts(1, 5), omitted: 13, last: attempts(19, 5) });
  });

  it("keeps all of them while they are ten at most", () => {
    assert.deepEqual(withAttempts(NO_ATTEMPTS, attempts(1, 5)), { first: attempts(1, 5), omitted: 0, last: [] });
    const ten = withAttempts(withAttempts(NO_ATTEMPTS, attempts(1, 4)), attempts(5, 6));
    assert.deepEqual(ten, { first: attempts(1, 5), omitted: 0, last: attempts(6, 5) });
    assert.deepEqual(withAttempts(ten, attempts(11, 1)), { first: attempts(1, 5), omitted: 1, last: attempts(7, 5) });
  });
});
