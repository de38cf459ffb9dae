import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ClosedError, InvalidOptionError } from "../../src/client/errors.ts";
import { startClient } from "./world.ts";

describe("close", () => {
  it("sends what is queued", async () => {
    const c = startClient();
    const id = await c.track("E");
    assert.deepEqual((await c.client.close(1_000)).delivered, [id]);
  });

  it("gives back what was not delivered by its deadline, in order, what is under way included", async () => {
    const c = startClient({ size: 1, answers: ({ nth }) => (nth === 1 ? 200 : "hang") });
    for (const event of ["1", "2", "3"]) void c.track(event);
    const closed = c.client.close(3_000);
    await c.clock.advance("2999ms");
    assert.equal(c.alive(), 1);
    await c.clock.advance("1ms");
    const { delivered, lost, undelivered } = await closed;
    assert.deepEqual([delivered.length, lost.length, undelivered.map(({ event }) => event)], [1, 0, ["2", "3"]]);
    assert.deepEqual([c.lost.length, c.delivered.length, c.alive()], [0, 1, 0]);
  });

  it("does not wait for a fetch that does not listen to its signal", async () => {
    const c = startClient({ fetch: () => new Promise(() => {}) });
    void c.track("E");
    const closed = c.client.close(0);
    await c.clock.advance("1ms");
    assert.equal((await closed).undelivered.length, 1);
  });

  it("tries at once what waits for its next attempt, and then begins with short waits", async () => {
    const c = startClient({ answers: ({ nth }) => (nth <= 9 ? 503 : 200) });
    void c.track("E");
    void c.client.flush();
    await c.clock.advance("1m 40s");
    assert.equal(c.arrived.length, 8);
    const closed = c.client.close(10_000);
    await c.clock.advance("10s");
    assert.equal((await closed).delivered.length, 1);
    assert.deepEqual(
      c.arrived.slice(7).map(({ at }) => at - (c.arrived[8]?.at ?? 0)),
      [-36_500, 0, 500],
    );
  });

  for (const status of [429, 503]) {
    it(`does not shorten a wait that the server has asked for: ${status}`, async () => {
      const c = startClient({ answers: () => ({ status, headers: { "Retry-After": "20" } }) });
      void c.track("E");
      void c.client.flush();
      await c.clock.advance("1s");
      const closed = c.client.close(10_000);
      await c.clock.advance("10s");
      assert.equal((await closed).undelivered.length, 1);
      assert.equal(c.arrived.length, 1);
    });
  }

  it("waits for ever if it is told to", async () => {
    const c = startClient({ answers: ({ at, nth }) => (nth === 1 || at < Date.UTC(2026, 10, 20, 12, 2) ? 503 : 200) });
    void c.track("E");
    const closed = c.client.close(Number.POSITIVE_INFINITY);
    await c.clock.advance("4m");
    assert.equal((await closed).delivered.length, 1);
  });

  it("may be called again, and gives the same", async () => {
    const c = startClient();
    void c.track("E");
    const first = await c.client.close(1_000);
    assert.equal(await c.client.close(1_000), first);
    assert.equal(await c.client.flush(), first);
  });

  it("leaves no timer", async () => {
    const c = startClient({ answers: ({ nth }) => (nth === 1 ? 503 : 200) });
    void c.track("E");
    const closed = c.client.close(1_000);
    await c.clock.advance("500ms");
    await closed;
    assert.equal(c.timers(), 0);
  });

  it("is the end: a call after it throws, also while it still sends", async () => {
    const c = startClient();
    void c.track("E");
    const closed = c.client.close(1_000);
    assert.throws(() => c.track("late"), ClosedError);
    await closed;
    assert.throws(() => c.track("late"), { code: "closed", message: /make calls before close\(\)/ });
    assert.equal(c.delivered.length, 1);
  });

  it("refuses a timeout that is none", () => {
    const c = startClient();
    assert.throws(() => c.client.close(Number.NaN), InvalidOptionError);
    assert.throws(() => c.client.close(-1), InvalidOptionError);
    assert.throws(() => c.client.close("5s" as never), InvalidOptionError);
    void c.track("still open");
  });

  it("lets callers in who wait for room", async () => {
    const c = startClient({ size: 1, queue: { limit: 1, whenFull: "block" }, answers: () => "hang" });
    const calls = ["1", "2", "3"].map((event) => c.track(event));
    const closed = c.client.close(1_000);
    await c.clock.advance("1s");
    assert.deepEqual(
      (await closed).undelivered.map(({ messageId }) => messageId),
      await Promise.all(calls),
    );
  });
});

describe("a program that ends without close", () => {
  it("has its queue sent when it has nothing left to do", async () => {
    const c = startClient();
    void c.track("E");
    c.exit("idle");
    assert.equal(c.alive(), 1);
    await c.clock.rest();
    assert.deepEqual([c.delivered.length, c.alive()], [1, 0]);
  });

  it("is kept for five seconds at most, and told what it has lost", async () => {
    const c = startClient({ answers: () => 503 });
    void c.track("E");
    c.exit("idle");
    await c.clock.advance("4999ms");
    assert.equal(c.alive(), 1);
    await c.clock.advance("1ms");
    assert.equal(c.alive(), 0);
    assert.deepEqual(
      c.lost.map(({ reason, call }) => [reason, call.event]),
      [["exited", "E"]],
    );
    c.exit("idle");
    assert.equal(c.alive(), 0);
  });

  it("may go on after all, and so does its client", async () => {
    const c = startClient({ answers: ({ nth }) => (nth === 1 ? "hang" : 200) });
    void c.track("1");
    c.exit("idle");
    await c.clock.advance("5s");
    void c.track("2");
    assert.deepEqual((await c.client.flush()).lost.length, 0);
    assert.deepEqual(c.batches(), [["1"], ["2"]]);
  });

  it("is told what it has lost when it ends at once", () => {
    const c = startClient();
    void c.track("E");
    c.exit("gone");
    assert.deepEqual(
      c.lost.map(({ reason, message }) => [reason, message.replace(/\S{36}/, "…")]),
      [["exited", "track … is lost: the program has ended; await close() before that"]],
    );
  });

  it("may end from within a line of debug: then nothing goes on", async () => {
    const c = startClient({
      answers: () => 503,
      debug: (line) => {
        if (line.startsWith("response 503")) c.exit("gone");
      },
    });
    void c.track("E");
    void c.client.flush();
    await c.clock.rest();
    // That of the interval.
    assert.deepEqual([c.lost.length, c.timers()], [1, 1]);
    await c.clock.advance("1h");
    assert.deepEqual([c.arrived.length, c.timers()], [1, 0]);
  });

  it("is not held by a client that has nothing to send", async () => {
    const c = startClient();
    void c.track("E");
    await c.client.flush();
    c.exit("idle");
    c.exit("gone");
    assert.deepEqual([c.alive(), c.lost], [0, []]);
  });
});
