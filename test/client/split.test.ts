// A server may take smaller requests than the client was told to make.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Arrived, type Behaviour, startClient } from "./world.ts";

const PAD = { properties: { pad: "x".repeat(30_000) } };
const NAMES = Array.from({ length: 30 }, (_, nth) => String(nth));

function takesUpTo(bytes: number, refusal: Behaviour): (arrived: Arrived) => Behaviour {
  return ({ text }) => (text.length > bytes ? refusal : 200);
}

describe("a batch that is too large for the server", () => {
  for (const [what, refusal] of [
    ["Fairlead", { status: 400, body: { success: false, code: "body_too_large", message: "too large" } }],
    ["Fairlead, for its envelope", { status: 400, body: { success: false, code: "envelope_too_large" } }],
    ["Fairlead, for its number", { status: 400, body: { success: false, code: "too_many_events" } }],
    ["a proxy", { status: 413, body: "<html>Request Entity Too Large" }],
  ] as const) {
    it(`is sent in halves, and each call is delivered, in order: ${what}`, async () => {
      const c = startClient({ maxBatchSize: 1_000_000, flushAt: 100, answers: takesUpTo(250_000, refusal) });
      for (const event of NAMES) void c.track(event, PAD);
      const { delivered, lost } = await c.client.flush();
      assert.deepEqual([delivered.length, lost.length, c.mostAtOnce()], [30, 0, 1]);
      assert.deepEqual(
        c.delivered.map(({ event }) => event),
        NAMES,
      );
      assert.deepEqual(
        c.batches().map(({ length }) => length),
        [30, 15, 8, 7, 15, 8, 7],
      );
    });
  }

  it("costs the one call alone that is too large by itself", async () => {
    const refusal = { status: 413, body: { code: "body_too_large" } };
    const c = startClient({ answers: takesUpTo(20_000, refusal) });
    for (const event of ["1", "2"]) void c.track(event);
    void c.track("large", PAD);
    void c.track("4");
    const { delivered, lost } = await c.client.flush();
    assert.deepEqual(
      [delivered.length, lost.map(({ call, reason, code }) => [call.event, reason, code])],
      [3, [["large", "refused", "body_too_large"]]],
    );
  });

  it("is given back whole by close, whichever half is under way", async () => {
    const c = startClient({ answers: ({ nth }) => (nth === 1 ? 413 : "hang") });
    for (const event of ["1", "2", "3"]) void c.track(event);
    const closed = c.client.close(1_000);
    await c.clock.advance("1s");
    assert.deepEqual(
      (await closed).undelivered.map(({ event }) => event),
      ["1", "2", "3"],
    );
    assert.deepEqual(c.batches(), [
      ["1", "2", "3"],
      ["1", "2"],
    ]);
  });

  it("is not split where the server has another reason", async () => {
    const c = startClient({ answers: () => ({ status: 400, body: { code: "invalid_body" } }) });
    for (const event of ["1", "2"]) void c.track(event);
    assert.deepEqual([(await c.client.flush()).lost.length, c.arrived.length], [2, 1]);
  });
});
