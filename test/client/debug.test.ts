import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { names } from "../../src/client/debug.ts";
import { startClient } from "./world.ts";

describe("the environment variable DEBUG", () => {
  for (const [list, expected] of [
    ["analytics", true],
    ["express,analytics", true],
    ["express analytics", true],
    ["*", true],
    ["", false],
    ["analytics-node", false],
    ["*,-analytics", false],
  ] as const) {
    it(`${expected ? "switches" : "does not switch"} the lines on: ${JSON.stringify(list)}`, async () => {
      assert.equal(names(list, "analytics"), expected);
      const c = startClient({ world: { debugNames: () => list } });
      void c.track("E");
      await c.client.flush();
      assert.equal(c.lines.length > 0, expected);
    });
  }
});

describe("the lines", () => {
  it("are those of the Go client", async () => {
    const c = startClient({ debug: true, flushAt: 3 });
    for (const event of ["A", "B", "C", "D"]) void c.track(event);
    await c.clock.advance("10s");
    await c.client.close(1_000);
    const lines = c.lines.map((line) => line.replace(/ \{.*/, " …"));
    assert.deepEqual(lines, [
      "analytics buffer (1/3) …",
      "analytics buffer (2/3) …",
      "analytics buffer (3/3) …",
      "analytics exceeded 3 messages – flushing",
      "analytics buffer (1/3) …",
      "analytics response 200 OK",
      "analytics interval reached - flushing 1",
      "analytics response 200 OK",
      "analytics interval reached – nothing to send",
      "analytics exit requested – draining",
    ]);
  });

  it("show each call as it goes out, and what the server says, and never the write key", async () => {
    const lines: string[] = [];
    const refusal = { status: 503, body: { code: "store_full", message: "no room" } };
    const c = startClient({ debug: (line) => lines.push(line), answers: ({ nth }) => (nth === 1 ? refusal : 200) });
    void c.track("E");
    void c.client.flush();
    await c.clock.advance("1s");
    assert.match(lines[0] ?? "", /^buffer \(1\/20\) \{"type":"track",.*"event":"E"\}$/);
    assert.deepEqual(lines.slice(1), [
      'response 503 Service Unavailable – {"code":"store_full","message":"no room"}',
      "trying again in 0.5 s",
      "response 200 OK",
    ]);
    assert.doesNotMatch(lines.join("\n"), /website-key|d2Vic2l0ZS1rZXk/);
    assert.deepEqual(c.lines, []);
  });

  for (const [what, later] of [
    ["at once", () => null],
    ["after an await", () => Promise.resolve()],
  ] as const) {
    it(`may be taken by a function that makes calls: it does not hear of these (${what})`, async () => {
      const heard: string[] = [];
      const c = startClient({
        debug: async (line) => {
          heard.push(line);
          const wait = heard.length < 100 ? later() : new Promise(() => {});
          if (wait) await wait;
          if (line.startsWith("buffer")) void c.track("about it");
        },
      });
      void c.track("E");
      await c.clock.advance("11s");
      // What is sent later is heard of, also if the function's own call was the last before.
      assert.deepEqual(
        heard.map((line) => line.replace(/ \{.*/, " …")),
        ["buffer (1/20) …", "interval reached - flushing 2", "response 200 OK", "interval reached – nothing to send"],
      );
      assert.deepEqual([c.batches(), c.lines], [[["E", "about it"]], []]);
    });
  }

  it("may be taken by a function that closes the client: that is one close", async () => {
    const closed: unknown[] = [];
    const lines: string[] = [];
    const c = startClient({
      debug: (line) => {
        lines.push(line.replace(/ \{.*/, " …"));
        if (line.startsWith("exit") && lines.length < 100) closed.push(c.client.close(1));
      },
    });
    void c.track("E");
    const outer = c.client.close(1_000);
    await c.clock.rest();
    assert.deepEqual([closed.length, closed[0] === outer], [1, true]);
    assert.equal((await outer).delivered.length, 1);
    assert.deepEqual(lines, ["buffer (1/20) …", "exit requested – draining", "response 200 OK"]);
  });

  it("may be taken by a function that throws", async () => {
    const c = startClient({
      debug: () => {
        throw new Error("no paper");
      },
    });
    void c.track("E");
    const { delivered } = await c.client.flush();
    assert.equal(delivered.length, 1);
    assert.match(c.lines[0] ?? "", /^analytics: a callback has thrown: Error: no paper/);
  });
});
