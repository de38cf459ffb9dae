import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FlushReport } from "../../src/client/report.ts";
import { startClient } from "./world.ts";

describe("the program's own functions", () => {
  it("may throw, or reject: all is sent and told of all the same", async () => {
    const heard: string[] = [];
    const c = startClient({
      size: 2,
      answers: ({ nth }) => (nth === 1 ? 400 : 200),
      onError: ({ call }) => {
        heard.push(call.event ?? "");
        throw new Error("broken");
      },
      onDelivered: async ({ event = "" }) => {
        heard.push(event);
        throw new Error("rejected");
      },
    });
    for (const event of ["1", "2", "3", "4"]) void c.track(event);
    const { delivered, lost } = await c.client.flush();
    await c.clock.rest();
    assert.deepEqual([heard, delivered.length, lost.length], [["1", "2", "3", "4"], 2, 2]);
    assert.equal(c.lines.filter((line) => /a callback has thrown: Error: (broken|rejected)/.test(line)).length, 4);
  });

  it("may make calls, flush and close", async () => {
    const c = startClient({
      size: 1,
      answers: ({ nth }) => (nth === 1 ? 400 : 200),
      onError: () => {
        void c.track("about it");
        void c.client.flush();
      },
      onDelivered: () => void c.client.close(1_000),
    });
    void c.track("1");
    const { lost } = await c.client.flush();
    await c.clock.rest();
    assert.deepEqual([c.batches(), lost.length], [[["1"], ["about it"]], 1]);
    assert.throws(() => c.track("2"), { code: "closed" });
  });

  it("may flush, and hear of what is open then alone", async () => {
    const rejected = [{ index: 0, code: "invalid_call", message: "no" }];
    const flushed: Promise<FlushReport>[] = [];
    const c = startClient({
      answers: () => ({ status: 200, body: { success: true, rejected } }),
      onError: () => flushed.push(c.client.flush()),
    });
    void c.track("1");
    const second = await c.track("2");
    await c.client.flush();
    assert.deepEqual(await Promise.all(flushed), [{ delivered: [second], lost: [], undelivered: [], duplicates: 0 }]);
  });

  it("may flush while others wait, and two requests are never under way at once", async () => {
    const c = startClient({ size: 1, onDelivered: () => void c.client.flush() });
    for (const event of ["1", "2", "3", "4"]) void c.track(event);
    await c.clock.rest();
    assert.deepEqual([c.batches(), c.mostAtOnce()], [[["1"], ["2"], ["3"], ["4"]], 1]);
  });

  it("are not needed: then losses are written to standard error, a line a second at most", async () => {
    const c = startClient({ deaf: true, size: 1, answers: ({ nth }) => (nth <= 1_001 ? 400 : 200) });
    for (let nth = 1; nth <= 1_000; nth += 1) void c.track("E");
    await c.client.flush();
    assert.equal(c.lines.length, 1);
    assert.match(c.lines[0] ?? "", /^analytics: track \S+ is lost: the server refused its batch: 400$/);
    await c.clock.advance("2s");
    assert.match(c.lines[1] ?? "", /^analytics: 999 more calls are lost; the last: track \S+ is lost: /);
    void c.track("E");
    await c.client.flush();
    assert.match(c.lines[2] ?? "", /^analytics: track \S+ is lost: /);
    assert.deepEqual([c.lines.length, c.alive()], [3, 0]);
  });

  for (const hook of ["idle", "gone"] as const) {
    it(`are not needed when the program ends first (${hook}): how many are lost is written down then`, async () => {
      const c = startClient({ deaf: true, answers: () => 401 });
      for (let nth = 1; nth <= 20; nth += 1) void c.track("E");
      await c.client.flush();
      assert.equal(c.lines.length, 1);
      c.exit(hook);
      assert.match(c.lines[1] ?? "", /^analytics: 19 more calls are lost; /);
      c.exit(hook);
      await c.clock.advance("1h");
      assert.deepEqual([c.lines.length, c.timers()], [2, 0]);
    });
  }

  it("are not needed at the end, either: close says how many it has given back", async () => {
    const c = startClient({ deaf: true, answers: () => "hang" });
    for (const event of ["1", "2"]) void c.track(event);
    const closed = c.client.close(1);
    await c.clock.advance("1s");
    assert.equal((await closed).undelivered.length, 2);
    assert.deepEqual(c.lines, ["analytics: 2 calls were not delivered in time: see what close() returned"]);
  });
});
