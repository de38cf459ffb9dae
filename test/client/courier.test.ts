import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { QueueFullError } from "../../src/client/errors.ts";
import { type Arrived, type Behaviour, KEY, startClient, type TestClient } from "./world.ts";

const DOWN = new Error("connection refused");

function trackAll(c: TestClient, count: number): void {
  for (let nth = 1; nth <= count; nth += 1) void c.track(String(nth));
}

describe("a batch", () => {
  it("is split where the next call would not fit, to the byte", async () => {
    const first = startClient();
    trackAll(first, 3);
    await first.client.flush();
    const bytes = Buffer.byteLength(first.arrived[0]?.text ?? "");
    // At least as large as the options allow.
    const pad = { properties: { pad: "é".repeat(200) } };
    const exact = bytes + 3 * Buffer.byteLength(`,"properties":${JSON.stringify(pad.properties)}`);
    for (const [maxBatchSize, expected] of [
      [exact, [["1", "2", "3"]]],
      [exact - 1, [["1", "2"], ["3"]]],
    ] as const) {
      const c = startClient({ maxBatchSize });
      for (const event of ["1", "2", "3"]) void c.track(event, pad);
      await c.client.flush();
      assert.deepEqual(c.batches(), expected);
      assert.equal(Buffer.byteLength(c.arrived[0]?.text ?? "") <= maxBatchSize, true);
    }
  });

  it("is never over the limit, also where some of its calls say by themselves when they were sent", async () => {
    const c = startClient({ maxBatchSize: 2_000, maxCallSize: 1_024, size: 100 });
    for (let nth = 0; nth < 60; nth += 1) void c.track("E", nth % 7 === 5 ? { timestamp: "2012-12-02T00:30:12Z" } : {});
    await c.client.flush();
    assert.equal(c.arrived.flatMap(({ envelope }) => envelope.batch).length, 60);
    assert.ok(c.arrived.every(({ text }) => Buffer.byteLength(text) <= 2_000));
  });

  it("comes after the one before it is settled, however often that is tried", async () => {
    const c = startClient({ size: 2, answers: ({ nth }) => (nth <= 2 ? 503 : 200) });
    trackAll(c, 5);
    void c.client.flush();
    await c.clock.advance("499ms");
    assert.deepEqual(c.batches(), [["1", "2"]]);
    await c.clock.advance("2s");
    assert.deepEqual(c.batches(), [["1", "2"], ["1", "2"], ["1", "2"], ["3", "4"], ["5"]]);
  });

  it("says how often it was tried, and when this time, and keeps its ids", async () => {
    const c = startClient({ answers: ({ nth }) => (nth <= 2 ? 503 : 200) });
    void c.track("E");
    const flushed = c.client.flush();
    await c.clock.advance("2s");
    assert.deepEqual(
      c.arrived.map(({ headers }) => headers["X-Retry-Count"]),
      [undefined, "1", "2"],
    );
    assert.deepEqual(
      c.arrived.map(({ envelope }) => envelope.sentAt.slice(17, 23)),
      ["00.000", "00.500", "01.500"],
    );
    assert.equal(new Set(c.arrived.map(({ envelope }) => envelope.messageId)).size, 1);
    assert.equal(new Set(c.arrived.map(({ envelope }) => envelope.batch[0]?.messageId)).size, 1);
    assert.equal((await flushed).delivered.length, 1);
  });

  it("is tried 11 times over 4 minutes, and then lost with each of its calls named", async () => {
    const c = startClient({ answers: () => DOWN });
    trackAll(c, 2);
    const flushed = c.client.flush();
    await c.clock.advance("243499ms");
    assert.equal(c.arrived.length, 10);
    await c.clock.advance("1ms");
    assert.equal(c.arrived.length, 11);
    const { lost } = await flushed;
    assert.deepEqual(
      lost.map(({ call }) => call.event),
      ["1", "2"],
    );
    assert.match(
      lost[0]?.message ?? "",
      /^track \S+ is lost: no success in 11 attempts; the last: no answer: connection refused$/,
    );
    assert.deepEqual(
      [lost[0]?.reason, lost[0]?.code, lost[0]?.status, lost[0]?.attempts, lost[0]?.cause],
      ["gave_up", "gave_up", null, 11, DOWN],
    );
    assert.deepEqual(c.lost, lost);
  });

  it("is ended when there is no answer in time, and tried again", async () => {
    const c = startClient({ timeout: 2_000, answers: ({ nth }) => (nth === 1 ? "hang" : 200) });
    void c.track("E");
    const flushed = c.client.flush();
    await c.clock.advance("2s");
    assert.equal(c.arrived.length, 1);
    await c.clock.advance("500ms");
    assert.equal((await flushed).delivered.length, 1);
  });

  it("is tried again when its answer breaks off: what it says must be known", async () => {
    const broken = {
      status: 200,
      statusText: "",
      headers: new Headers(),
      text: () => Promise.reject(new Error("reset")),
    };
    let asked = 0;
    const c = startClient({
      fetch: async () => {
        asked += 1;
        return asked === 1 ? broken : { ...broken, text: async () => '{"success":true,"accepted":0,"duplicate":1}' };
      },
    });
    void c.track("E");
    const flushed = c.client.flush();
    await c.clock.advance("1s");
    const { delivered, duplicates } = await flushed;
    assert.deepEqual([asked, delivered.length, duplicates], [2, 1, 1]);
  });

  it("waits as long as a 429 says, again and again, and uses up no retry by that", async () => {
    const c = startClient({
      retries: 0,
      answers: ({ nth }) => (nth <= 5 ? { status: 429, headers: { "Retry-After": "60" } } : 200),
    });
    void c.track("E");
    const flushed = c.client.flush();
    await c.clock.advance("5m");
    assert.deepEqual(
      c.arrived.map(({ at }) => at - (c.arrived[0]?.at ?? 0)),
      [0, 60_000, 120_000, 180_000, 240_000, 300_000],
    );
    assert.equal((await flushed).delivered.length, 1);
  });
});

describe("a server that answers 429 with Retry-After forever", () => {
  it("is retried for twelve hours, and then until the retries are used up: no flush waits forever", async () => {
    const c = startClient({ retries: 1, answers: () => ({ status: 429, headers: { "Retry-After": "300" } }) });
    void c.track("E");
    const flushed = c.client.flush();
    await c.clock.advance("12h");
    assert.deepEqual([c.lost.length, c.arrived.length], [0, 12 * 12 + 1]);
    await c.clock.advance("5m");
    assert.deepEqual([c.lost[0]?.reason, (await flushed).lost.length], ["gave_up", 1]);
  });
});

describe("the verdicts of the server", () => {
  const rejected = [
    { index: 1, code: "call_too_large", message: "too large", messageId: "m2" },
    { index: 0, code: "invalid_call", message: "out of place", messageId: "m3" },
    { index: 99 },
    null,
  ];

  it("reach onError with the call that each is about; the others are delivered", async () => {
    const c = startClient({
      answers: () => ({ status: 200, body: { success: true, accepted: 2, duplicate: 0, rejected } }),
    });
    for (const messageId of ["m1", "m2", "m3", "m4"]) void c.track("E", { messageId });
    const { delivered, lost } = await c.client.flush();
    assert.deepEqual(delivered, ["m1", "m4"]);
    assert.deepEqual(
      lost.map(({ call, reason, code, status, attempts }) => [call.messageId, reason, code, status, attempts]),
      [
        ["m2", "rejected", "call_too_large", 200, 1],
        ["m3", "rejected", "invalid_call", 200, 1],
      ],
    );
    assert.match(lost[0]?.message ?? "", /^track m2 is lost: the server rejected it: call_too_large: too large$/);
    // Of those that fit no call nobody can say which is lost; but that one is.
    assert.deepEqual(c.lines, ["analytics: the server rejected 2 calls that were not in the batch of 4"]);
    assert.deepEqual(
      c.delivered.map(({ messageId }) => messageId),
      ["m1", "m4"],
    );
  });

  it("on a whole batch reach onError with each call, and the next batch is sent", async () => {
    const refusal = { status: 401, body: { success: false, code: "unknown_write_key", message: "no source has it" } };
    const c = startClient({ size: 1, answers: ({ nth }) => (nth === 1 ? refusal : 200) });
    trackAll(c, 2);
    const { delivered, lost } = await c.client.flush();
    assert.equal(c.arrived.length, 2);
    assert.deepEqual(
      [delivered.length, lost.length, lost[0]?.reason, lost[0]?.code],
      [1, 1, "refused", "unknown_write_key"],
    );
    assert.match(lost[0]?.message ?? "", /the server refused the batch: 401: unknown_write_key: no source has it$/);
  });

  it("name the address that a redirect leads to, and say if the endpoint is to change", async () => {
    const headers = { Location: `https://events.example.com/v1/batch?key=${KEY}` };
    for (const [status, expected] of [
      [308, /refused the batch: 308; set endpoint to https:\/\/events\.example\.com\/v1\/batch\?key=\*\*\*$/],
      [
        302,
        /no success in one attempt; the last: 302; it redirects to https:\/\/events\.example\.com\/v1\/batch\?key=\*\*\*$/,
      ],
    ] as const) {
      const c = startClient({ retries: 0, answers: () => ({ status, headers }) });
      void c.track("E");
      const { lost } = await c.client.flush();
      assert.match(lost[0]?.message ?? "", expected);
    }
  });

  it("are none where there is nothing to read: Segment's own answer says no more than that all went well", async () => {
    for (const body of [{ success: true }, { success: true, rejected: "all" }]) {
      const c = startClient({ answers: () => ({ status: 200, body }) });
      void c.track("E");
      assert.deepEqual([(await c.client.flush()).delivered.length, c.lines], [1, []]);
    }
  });

  it("are asked for again where something else has answered, and the loss shows what", async () => {
    const c = startClient({ retries: 1, answers: () => ({ status: 200, body: `<html>Welcome!${"x".repeat(400)}` }) });
    void c.track("E");
    const flushed = c.client.flush();
    await c.clock.advance("1s");
    const { delivered, lost } = await flushed;
    assert.deepEqual([c.arrived.length, delivered, lost[0]?.reason, lost[0]?.status], [2, [], "gave_up", 200]);
    const { message = "" } = lost[0] ?? {};
    assert.match(
      message,
      /in 2 attempts; the last: 200 OK, but not an answer of Fairlead; is endpoint its address\? <html>We/,
    );
    assert.ok(message.length < 600);
  });

  it("may be that all are refused, with a 2xx as well", async () => {
    const c = startClient({
      answers: () => ({ status: 200, body: { success: false, code: "no", message: "not here" } }),
    });
    void c.track("E");
    const { lost } = await c.client.flush();
    assert.deepEqual([lost[0]?.reason, lost[0]?.code, c.delivered], ["refused", "no", []]);
  });
});

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

describe("a full queue", () => {
  it("is far away in an outage: 10,000 calls are taken at once, and delivered in order when it ends", async () => {
    let down = true;
    const c = startClient({ answers: () => (down ? 503 : 200) });
    const calls = Array.from({ length: 10_000 }, (_, nth) => c.track(String(nth)));
    await Promise.all(calls);
    down = false;
    await c.clock.advance("10s");
    assert.equal(c.lost.length, 0);
    assert.deepEqual(
      c.delivered.map(({ event }) => event),
      calls.map((_, nth) => String(nth)),
    );
  });

  it("drops the oldest call, and reports it", async () => {
    const c = startClient({ size: 1, queue: { limit: 2 }, answers: () => "hang" });
    trackAll(c, 5);
    // One is being sent, and two wait.
    assert.deepEqual(
      c.lost.map(({ call, reason }) => [call.event, reason]),
      [
        ["2", "dropped"],
        ["3", "dropped"],
      ],
    );
    const { undelivered } = await closeAt(c);
    assert.deepEqual(
      undelivered.map(({ event }) => event),
      ["1", "4", "5"],
    );
  });

  it("refuses the newest call with an error, with `reject`", async () => {
    const c = startClient({ size: 1, queue: { limit: 2, whenFull: "reject" }, answers: () => "hang" });
    trackAll(c, 3);
    assert.throws(() => c.track("4"), QueueFullError);
    const { undelivered } = await closeAt(c);
    assert.deepEqual(
      undelivered.map(({ event }) => event),
      ["1", "2", "3"],
    );
    assert.deepEqual(c.lost, []);
  });

  it("lets the caller wait, with `block`, and keeps the program alive for it", async () => {
    const c = startClient({
      size: 1,
      queue: { limit: 1, whenFull: "block" },
      answers: ({ nth }) => (nth === 1 ? 503 : 200),
    });
    trackAll(c, 2);
    let placed = false;
    const third = c.track("3").then((id) => {
      placed = true;
      return id;
    });
    await c.clock.advance("499ms");
    assert.deepEqual([placed, c.alive()], [false, 1]);
    assert.throws(() => c.track("4"), /as many more wait for room: await each call$/);
    await c.clock.advance("1ms");
    assert.match(await third, /^0000/);
    assert.deepEqual([c.alive(), c.batches()], [0, [["1"], ["1"], ["2"], ["3"]]]);
  });

  it("lets a call that onError makes displace no other: that would never end", async () => {
    const thrown: unknown[] = [];
    const c = startClient({
      ...{ size: 1, queue: { limit: 1 }, answers: () => "hang" as const },
      onError: () => {
        try {
          void c.track("lost");
        } catch (error) {
          thrown.push(error);
        }
      },
    });
    trackAll(c, 3);
    assert.equal(thrown.length, 1);
    assert.ok(thrown[0] instanceof QueueFullError);
  });
});

describe("a call that onError makes after an await or a timer", () => {
  for (const [what, later] of [
    ["await", () => Promise.resolve()],
    ["timer", () => new Promise((resolve) => setTimeout(resolve))],
  ] as const) {
    it(`displaces no other, either: the program would not go on (${what})`, async () => {
      const thrown: unknown[] = [];
      let told = 0;
      const c = startClient({
        ...{ size: 1, queue: { limit: 1 }, answers: () => "hang" as const },
        onError: async () => {
          told += 1;
          // Without it, this test would not end when it fails.
          if (told > 100) return;
          await later();
          await c.track("lost").catch(assert.fail);
        },
        world: { log: (line) => thrown.push(line) },
      });
      trackAll(c, 3);
      await later();
      await c.clock.rest();
      assert.deepEqual([told, thrown.length], [1, 1]);
      assert.match(String(thrown[0]), /QueueFullError: .* a call made in onError does not replace another/);
    });
  }

  it("is alone in that: others displace the oldest meanwhile", async () => {
    let told = 0;
    const c = startClient({
      ...{ size: 1, queue: { limit: 1 }, answers: () => "hang" as const },
      onError: () => {
        told += 1;
        return new Promise(() => {});
      },
    });
    trackAll(c, 4);
    await c.clock.rest();
    trackAll(c, 2);
    assert.equal(told, 4);
  });

  it("does not pass this on to what the library does afterwards", async () => {
    const c = startClient({
      ...{ size: 1, queue: { limit: 1 }, answers: ({ nth }) => (nth === 1 ? 400 : nth === 2 ? 200 : "hang") },
      onError: ({ reason }) => {
        if (reason === "refused") void c.track("about it");
      },
      onDelivered: () => trackAll(c, 3),
    });
    void c.track("1");
    await c.clock.rest();
    const { lost, undelivered } = await closeAt(c);
    assert.deepEqual([c.lines, lost.length, undelivered.map(({ event }) => event)], [[], 0, ["1", "3"]]);
  });
});

/** Closes after a second. */
async function closeAt(c: TestClient) {
  const closed = c.client.close(1_000);
  await c.clock.advance("1s");
  return closed;
}
