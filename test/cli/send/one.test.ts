import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toJson, toWords } from "../../../src/cli/send/answer.ts";
import { type OneCall, sendCall } from "../../../src/cli/send/one.ts";
import { LIBRARY } from "../../../src/client/envelope.ts";
import { Secret } from "../../../src/model/secret.ts";
import { type Answered, makeSendWorld, TARGET } from "./world.ts";

const SENT = { type: "track", messageId: "m1", base: TARGET.base } as const;
const TAKEN: Answered = { status: 200, body: { success: true, accepted: 1, duplicate: 0 } };
const MADE: OneCall = { type: "track", call: { userId: "u", event: "E", messageId: "m1" }, isWhole: false };

async function send(one: OneCall, answer: Answered = TAKEN) {
  const world = makeSendWorld(() => answer);
  const said = await sendCall(one, TARGET, world);
  return { said, came: world.came, first: JSON.parse(world.came[0]?.body ?? "null") };
}

describe("a call that is made of options", () => {
  it("goes out as the library sends it", async () => {
    const { said, came, first } = await send(MADE);
    assert.equal(said.kind, "accepted");
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
    const { said, came } = await send({ ...MADE, call: { ...MADE.call, userId: "" } });
    assert.deepEqual(came, []);
    const message = "You must pass either an 'anonymousId' or 'userId'.";
    assert.match(
      toWords(said, SENT),
      /^the call was not sent: missing_id: You must pass either an 'anonymousId' or 'userId'\.\nnext: .*--data/s,
    );
    const json = { messageId: "m1", status: null, success: false, code: "missing_id", message };
    assert.deepEqual(JSON.parse(toJson(said, SENT)), json);
  });

  it("is not sent if it is over 32 KB", async () => {
    const { said, came } = await send({ ...MADE, call: { ...MADE.call, properties: { pad: "x".repeat(33_000) } } });
    assert.deepEqual(came, []);
    assert.match(
      toWords(said, SENT),
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
    const { said, came, first } = await send({ type: "track", call, isWhole: true }, { status: 400, body: refusal });
    assert.equal(came[0]?.url, "http://127.0.0.1:8080/v1/track");
    assert.deepEqual(first, call);
    assert.match(toWords(said, SENT), /refused the call with 400 missing_id: You must pass either$/);
    assert.deepEqual(JSON.parse(toJson(said, SENT)), { messageId: "m1", status: 400, ...refusal });
  });
});

describe("a call", () => {
  for (const status of [429, 500, 503]) {
    it(`is sent once, however the daemon asks for another attempt: ${status}`, async () => {
      const body = { success: false, code: "later", message: "come again" };
      for (const isWhole of [true, false]) {
        const { said, came } = await send({ ...MADE, isWhole }, { status, body, headers: { "Retry-After": "7" } });
        assert.equal(came.length, 1);
        assert.match(toWords(said, SENT), new RegExp(`with ${status} later: come again; try again in 7 s$`));
      }
    });
  }

  it("goes below the path of a proxy", async () => {
    const world = makeSendWorld(() => TAKEN);
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
      const said = await sendCall(MADE, target, world);
      const printed = toWords(said, SENT) + toJson(said, SENT);
      assert.doesNotMatch(printed, /4711|d2Vic2l0/);
      assert.match(printed, /Authorization: Basic \*\*\*, \*\*\*/);
    }
  });
});
