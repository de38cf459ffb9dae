import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UnreachableError } from "../../../../src/cli/send/fetch.ts";
import { readVerdict, type Verdict } from "../../../../src/cli/send/import/verdict.ts";
import { NEVER, openSender } from "../../../../src/cli/send/library.ts";
import { makeSendWorld, TARGET } from "../world.ts";

const CALLS = [1, 2, 3].map((line) => ({ line, text: "{}" }));

/** What is made of three calls that were sent once. */
async function verdictOn(came: { readonly status: number; readonly body: unknown } | Error): Promise<Verdict> {
  const sender = openSender(
    TARGET,
    makeSendWorld(() => came),
  );
  const sending = await sender.send(CALLS, { signal: NEVER, again: () => false });
  return sending.kind === "stopped" ? assert.fail() : readVerdict(sending, CALLS);
}

function verdictOf(status: number, body: unknown): Promise<Verdict> {
  return verdictOn({ status, body });
}

const REFUSAL = { success: false, code: "some_code", message: "for a reason" };

describe("what comes back for a batch", () => {
  it("is what was taken, and which calls were not", async () => {
    const none = { kind: "taken", accepted: 2, duplicate: 1, rejected: [] };
    assert.deepEqual(await verdictOf(200, { success: true, accepted: 2, duplicate: 1 }), none);
    const refusal = { index: 1, code: "missing_event", message: "You must pass 'event'." };
    const said = { success: true, accepted: 1, duplicate: 1, rejected: [{ ...refusal, messageId: "m" }] };
    assert.deepEqual(await verdictOf(200, said), { kind: "taken", accepted: 1, duplicate: 1, rejected: [refusal] });
  });

  it("may be that it is to come later", async () => {
    for (const status of [408, 429, 500, 502, 503]) {
      const why = `answers ${status} some_code: for a reason`;
      assert.deepEqual(await verdictOf(status, REFUSAL), { kind: "later", why, nobody: false });
    }
    assert.deepEqual(await verdictOf(502, "<html>"), { kind: "later", why: "answers 502", nobody: false });
  });

  it("may be nothing: nobody is there, or the connection broke", async () => {
    const nobody = new UnreachableError({ kind: "failed", code: "ECONNREFUSED", reason: "connection refused" });
    const why = "cannot be reached: connection refused";
    assert.deepEqual(await verdictOn(nobody), { kind: "later", why, nobody: true });
    const broken = new UnreachableError({ kind: "failed", code: "ECONNRESET", reason: "connection reset" });
    assert.partialDeepStrictEqual(await verdictOn(broken), { kind: "later", nobody: false });
  });

  it("may be that something in it is wrong", async () => {
    assert.deepEqual(await verdictOf(400, REFUSAL), { kind: "unfit", code: "some_code", message: "for a reason" });
    assert.partialDeepStrictEqual(await verdictOf(413, "<html>"), { kind: "unfit", code: "body_too_large" });
  });

  it("may be that it is of no use to go on, and is safe to print", async () => {
    assert.deepEqual(await verdictOf(401, REFUSAL), { kind: "useless", why: "answers 401 some_code: for a reason" });
    const foreign = "answers 404, and not as Fairlead does; is that its address?";
    assert.deepEqual(await verdictOf(404, "<html>"), { kind: "useless", why: foreign });
    const evil = await verdictOf(401, { code: "x", message: "\u001b[2J" });
    assert.deepEqual(evil, { kind: "useless", why: "answers 401 x: \\u001b[2J" });
  });

  for (const odd of [
    ...["ok", "", "{}", '{"accepted":3}x', '{"accepted":2}', '{"duplicate":3}'],
    ...['{"accepted":2,"duplicate":0,"rejected":[{}]}', '{"accepted":3,"duplicate":1}'],
  ]) {
    it(`is not believed if it does not speak of each call: 200 ${odd}`, async () => {
      const why = "answers 200, and not as Fairlead does; is that its address?";
      assert.deepEqual(await verdictOf(200, odd), { kind: "useless", why });
    });
  }
});
