import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createDeliver,
  type GivenUp,
  readVerdict,
  type Taken,
  type Verdict,
} from "../../../src/cli/send/import-batch.ts";
import type { ImportCall } from "../../../src/cli/send/import-lines.ts";
import { NEVER, openSender, UnreachableError } from "../../../src/cli/send/sender.ts";
import { writeBare } from "../../../src/client/envelope.ts";
import { type Answered, makeSendWorld, TARGET } from "./world.ts";

type Answer = Answered | Error;

/** Over the real sender of the client library, to a server that answers as said. The calls are numbers. */
function makeWorld(answer: (calls: readonly number[]) => Answer | Promise<Answered>) {
  const { clock, came, ...rest } = makeSendWorld(({ body }) => answer(JSON.parse(body).batch));
  const stopping = new AbortController();
  const told: string[] = [];
  const tell = (text: string): void => void told.push(text);
  const sender = openSender(TARGET, { clock, ...rest }, { write: writeBare });
  const deliver = createDeliver({ sender, clock, signal: stopping.signal, base: "http://f", note: tell });
  return { clock, came, stopping, told, deliver };
}

/** Answers in this order; then all is taken. */
function inTurn(...answers: readonly Answer[]) {
  const left = [...answers];
  return (calls: readonly number[]): Answer => left.shift() ?? takes(calls.length);
}

function takes(accepted: number): Answered {
  return { status: 200, body: { success: true, accepted, duplicate: 0 } };
}

/** `rejected`: the lines of the calls that were not taken. */
function taken(accepted: number, rejected: readonly number[] = []): Taken {
  const why = { code: "invalid_call", message: "no" };
  return { kind: "taken", accepted, duplicate: 0, rejected: rejected.map((line) => ({ call: callAt(line), ...why })) };
}

function answers(status: number, headers: Readonly<Record<string, string>> = {}): Answered {
  return { status, body: "", headers };
}

const NOBODY = new UnreachableError({ kind: "failed", code: "ECONNREFUSED", reason: "connection refused" });

function calls(count: number): readonly ImportCall[] {
  return Array.from({ length: count }, (_, index) => callAt(index + 1));
}

function callAt(line: number): ImportCall {
  return { line, text: String(line), original: String(line) };
}

describe("delivering a batch of an import", () => {
  it("tries again with growing waits until it is taken, and says so once for each reason", async () => {
    const turn = inTurn(answers(503), answers(503), answers(429));
    const times: number[] = [];
    const w = makeWorld((calls) => {
      times.push(w.clock.now());
      return turn(calls);
    });
    const delivering = w.deliver(calls(2));
    await w.clock.advance("1m");
    assert.deepEqual(await delivering, taken(2));
    const [first = 0] = times;
    assert.deepEqual(
      times.map((time) => time - first),
      [0, 500, 1_500, 3_500],
    );
    assert.deepEqual(w.told, [
      "http://f answers 503; retrying",
      "http://f answers 429; retrying",
      "http://f answers again",
    ]);
  });

  it("waits as long as the daemon asks for", async () => {
    const w = makeWorld(inTurn(answers(503, { "Retry-After": "30" })));
    const delivering = w.deliver(calls(1));
    await w.clock.advance("29s");
    assert.equal(w.came.length, 1);
    await w.clock.advance("1s");
    assert.deepEqual(await delivering, taken(1));
  });

  it("gives up at once if nobody has ever been there, and waits for one who was", async () => {
    const w = makeWorld(() => NOBODY);
    const why = "http://f cannot be reached: connection refused; is fairlead serve running?";
    assert.deepEqual(await w.deliver(calls(1)), { kind: "given-up", why });

    const other = makeWorld(inTurn(takes(1), NOBODY));
    await other.deliver(calls(1));
    const delivering = other.deliver(calls(1));
    await other.clock.advance("1s");
    assert.deepEqual(await delivering, taken(1));
    const reason = "http://f cannot be reached: connection refused";
    assert.deepEqual(other.told, [`${reason}; retrying`, "http://f answers again"]);
  });

  for (const [name, answer] of [
    ["a busy daemon", answers(503)],
    ["one that always names a time", answers(429, { "Retry-After": "20" })],
  ] as const) {
    it(`gives up after ten minutes without any success: ${name}`, async () => {
      const w = makeWorld(() => answer);
      let ended: GivenUp | Taken | null = null;
      void w.deliver(calls(1)).then((result) => (ended = result));
      await w.clock.advance("9m 59s");
      assert.equal(ended, null);
      await w.clock.advance("1m 1s");
      assert.deepEqual(ended, { kind: "given-up", why: `http://f answers ${answer.status}, after 10m of retries` });
    });
  }

  it("gives up at once where it is of no use", async () => {
    const w = makeWorld(() => ({ status: 401, body: { code: "unknown_write_key", message: "no" } }));
    const why = "http://f answers 401 unknown_write_key: no";
    assert.deepEqual(await w.deliver(calls(1)), { kind: "given-up", why });
    assert.equal(w.came.length, 1);
  });

  it("stops waiting when it is asked to", async () => {
    const w = makeWorld(() => answers(503, { "Retry-After": "60" }));
    const delivering = w.deliver(calls(1));
    await w.clock.rest();
    w.stopping.abort();
    assert.deepEqual(await delivering, { kind: "given-up", why: null });
  });

  it("reads the answer of a request that is under way when it is asked to stop, and sends no other", async () => {
    const answer = Promise.withResolvers<Answered>();
    const w = makeWorld(() => answer.promise);
    const delivering = w.deliver(calls(2));
    w.stopping.abort();
    answer.resolve(takes(2));
    assert.deepEqual(await delivering, taken(2));

    const again = Promise.withResolvers<Answered>();
    const other = makeWorld(() => again.promise);
    const waiting = other.deliver(calls(1));
    other.stopping.abort();
    again.resolve(answers(503));
    assert.deepEqual(await waiting, { kind: "given-up", why: null });
    assert.equal(other.came.length, 1);
  });

  it("halves what is refused as a whole, and finds the calls that are to blame", async () => {
    const bad = new Set([2, 7]);
    const w = makeWorld((sent) => {
      if (sent.some((number) => bad.has(number))) return { status: 400, body: { code: "invalid_call", message: "no" } };
      return takes(sent.length);
    });
    assert.deepEqual(await w.deliver(calls(9)), taken(7, [2, 7]));
  });
});

const CALLS = [1, 2, 3].map((line) => ({ line, text: "{}", original: "{}" }));

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
    const why = { code: "missing_event", message: "You must pass 'event'." };
    const said = { success: true, accepted: 1, duplicate: 1, rejected: [{ index: 1, ...why, messageId: "m" }] };
    const rejected = [{ call: CALLS[1], ...why }];
    assert.deepEqual(await verdictOf(200, said), { kind: "taken", accepted: 1, duplicate: 1, rejected });
  });

  it("may be that it is to come later", async () => {
    for (const status of [408, 429, 500, 502, 503]) {
      const why = `answers ${status} some_code: for a reason`;
      assert.deepEqual(await verdictOf(status, REFUSAL), { kind: "unavailable", why, nobody: false });
    }
    assert.deepEqual(await verdictOf(502, "<html>"), { kind: "unavailable", why: "answers 502", nobody: false });
  });

  it("may be nothing: nobody is there, or the connection broke", async () => {
    const nobody = new UnreachableError({ kind: "failed", code: "ECONNREFUSED", reason: "connection refused" });
    const why = "cannot be reached: connection refused";
    assert.deepEqual(await verdictOn(nobody), { kind: "unavailable", why, nobody: true });
    const broken = new UnreachableError({ kind: "failed", code: "ECONNRESET", reason: "connection reset" });
    assert.partialDeepStrictEqual(await verdictOn(broken), { kind: "unavailable", nobody: false });
  });

  it("may be that something in it is wrong", async () => {
    assert.deepEqual(await verdictOf(400, REFUSAL), { kind: "refused", code: "some_code", message: "for a reason" });
    assert.partialDeepStrictEqual(await verdictOf(413, "<html>"), { kind: "refused", code: "body_too_large" });
  });

  it("may be that it is of no use to go on, and is safe to print", async () => {
    assert.deepEqual(await verdictOf(401, REFUSAL), { kind: "fatal", why: "answers 401 some_code: for a reason" });
    const foreign = "answers 404, which is not an answer of Fairlead; is the address right?";
    assert.deepEqual(await verdictOf(404, "<html>"), { kind: "fatal", why: foreign });
    const evil = await verdictOf(401, { code: "x", message: "\u001b[2J" });
    assert.deepEqual(evil, { kind: "fatal", why: "answers 401 x: \\u001b[2J" });
  });

  for (const odd of [
    ...["ok", "", "{}", '{"accepted":3}x', '{"accepted":2}', '{"duplicate":3}'],
    ...['{"accepted":2,"duplicate":0,"rejected":[{}]}', '{"accepted":3,"duplicate":1}'],
  ]) {
    it(`is not believed if it does not speak of each call: 200 ${odd}`, async () => {
      const why = "answers 200, which is not an answer of Fairlead; is the address right?";
      assert.deepEqual(await verdictOf(200, odd), { kind: "fatal", why });
    });
  }
});
