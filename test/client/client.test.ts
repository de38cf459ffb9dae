import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Analytics, memoryTransport, type TrackCall } from "../../src/client/analytics.ts";
import { CallTooLargeError, ClosedError, InvalidOptionError } from "../../src/client/errors.ts";
import { createFalseClock } from "../flow/clock.ts";
import { startClient, type TestClient } from "./world.ts";

function trackAll(c: TestClient, count: number): void {
  for (let nth = 1; nth <= count; nth += 1) void c.track(String(nth));
}

function names(first: number, last: number): readonly string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
}

describe("when calls are sent", () => {
  it("is after 20 of them", async () => {
    const c = startClient();
    trackAll(c, 19);
    await c.clock.rest();
    assert.deepEqual(c.batches(), []);
    void c.track("20");
    await c.clock.rest();
    assert.deepEqual(c.batches(), [names(1, 20)]);
  });

  it("is 5 s after the last flush", async () => {
    const c = startClient();
    trackAll(c, 19);
    await c.clock.advance("3s");
    void c.track("20");
    await c.clock.advance("4s");
    void c.track("late");
    await c.clock.advance("999ms");
    assert.equal(c.arrived.length, 1);
    await c.clock.advance("1ms");
    assert.deepEqual(c.batches()[1], ["late"]);
  });

  it("is within 5 s of the first call of a quiet client", async () => {
    const c = startClient();
    await c.clock.advance("1h");
    void c.track("E");
    await c.clock.advance("4999ms");
    assert.equal(c.arrived.length, 0);
    await c.clock.advance("1ms");
    assert.equal(c.arrived.length, 1);
  });

  it("is at once with a size of 1, each call by itself", async () => {
    const c = startClient({ size: 1 });
    trackAll(c, 3);
    await c.clock.rest();
    assert.deepEqual(c.batches(), [["1"], ["2"], ["3"]]);
  });

  it("is when the queue is full if that is smaller than a batch", async () => {
    const c = startClient({ queue: { limit: 3 } });
    trackAll(c, 3);
    await c.clock.rest();
    assert.deepEqual(c.batches(), [names(1, 3)]);
  });
});

describe("the context of a client", () => {
  it("is that of every call, under the call's own keys", async () => {
    const c = startClient({ context: { app: { name: "shop", build: 7 }, locale: "de", since: new Date(0) } });
    void c.track("1");
    void c.track("2", { context: { locale: "en", app: { name: "admin" } } });
    void c.call("alias", { userId: "u", previousId: "a" });
    await c.client.flush();
    const all = { app: { name: "shop", build: 7 }, locale: "de", since: "1970-01-01T00:00:00.000Z" };
    assert.deepEqual(
      c.delivered.map(({ context }) => context),
      [all, { ...all, locale: "en", app: { name: "admin" } }, all],
    );
  });

  it("is read once: what the program changes later changes no call", async () => {
    const context = { app: { name: "shop" } };
    const c = startClient({ context });
    context.app.name = "another";
    void c.track("1");
    await c.client.flush();
    assert.deepEqual(c.delivered[0]?.context, { app: { name: "shop" } });
  });

  it("counts for the size of a call", () => {
    const c = startClient({ context: { pad: "x".repeat(33_000) } });
    assert.throws(() => void c.track("1"), CallTooLargeError);
  });
});

describe("methods that are taken from their client", () => {
  it("work, each of them", async () => {
    const transport = memoryTransport();
    const { identify, track, page, screen, group, alias, flush, close } = new Analytics("key", {
      fetch: transport.fetch,
    });
    void identify({ userId: "u" });
    void track({ userId: "u", event: "E" });
    void page({ userId: "u" });
    void screen({ userId: "u" });
    void group({ userId: "u", groupId: "g" });
    void alias({ userId: "u", previousId: "a" });
    assert.equal((await flush()).delivered.length, 6);
    assert.deepEqual((await close()).lost, []);
    assert.throws(() => void track({ userId: "u", event: "E" }), ClosedError);
  });

  it("are those of a class that extends it, and are not shown among its fields", async () => {
    class Named extends Analytics {
      override track(call: TrackCall): Promise<string> {
        return super.track({ ...call, event: `Shop ${call.event}` });
      }
    }
    const transport = memoryTransport();
    const analytics = new Named("key", { fetch: transport.fetch });
    const { track } = analytics;
    void track({ userId: "u", event: "E" });
    await analytics.close();
    assert.deepEqual([transport.calls[0]?.event, Object.keys(analytics)], ["Shop E", []]);
  });
});

describe("a call that is too large", () => {
  it("throws, and nothing of it is sent", async () => {
    const c = startClient();
    assert.throws(
      () => c.track("E", { properties: { pad: "x".repeat(33_000) } }),
      (error) => {
        assert.ok(error instanceof CallTooLargeError);
        assert.deepEqual([error.code, error.limit], ["call_too_large", 32_768]);
        return error.bytes > 33_000;
      },
    );
    assert.deepEqual(await c.client.flush(), { delivered: [], lost: [], undelivered: [], duplicates: 0 });
  });
});

describe("flush", () => {
  it("resolves when the calls before it are settled, whatever comes after", async () => {
    const c = startClient({ answers: ({ nth }) => (nth === 1 ? 200 : "hang") });
    const first = c.track("before");
    const flushed = c.client.flush();
    void c.track("after");
    void c.client.flush();
    assert.deepEqual((await flushed).delivered, [await first]);
  });

  it("resolves at once when there is nothing, and sends nothing", async () => {
    const c = startClient();
    assert.deepEqual(await c.client.flush(), { delivered: [], lost: [], undelivered: [], duplicates: 0 });
    assert.deepEqual(c.arrived, []);
  });

  it("reports to each of several flushes what became of its calls", async () => {
    const c = startClient({ answers: ({ nth }) => (nth === 1 ? 400 : 200) });
    void c.track("1");
    const first = c.client.flush();
    const second = await c.track("2");
    const both = await c.client.flush();
    assert.deepEqual([both.lost.length, both.delivered], [1, [second]]);
    assert.deepEqual([(await first).lost.length, (await first).delivered], [1, []]);
  });

  it("keeps the program alive until then, and nothing else does", async () => {
    const c = startClient({ answers: ({ nth }) => (nth === 1 ? 503 : 200) });
    void c.track("E");
    assert.equal(c.alive(), 0);
    const flushed = c.client.flush();
    assert.equal(c.alive(), 1);
    await c.clock.advance("1s");
    await flushed;
    assert.equal(c.alive(), 0);
  });

  it("does not shorten a wait: a program that flushes often is no burden to a server in trouble", async () => {
    const c = startClient({ answers: () => 503 });
    for (let nth = 1; nth <= 100; nth += 1) {
      void c.track(String(nth));
      void c.client.flush();
      await c.clock.advance("10ms");
    }
    assert.equal(c.arrived.length, 2);
  });
});

describe("what a call holds", () => {
  it("is written down at the call: later changes do not count", async () => {
    const c = startClient();
    const properties = { total: 1, at: new Date(0), list: [1] };
    void c.track("E", { properties });
    properties.total = 2;
    properties.at.setTime(1);
    properties.list.push(2);
    await c.client.flush();
    assert.deepEqual(c.delivered[0]?.properties, { total: 1, at: "1970-01-01T00:00:00.000Z", list: [1] });
  });

  it("is when it was made, and when it was sent by the clock of the same moment", async () => {
    const c = startClient({ clock: createFalseClock(Date.parse("2026-11-20T12:00:00Z")) });
    void c.track("E");
    await c.clock.advance("5s");
    assert.equal(c.arrived[0]?.envelope.batch[0]?.timestamp, "2026-11-20T12:00:00.000Z");
    assert.equal(c.arrived[0]?.envelope.sentAt, "2026-11-20T12:00:05.000Z");
  });

  it("gets a random id, to which the call resolves, unless it has one", async () => {
    const c = startClient();
    const ids = await Promise.all([c.track("1"), c.track("2"), c.track("3", { messageId: "mine" })]);
    await c.client.flush();
    assert.equal(new Set(ids).size, 3);
    assert.deepEqual(
      c.delivered.map(({ messageId }) => messageId),
      ids,
    );
    assert.equal(ids[2], "mine");
  });
});

describe("close", () => {
  it("sends the queue", async () => {
    const c = startClient();
    const id = await c.track("E");
    assert.deepEqual((await c.client.close(1_000)).delivered, [id]);
  });

  it("sends nothing where nothing is queued", async () => {
    const c = startClient();
    await c.client.close(1_000);
    assert.deepEqual(c.arrived, []);
  });

  it("returns the calls that were not delivered by its deadline, in order, including those under way", async () => {
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

  it("waits without a deadline if it is Infinity", async () => {
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

  it("lets calls in that wait for room", async () => {
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

  it("is kept alive for five seconds at most, and gets its losses", async () => {
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

  it("gets its losses if it ends at once", () => {
    const c = startClient();
    void c.track("E");
    c.exit("gone");
    assert.deepEqual(
      c.lost.map(({ reason, message }) => [reason, message.replace(/\S{36}/, "…")]),
      [["exited", "track … is lost: the program ended first: await close() before it ends"]],
    );
  });

  it("may end from within a line of debug, which ends all sending", async () => {
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
