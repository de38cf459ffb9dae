import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Answer, type OneCall, sendCall, toJson, toWords } from "../../../src/cli/send/answer.ts";
import { UnreachableError } from "../../../src/cli/send/sender.ts";
import { LIBRARY } from "../../../src/client/envelope.ts";
import { Secret } from "../../../src/model/secret.ts";
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
    const words = "cannot reach http://127.0.0.1:8080: connection refused; is fairlead serve running?";
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
      /^http:\/\/127\.0\.0\.1:8080 answered 404, which is not an answer of Fairlead's ingest listener;/,
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
      message: "cannot reach http://127.0.0.1:8080: connection refused; is fairlead serve running?",
    });
    assert.partialDeepStrictEqual(await jsonFor(answered(404, "")), {
      status: 404,
      success: false,
      code: "not_fairlead",
    });
  });
});

const SENT_ONE = { type: "track", messageId: "m1", base: TARGET.base } as const;
const TAKES_ONE: Answered = { status: 200, body: { success: true, accepted: 1, duplicate: 0 } };
const MADE: OneCall = { type: "track", call: { userId: "u", event: "E", messageId: "m1" }, isWhole: false };

async function send(one: OneCall, reply: Answered = TAKES_ONE) {
  const world = makeSendWorld(() => reply);
  const answer = await sendCall(one, TARGET, world);
  return { answer, came: world.came, first: JSON.parse(world.came[0]?.body ?? "null") };
}

describe("a call that is made of options", () => {
  it("goes out as the library sends it", async () => {
    const { answer, came, first } = await send(MADE);
    assert.equal(answer.kind, "accepted");
    assert.equal(came[0]?.url, "http://127.0.0.1:8080/v1/batch");
    assert.equal(came[0]?.headers.Authorization, `Basic ${btoa("key:")}`);
    const timestamp = "2026-11-20T12:00:00.000Z";
    assert.partialDeepStrictEqual(first, {
      context: { library: LIBRARY },
      batch: [{ type: "track", messageId: "m1", timestamp, userId: "u", event: "E" }],
      sentAt: timestamp,
    });
  });

  it("keeps the time that its user has said: the daemon corrects only what comes with a sentAt", async () => {
    const timestamp = "2020-01-02T03:04:05Z";
    const { first } = await send({ ...MADE, call: { ...MADE.call, timestamp } });
    assert.equal(first.batch[0].timestamp, timestamp);
    assert.equal("sentAt" in first, false);
  });

  it("is not sent if it breaks the library's rules, and its sentence is told", async () => {
    const { answer, came } = await send({ ...MADE, call: { ...MADE.call, userId: "" } });
    assert.deepEqual(came, []);
    const message = "You must pass either an 'anonymousId' or 'userId'.";
    assert.match(
      toWords(answer, SENT_ONE),
      /^the call was not sent: missing_id: You must pass either an 'anonymousId' or 'userId'\.\n.*--data/s,
    );
    const json = { messageId: "m1", status: null, success: false, code: "missing_id", message };
    assert.deepEqual(JSON.parse(toJson(answer, SENT_ONE)), json);
  });

  it("is not sent if it is over 32 KB", async () => {
    const { answer, came } = await send({ ...MADE, call: { ...MADE.call, properties: { pad: "x".repeat(33_000) } } });
    assert.deepEqual(came, []);
    assert.match(
      toWords(answer, SENT_ONE),
      /^the call was not sent: call_too_large: the call is \d+ bytes; the limit is 32768/,
    );
  });
});

describe("a call that comes whole", () => {
  it("goes out as it stands, to the path of its type: all of it is for the daemon to judge", async () => {
    const call = { event: 5, userId: "", channel: "server", pad: "x".repeat(33_000) };
    const refusal = {
      success: false,
      code: "missing_id",
      message: "You must pass either",
      error: "You must pass either",
    };
    const { answer, came, first } = await send({ type: "track", call, isWhole: true }, { status: 400, body: refusal });
    assert.equal(came[0]?.url, "http://127.0.0.1:8080/v1/track");
    assert.deepEqual(first, call);
    assert.match(toWords(answer, SENT_ONE), /refused the call with 400 missing_id: You must pass either$/);
    assert.deepEqual(JSON.parse(toJson(answer, SENT_ONE)), { messageId: "m1", status: 400, ...refusal });
  });
});

describe("a call", () => {
  for (const status of [429, 500, 503]) {
    it(`is sent once, however the daemon asks for another attempt: ${status}`, async () => {
      const body = { success: false, code: "later", message: "come again" };
      for (const isWhole of [true, false]) {
        const { answer, came } = await send({ ...MADE, isWhole }, { status, body, headers: { "Retry-After": "7" } });
        assert.equal(came.length, 1);
        assert.match(toWords(answer, SENT_ONE), new RegExp(`with ${status} later: come again; try again in 7 s$`));
      }
    });
  }

  it("goes below the path of a proxy", async () => {
    const world = makeSendWorld(() => TAKES_ONE);
    await sendCall(MADE, { ...TARGET, base: "https://example.com/events" }, world);
    await sendCall({ ...MADE, isWhole: true }, { ...TARGET, base: "https://example.com/events" }, world);
    assert.deepEqual(
      world.came.map(({ url }) => url),
      ["https://example.com/events/v1/batch", "https://example.com/events/v1/track"],
    );
  });
});

describe("a server that echoes the request", () => {
  it("does not have the write key printed, neither as it is nor in Basic", async () => {
    const target = { ...TARGET, writeKey: new Secret("website-key-4711") };
    for (const status of [400, 401, 503]) {
      const echo = `Authorization: Basic ${btoa("website-key-4711:")}, website-key-4711`;
      const headers = { "retry-after": "website-key-4711" };
      const world = makeSendWorld(() => ({ status, body: { code: "bad", message: echo }, headers }));
      const answer = await sendCall(MADE, target, world);
      const printed = toWords(answer, SENT_ONE) + toJson(answer, SENT_ONE);
      assert.doesNotMatch(printed, /4711|d2Vic2l0/);
      assert.match(printed, /Authorization: Basic \*\*\*, \*\*\*/);
    }
  });
});
