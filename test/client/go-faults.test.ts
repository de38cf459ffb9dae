// What users of the Go client, version 2, know to go wrong, and what happens here.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startClient } from "./world.ts";

describe("the faults of the Go client are not repeated", () => {
  it("it loses the queue when the program ends without Close: here it is sent", async () => {
    const c = startClient();
    void c.track("last words");
    c.exit("idle");
    await c.clock.rest();
    assert.deepEqual(c.batches(), [["last words"]]);
  });

  it("a call after Close panics: here it throws an error with a code, and breaks nothing", async () => {
    const c = startClient();
    void c.track("before");
    const closed = c.client.close(1_000);
    assert.throws(() => c.track("after"), { name: "ClosedError", code: "closed" });
    assert.equal((await closed).delivered.length, 1);
  });

  it("a second Close hangs: here it gives the same result", async () => {
    const c = startClient();
    assert.deepEqual(await c.client.close(1_000), await c.client.close(1_000));
  });

  it("it sends calls of any size: here one over 32 KB throws, and a batch stays below 500 KB", async () => {
    const c = startClient();
    assert.throws(() => c.track("E", { properties: { pad: "x".repeat(40_000) } }), { code: "call_too_large" });
    for (let nth = 0; nth < 20; nth += 1) void c.track("E", { properties: { pad: "x".repeat(32_000) } });
    await c.client.flush();
    assert.deepEqual(
      c.batches().map(({ length }) => length),
      [15, 5],
    );
    assert.ok(c.arrived.every(({ text }) => Buffer.byteLength(text) <= 512_000));
  });

  for (const status of [400, 401]) {
    it(`it retries ${status} ten times over 33 s: here that is final at once`, async () => {
      const c = startClient({ answers: () => status });
      void c.track("E");
      const { lost } = await c.client.flush();
      assert.deepEqual([c.arrived.length, lost[0]?.status], [1, status]);
    });
  }

  it("nobody learns of a dropped batch: here onError gets each call of it, and so does flush", async () => {
    const c = startClient({ retries: 1, answers: () => 500 });
    for (const event of ["1", "2", "3"]) void c.track(event);
    const flushed = c.client.flush();
    await c.clock.advance("1s");
    assert.deepEqual(
      c.lost.map(({ call }) => call.event),
      ["1", "2", "3"],
    );
    assert.deepEqual((await flushed).lost, c.lost);
  });

  it("the caller blocks after 100 queued: here 10,000 are taken at once in an outage, and none is lost", async () => {
    let down = true;
    const c = startClient({ answers: () => (down ? 503 : 200) });
    const calls = Array.from({ length: 10_000 }, (_, nth) => c.track(String(nth)));
    await Promise.all(calls);
    down = false;
    await c.clock.advance("10s");
    assert.deepEqual([c.delivered.length, c.lost.length], [10_000, 0]);
    assert.deepEqual(
      c.delivered.map(({ event }) => event),
      calls.map((_, nth) => String(nth)),
    );
  });

  it("it sends an empty batch on each idle Close: here nothing is sent", async () => {
    const c = startClient();
    await c.client.close(1_000);
    assert.deepEqual(c.arrived, []);
  });

  it("one bad call costs its whole batch: here it is alone", async () => {
    const rejected = [{ index: 0, messageId: "bad", code: "invalid_call", message: "no" }];
    const c = startClient({ answers: () => ({ status: 200, body: { success: true, rejected } }) });
    for (const messageId of ["bad", "good"]) void c.track("E", { messageId });
    const { delivered, lost } = await c.client.flush();
    assert.deepEqual([delivered, lost.map(({ messageId }) => messageId)], [["good"], ["bad"]]);
  });
});
