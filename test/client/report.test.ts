import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FlushReport } from "../../src/client/report.ts";
import { KEY, startClient } from "./world.ts";

describe("the program's own functions", () => {
  it("may throw or reject: all calls are still sent and reported", async () => {
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
    assert.equal(c.lines.filter((line) => /a callback threw: Error: (broken|rejected)/.test(line)).length, 4);
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

  it("may flush, which reports only the calls that are open then", async () => {
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
    assert.match(c.lines[0] ?? "", /^analytics: track \S+ is lost: the server refused the batch: 400$/);
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
    assert.deepEqual(c.lines, ["analytics: 2 calls were not delivered in time; close() returned them as undelivered"]);
  });
});

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

  it("show each call as it is sent, and the server's answer, and never the write key", async () => {
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
    it(`may be taken by a function that makes calls: it gets no lines about these (${what})`, async () => {
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
    assert.match(c.lines[0] ?? "", /^analytics: a callback threw: Error: no paper/);
  });
});

/** What may stand in an answer, or in a call, and not reach a terminal as it is. */
const WILD = "\u001b[2J\u009b31m\u202egpj.exe\u2066\u200b\u061c\ufeff\r\nanalytics response 200 OK";
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

describe("text of a server on a terminal", () => {
  it("has its control characters, bidi marks and invisible ones escaped, in the lines of DEBUG=analytics", async () => {
    for (const body of [WILD, { code: "bad", message: WILD }]) {
      const c = startClient({
        world: { debugNames: () => "analytics" },
        answers: () => ({ status: 400, body }),
        deaf: true,
      });
      void c.call("track", { userId: `u${WILD}`, event: "E" });
      await c.client.flush();
      assert.ok(c.lines.length > 2);
      for (const line of c.lines) assert.doesNotMatch(line, UNSEEN);
      assert.match(c.lines.join("\n"), /\\u009b31m\\u202egpj\.exe/);
    }
  });

  it("has them escaped in the lines that a function of the program's gets, and where losses are written down", async () => {
    const lines: string[] = [];
    const body = { code: "bad", message: WILD };
    const c = startClient({ debug: (line) => lines.push(line), answers: () => ({ status: 400, body }), deaf: true });
    void c.track("E");
    await c.client.flush();
    const told = startClient({ answers: () => ({ status: 400, body }) });
    void told.track("E");
    await told.client.flush();
    for (const line of [...lines, ...c.lines, told.lost[0]?.message ?? "\0"]) assert.doesNotMatch(line, UNSEEN);
    assert.match(c.lines.join("\n"), /is lost: .*\\u202egpj/);
  });
});

describe("a server that echoes the request", () => {
  const encoded = btoa(`${KEY}:`);
  const echoes: Readonly<Record<string, (headers: Readonly<Record<string, string>>) => unknown>> = {
    "as JSON": (headers) => ({ code: "bad", message: `you sent ${JSON.stringify(headers)}`, echo: headers }),
    "as text": (headers) => `<pre>${JSON.stringify(headers, null, 2)} writeKey=${KEY}</pre>`,
    "cut at the length that is shown": (headers) => `${"x".repeat(284)}${headers.Authorization}`,
    "in a code": () => ({ code: `bad-${KEY}`, message: encoded.replace(/=+$/, "") }),
    "in an escaped form": () => `{"code":"bad","message":"\\u0077ebsite-key"}`,
    "for one call": ({ Authorization }) => ({
      success: true,
      accepted: 0,
      duplicate: 0,
      rejected: [{ index: 0, messageId: KEY, code: "bad", message: `${Authorization} ${KEY}` }],
    }),
  };
  for (const [how, echo] of Object.entries(echoes)) {
    it(`never shows the write key, as it is or in Basic: ${how}`, async () => {
      const lines: string[] = [];
      const c = startClient({
        debug: (line) => lines.push(line),
        answers: ({ headers }) => ({ status: how === "for one call" ? 200 : 400, body: echo(headers) }),
      });
      void c.track("E");
      await c.client.flush();
      const [error] = c.lost;
      assert.ok(error, "the call is lost");
      const all = [error.message, error.code, String(error.cause), error.stack, ...lines, ...c.lines].join("\n");
      assert.doesNotMatch(all, /website-key|d2Vic2l0/);
    });
  }

  it("is understood as before: only what is shown is masked", async () => {
    const body = { success: true, accepted: 1, duplicate: 0, message: KEY, [KEY]: 1 };
    const c = startClient({ answers: () => ({ status: 200, body }) });
    void c.track("E");
    await c.client.flush();
    assert.deepEqual([c.delivered.length, c.lost.length], [1, 0]);
  });

  it("has its message masked when a fetch of the program fails with it", async () => {
    const c = startClient({ answers: () => new Error(`cannot send Authorization: Basic ${encoded}`), retries: 0 });
    void c.track("E");
    await c.client.flush();
    assert.match(c.lost[0]?.message ?? "", /cannot send Authorization: Basic \*\*\*$/);
  });
});
