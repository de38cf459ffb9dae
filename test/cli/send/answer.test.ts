import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readAnswer, toJson, toWords } from "../../../src/cli/send/answer.ts";
import type { Exchange } from "../../../src/runtime/request.ts";

const SENT = { type: "track", messageId: "send-1", base: "http://127.0.0.1:8080" } as const;

function answered(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Exchange {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { kind: "answered", status, headers: new Headers(headers), text };
}

function wordsFor(exchange: Exchange): string {
  return toWords(readAnswer(exchange), SENT);
}

function jsonFor(exchange: Exchange): unknown {
  return JSON.parse(toJson(readAnswer(exchange), SENT));
}

const TAKEN = answered(200, { success: true, accepted: 1, duplicate: 0 });
const REPEATED = answered(200, { success: true, accepted: 0, duplicate: 1 });
const REFUSED = answered(401, { success: false, code: "unknown_write_key", message: "no source has this write key" });
const REFUSED_CONNECTION = { kind: "failed", code: "ECONNREFUSED", reason: "connection refused" } as const;

describe("the answer to a call, in words", () => {
  it("says that it was accepted, and by which id to look for it", () => {
    assert.match(wordsFor(TAKEN), /^accepted: track, messageId send-1\nnext: /);
  });

  it("says that it had been there before, and how to send a new one", () => {
    assert.match(wordsFor(REPEATED), /^duplicate: track, messageId send-1\nnext: .*--message-id/s);
  });

  it("gives the daemon's code and message of a refusal", () => {
    const words = "http://127.0.0.1:8080 refused the call with 401 unknown_write_key: no source has this write key";
    assert.equal(wordsFor(REFUSED), words);
  });

  it("says when to try again, if the daemon does", () => {
    const full = answered(503, { code: "store_full", message: "the store is full" }, { "Retry-After": "5" });
    assert.match(wordsFor(full), /503 store_full: the store is full; try again in 5 s$/);
  });

  it("asks whether the daemon runs if nobody listens there", () => {
    const words = "cannot reach http://127.0.0.1:8080: connection refused; is `fairlead serve` running?";
    assert.equal(wordsFor(REFUSED_CONNECTION), words);
    const late = wordsFor({ kind: "failed", code: null, reason: "no answer within 10s" });
    assert.equal(late, "cannot reach http://127.0.0.1:8080: no answer within 10s");
  });

  it("takes no other program's answer for one of Fairlead", () => {
    const others = [
      answered(200, "<html>"),
      answered(200, ""),
      answered(200, { ok: true }),
      answered(200, null),
      answered(200, [1]),
      answered(404, "not found"),
      answered(302, { code: "x", message: "y" }),
      answered(500, { code: 5, message: "y" }),
      answered(204, { accepted: 1, duplicate: 0 }),
    ];
    for (const other of others) assert.equal(readAnswer(other).kind, "foreign");
    assert.match(
      wordsFor(answered(404, "not found")),
      /^http:\/\/127\.0\.0\.1:8080 answered 404, and not as Fairlead does;/,
    );
  });

  it("does not let a foreign server write to the terminal", () => {
    const words = wordsFor(answered(400, { code: "\u001b[31m", message: "\u001b[2J" }, { "Retry-After": "5" }));
    assert.ok(!words.includes("\u001b"));
  });
});

describe("the answer to a call, as JSON", () => {
  it("is the daemon's own, with the messageId", () => {
    const accepted = { messageId: "send-1", status: 200, success: true, accepted: 1, duplicate: 0 };
    assert.deepEqual(jsonFor(TAKEN), accepted);
    assert.partialDeepStrictEqual(jsonFor(REFUSED), { messageId: "send-1", status: 401, code: "unknown_write_key" });
  });

  it("has the same shape when there is none", () => {
    assert.deepEqual(jsonFor(REFUSED_CONNECTION), {
      messageId: "send-1",
      status: null,
      success: false,
      code: "unreachable",
      message: "cannot reach http://127.0.0.1:8080: connection refused; is `fairlead serve` running?",
    });
    assert.partialDeepStrictEqual(jsonFor(answered(404, "")), { status: 404, success: false, code: "not_fairlead" });
  });
});
