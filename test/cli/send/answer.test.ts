import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Answer, toJson, toWords } from "../../../src/cli/send/answer.ts";
import { UnreachableError } from "../../../src/cli/send/fetch.ts";
import { sendCall } from "../../../src/cli/send/one.ts";
import { type Answered, makeSendWorld, TARGET } from "./world.ts";

const SENT = { type: "track", messageId: "send-1", base: TARGET.base } as const;

function answered(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answered {
  return { status, body, headers };
}

function read(came: Answered | Error, isWhole = true): Promise<Answer> {
  const call = { userId: "u", event: "E", messageId: "send-1" };
  return sendCall(
    { type: "track", call, isWhole },
    TARGET,
    makeSendWorld(() => came),
  );
}

async function wordsFor(came: Answered | Error): Promise<string> {
  return toWords(await read(came), SENT);
}

async function jsonFor(came: Answered | Error): Promise<unknown> {
  return JSON.parse(toJson(await read(came), SENT));
}

const TAKEN = answered(200, { success: true, accepted: 1, duplicate: 0 });
const REPEATED = answered(200, { success: true, accepted: 0, duplicate: 1 });
const REFUSED = answered(401, { success: false, code: "unknown_write_key", message: "no source has this write key" });
const REFUSED_CONNECTION = new UnreachableError({ kind: "failed", code: "ECONNREFUSED", reason: "connection refused" });

describe("the answer to a call, in words", () => {
  it("says that it was accepted, and by which id to look for it", async () => {
    assert.match(await wordsFor(TAKEN), /^accepted: track, messageId send-1\n(.*\n)+ {2}fairlead explain send-1$/);
  });

  it("says that it had been there before, and how to send a new one", async () => {
    assert.match(
      await wordsFor(REPEATED),
      /^duplicate: track, messageId send-1\n.*--message-id(.*\n)+ {2}fairlead explain send-1$/,
    );
  });

  it("gives the daemon's code and message of a refusal", async () => {
    const words = "http://127.0.0.1:8080 refused the call with 401 unknown_write_key: no source has this write key";
    assert.equal(await wordsFor(REFUSED), words);
  });

  it("gives those of a call that is refused alone of its batch", async () => {
    const rejected = [{ index: 0, messageId: "send-1", code: "too_deep", message: "flatten it" }];
    const answer = await read(answered(200, { success: true, accepted: 0, duplicate: 0, rejected }), false);
    assert.equal(toWords(answer, SENT), "http://127.0.0.1:8080 refused the call: too_deep: flatten it");
    const json = { messageId: "send-1", status: 200, success: false, code: "too_deep", message: "flatten it" };
    assert.deepEqual(JSON.parse(toJson(answer, SENT)), json);
  });

  it("says when to try again, if the daemon does", async () => {
    const full = answered(503, { code: "store_full", message: "the store is full" }, { "Retry-After": "5" });
    assert.match(await wordsFor(full), /503 store_full: the store is full; try again in 5 s$/);
  });

  it("asks whether the daemon runs if nobody listens there", async () => {
    const words = "cannot reach http://127.0.0.1:8080: connection refused; is `fairlead serve` running?";
    assert.equal(await wordsFor(REFUSED_CONNECTION), words);
    const late = await wordsFor(new UnreachableError({ kind: "failed", code: null, reason: "no answer within 10s" }));
    assert.equal(late, "cannot reach http://127.0.0.1:8080: no answer within 10s");
  });

  it("takes no other program's answer for one of Fairlead", async () => {
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
      answered(200, { accepted: 0, duplicate: 0 }),
      answered(200, { accepted: 20, duplicate: 0 }),
    ];
    for (const other of others) assert.equal((await read(other)).kind, "foreign", JSON.stringify(other));
    assert.match(
      await wordsFor(answered(404, "not found")),
      /^http:\/\/127\.0\.0\.1:8080 answered 404, and not as Fairlead does;/,
    );
  });

  it("does not let a foreign server write to the terminal", async () => {
    const words = await wordsFor(answered(400, { code: "\u001b[31m", message: "\u001b[2J" }, { "Retry-After": "5" }));
    assert.ok(!words.includes("\u001b"));
  });
});

describe("the answer to a call, as JSON", () => {
  it("is the daemon's own, with the messageId", async () => {
    const accepted = { messageId: "send-1", status: 200, success: true, accepted: 1, duplicate: 0 };
    assert.deepEqual(await jsonFor(TAKEN), accepted);
    assert.partialDeepStrictEqual(await jsonFor(REFUSED), {
      messageId: "send-1",
      status: 401,
      code: "unknown_write_key",
    });
  });

  it("has the same shape when there is none", async () => {
    assert.deepEqual(await jsonFor(REFUSED_CONNECTION), {
      messageId: "send-1",
      status: null,
      success: false,
      code: "unreachable",
      message: "cannot reach http://127.0.0.1:8080: connection refused; is `fairlead serve` running?",
    });
    assert.partialDeepStrictEqual(await jsonFor(answered(404, "")), {
      status: 404,
      success: false,
      code: "not_fairlead",
    });
  });
});
