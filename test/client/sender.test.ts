import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type WriteBody, writeBare } from "../../src/client/envelope.ts";
import { createSender, type How } from "../../src/client/sender.ts";
import { createFalseClock } from "../flow/clock.ts";
import { createFalseIds } from "./world.ts";

const CALLS = [{ text: '{"n":12345678901234567890}' }, { text: "{ }", messageId: "m2" }];

type Answer = { readonly status: number; readonly body?: object };

/** The sender by itself: what `fairlead send` uses of the library. It never gives up. */
function makeWorld(answer: (nth: number) => Answer | Promise<Answer>, write?: WriteBody) {
  const clock = createFalseClock();
  const bodies: string[] = [];
  const world = {
    ...{ after: clock.after, wall: clock.wall, fraction: () => 0.5, uuid: createFalseIds() },
    async fetch(_url: string, init: { readonly body: string }) {
      bodies.push(init.body);
      const { status, body } = await answer(bodies.length);
      const said = { success: status < 300, ...body };
      return { status, statusText: "", headers: new Headers(), text: async () => JSON.stringify(said) };
    },
  };
  const target = { url: "http://f/v1/batch", headers: {}, mask: (text: string) => text };
  const settings = { target, retries: Infinity, timeoutMs: 10_000, fetch: undefined };
  const sender = createSender(settings, world, { debug: () => {}, ...(write && { write }) });
  const aborting = new AbortController();
  const send = (how: Partial<How> = {}) => sender.send(CALLS, { signal: aborting.signal, ...how });
  return { clock, bodies, aborting, send };
}

describe("the body of a request", () => {
  it("may be bare: the calls as they stand, to the byte", async () => {
    const w = makeWorld(() => ({ status: 200 }), writeBare);
    await w.send();
    assert.deepEqual(w.bodies, ['{"batch":[{"n":12345678901234567890},{ }]}']);
  });
});

describe("the answer to a batch", () => {
  it("is matched to calls by index, if a call has no messageId or none has that id", async () => {
    const rejected = [
      { index: 0, messageId: null, code: "a", message: "x" },
      { index: 1, messageId: "cut of", code: "b", message: "y" },
      { index: 7, code: "c", message: "z" },
    ];
    const w = makeWorld(() => ({ status: 200, body: { accepted: 0, duplicate: 0, rejected } }));
    const sending = await w.send();
    assert.ok(sending.kind === "taken");
    assert.deepEqual(
      [...sending.rejections.of].map(([call, { code }]) => [CALLS.indexOf(call), code]),
      [
        [0, "a"],
        [1, "b"],
      ],
    );
  });

  it("has the number of calls that were taken, or null where the answer does not say", async () => {
    for (const [body, accepted] of [
      [{ accepted: 2, duplicate: 0 }, 2],
      [{ accepted: "2" }, null],
      [{}, null],
    ] as const) {
      const sending = await makeWorld(() => ({ status: 200, body })).send();
      assert.equal(sending.kind === "taken" && sending.accepted, accepted);
    }
  });

  it("has the last answer if it is lost", async () => {
    const sending = await makeWorld(() => ({ status: 401, body: { code: "no" } })).send();
    assert.ok(sending.kind === "lost");
    const { answer } = sending;
    assert.ok(answer.kind === "answered");
    assert.deepEqual([answer.status, answer.body], [401, '{"success":false,"code":"no"}']);
  });
});

describe("the caller of the sender", () => {
  it("is asked after each failed attempt, and may make it the last", async () => {
    const heard: unknown[] = [];
    const w = makeWorld((nth) => ({ status: 501 + nth }));
    const sending = w.send({
      again(answer) {
        heard.push(answer.kind === "answered" && answer.status);
        return heard.length < 3;
      },
    });
    await w.clock.advance("10s");
    const ended = await sending;
    assert.ok(ended.kind === "lost");
    const { reason, status, attempts } = ended.loss;
    assert.deepEqual([reason, status, attempts], ["gave_up", 504, 3]);
    assert.deepEqual(heard, [502, 503, 504]);
  });

  it("is not asked where the retry table says no", async () => {
    const sending = await makeWorld(() => ({ status: 501 })).send({ again: () => assert.fail() });
    assert.ok(sending.kind === "lost");
    assert.deepEqual([sending.loss.reason, sending.loss.attempts], ["refused", 1]);
  });

  it("may stop the waiting", async () => {
    const stopping = new AbortController();
    const w = makeWorld(() => ({ status: 503 }));
    const sending = w.send({ stop: stopping.signal });
    await w.clock.rest();
    stopping.abort();
    assert.deepEqual(await sending, { kind: "stopped" });
    assert.equal(w.bodies.length, 1);
  });

  it("may stop while a request is under way, which has its answer read, and is not tried again", async () => {
    for (const [status, kind] of [
      [200, "taken"],
      [503, "stopped"],
    ] as const) {
      // Node 20 has no Promise.withResolvers.
      let give = (_: Answer): void => assert.fail("no request has come");
      const stopping = new AbortController();
      const w = makeWorld(() => new Promise((resolve) => (give = resolve)));
      const sending = w.send({ stop: stopping.signal });
      stopping.abort();
      give({ status });
      assert.equal((await sending).kind, kind);
      assert.equal(w.bodies.length, 1);
    }
  });

  it("may end the request itself", async () => {
    const w = makeWorld(() => new Promise(() => {}));
    const sending = w.send();
    w.aborting.abort();
    assert.deepEqual(await sending, { kind: "stopped" });
  });
});
