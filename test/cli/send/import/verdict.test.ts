import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readVerdict, type Verdict } from "../../../../src/cli/send/import/verdict.ts";

function verdictOf(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Verdict {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return readVerdict({ kind: "answered", status, headers: new Headers(headers), text });
}

const REFUSAL = { success: false, code: "some_code", message: "for a reason" };

describe("what comes back for a batch", () => {
  it("is what was taken, and which calls were not", () => {
    const none = { kind: "taken", accepted: 2, duplicate: 1, rejected: [] };
    assert.deepEqual(verdictOf(200, { success: true, accepted: 2, duplicate: 1 }), none);
    const rejected = [{ index: 1, messageId: "m", code: "missing_event", message: "You must pass 'event'." }];
    assert.deepEqual(verdictOf(200, { success: true, accepted: 2, duplicate: 1, rejected }), { ...none, rejected });
  });

  it("may be that it is to come later, and when", () => {
    for (const status of [408, 425, 429, 500, 502, 503]) {
      const why = `answers ${status} some_code: for a reason`;
      assert.deepEqual(verdictOf(status, REFUSAL, { "Retry-After": "7" }), {
        kind: "later",
        why,
        wait: 7_000,
        nobody: false,
      });
    }
    assert.deepEqual(verdictOf(502, "<html>"), { kind: "later", why: "answers 502", wait: 0, nobody: false });
    assert.partialDeepStrictEqual(verdictOf(503, REFUSAL, { "Retry-After": "9999" }), { wait: 300_000 });
    assert.partialDeepStrictEqual(verdictOf(503, REFUSAL, { "Retry-After": "soon" }), { wait: 0 });
  });

  it("may be nothing: nobody is there, or the connection broke", () => {
    const nobody = readVerdict({ kind: "failed", code: "ECONNREFUSED", reason: "connection refused" });
    assert.deepEqual(nobody, { kind: "later", why: "cannot be reached: connection refused", wait: 0, nobody: true });
    const broken = readVerdict({ kind: "failed", code: "ECONNRESET", reason: "connection reset" });
    assert.partialDeepStrictEqual(broken, { kind: "later", nobody: false });
  });

  it("may be that something in it is wrong", () => {
    assert.deepEqual(verdictOf(400, REFUSAL), { kind: "unfit", code: "some_code", message: "for a reason" });
    assert.partialDeepStrictEqual(verdictOf(413, "<html>"), { kind: "unfit", code: "body_too_large" });
  });

  it("may be that it is of no use to go on, and is safe to print", () => {
    assert.deepEqual(verdictOf(401, REFUSAL), { kind: "useless", why: "answers 401 some_code: for a reason" });
    const foreign = "answers 404, and not as Fairlead does; is that its address?";
    assert.deepEqual(verdictOf(404, "<html>"), { kind: "useless", why: foreign });
    for (const odd of ["ok", "", "{}", '{"accepted":1}', '{"accepted":1,"duplicate":0,"rejected":[{}]}']) {
      assert.equal(verdictOf(200, odd).kind, "useless", odd);
    }
    const evil = verdictOf(401, { code: "x", message: "\u001b[2J" });
    assert.deepEqual(evil, { kind: "useless", why: "answers 401 x: \\u001b[2J" });
  });
});
