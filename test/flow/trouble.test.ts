import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SLOW } from "../slow.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_A, URL_B } from "./make.ts";
import { REFUSED } from "./network.ts";
import { ENGINE } from "./outbox.ts";

const TRACK = { userId: "u1", event: "Signed Up" };

async function callMany(d: TestDaemon, count: number, event: string): Promise<void> {
  for (let left = count; left > 0; left -= 100) {
    const batch = Array.from({ length: Math.min(100, left) }, () => ({ type: "track", userId: "u", event }));
    await d.call("/v1/batch", { batch });
  }
}

/** Nobody can write while this runs, as when an operator has begun a transaction in the shell. */
async function whileLocked(d: TestDaemon, run: () => Promise<void>): Promise<void> {
  const unlock = await d.outbox.lock();
  await run().finally(unlock);
}

/** As `whileLocked`, without the seconds for which SQLite waits with each commit. */
async function breakDisk(d: TestDaemon): Promise<() => Promise<unknown>> {
  if (ENGINE !== "sqlite") return d.outbox.lock();
  const tables = ["progress", "tried", "segments"];
  const does = (table: string): string => (table === "segments" ? "INSERT" : "UPDATE");
  for (const table of tables) {
    await d.query(
      `CREATE TRIGGER failing_${table} BEFORE ${does(table)} ON ${table} BEGIN SELECT RAISE(ABORT, 'disk full'); END`,
    );
  }
  return () => Promise.all(tables.map((table) => d.query(`DROP TRIGGER failing_${table}`)));
}

describe("a short outage", () => {
  it("of a busy receiver delays what waits by seconds, not by minutes", SLOW, async () => {
    let down = false;
    await using d = await startDaemon({ answers: () => ({ status: down ? 503 : 200, after: 50 }) });
    await callMany(d, 2_000, "E");
    await d.clock.advance("1s");
    down = true;
    await d.clock.advance("2s");
    down = false;
    await d.clock.advance("30s");
    assert.ok((await d.rows()).every(({ state }) => state === "delivered"));
  });
});

describe("an outbox that cannot be written for a while", () => {
  it("refuses calls, keeps what receivers have answered, and writes it when it can", SLOW, async () => {
    await using d = await startDaemon({ answers: () => ({ status: 200, after: 100 }) });
    await d.ask("/v1/track", TRACK);
    await whileLocked(d, async () => {
      await d.clock.advance("3s");
      const { status, json } = await d.ask("/v1/track", TRACK);
      assert.deepEqual([status, json.code], [503, "store_failed"]);
      // The first call is in the tail, which nothing has to write before it is read.
      const [only] = (await d.admin("GET", "/api/deliveries")).json.deliveries as { messageId: string }[];
      const { json: found } = await d.admin("GET", `/api/events/${only?.messageId}`);
      assert.equal((found.events as object[]).length, 1);
    });
    await d.clock.advance("3s");
    assert.equal(d.sent.length, 1);
    assert.equal((await d.row()).state, "delivered");
  });

  it("is sent no more than 512 deliveries that could not be written, and gets all of them later", SLOW, async () => {
    let up = false;
    await using d = await startDaemon({ answers: () => (up ? { status: 200, after: 10 } : 503) });
    await callMany(d, 3_000, "E");
    const before = d.sent.length;
    const mend = await breakDisk(d);
    up = true;
    await d.clock.advance("1m");
    await mend();
    const sent = d.sent.length - before;
    assert.ok(sent > 0 && sent <= 512, `${sent} were sent`);
    await d.clock.advance("1m");
    assert.ok((await d.rows()).every(({ state }) => state === "delivered"));
    assert.equal(d.sent.length - before, 3_000);
  });

  it("leaves no retry behind", SLOW, async () => {
    await using d = await startDaemon({ answers: ({ body }) => (JSON.parse(body).event === "good" ? 200 : 503) });
    await d.call("/v1/track", { ...TRACK, event: "bad-1" });
    await d.clock.advance("1s");
    await d.call("/v1/track", { ...TRACK, event: "bad-2" });
    await whileLocked(d, () => d.clock.advance("5s"));
    await d.clock.advance("5h");
    const states = (await d.rows()).map(({ state }) => state);
    assert.deepEqual(states, ["expired", "expired"]);
  });

  it(
    "does not keep the daemon from stopping: what could not be written is sent again after the start",
    SLOW,
    async () => {
      await using d = await startDaemon({ answers: () => ({ status: 200, after: 100 }) });
      await d.ask("/v1/track", TRACK);
      await whileLocked(d, async () => {
        await d.clock.advance("1s");
        const stopping = d.app.stop();
        await d.clock.advance("10s");
        await stopping;
      });
      assert.equal((await d.row()).state, "waiting");
    },
  );
});

describe("one of several webhooks that is down", () => {
  it("does not keep retries from the others, however many wait for it alone", SLOW, async () => {
    const failed = new Set<string>();
    await using d = await startDaemon({
      config: { destinations: [makeDestination({ urls: [URL_A, URL_B] })] },
      answers: ({ url, body }) => {
        const { event, messageId } = JSON.parse(body);
        if (url === URL_B) return REFUSED;
        if (event === "refused") return 400;
        if (failed.has(messageId)) return 200;
        failed.add(messageId);
        return 503;
      },
    });
    await callMany(d, 300, "refused");
    await d.clock.advance("2m");
    await callMany(d, 3, "fails once");
    await d.clock.advance("1m");
    const last = (await d.rows()).slice(300).map(({ state }) => state);
    assert.deepEqual(last, ["delivered", "delivered", "delivered"]);
  });
});

describe("a retry that the disk has changed", () => {
  it("is told now and then, is not sent, and does not keep its destination's loop busy", async () => {
    let up = false;
    await using d = await startDaemon({ answers: () => (up ? 200 : 503) });
    await d.call("/v1/track", TRACK);
    await d.call("/v1/track", TRACK);
    await d.query(
      "UPDATE tried SET body = replace(body, 'Signed', 'Resigned') WHERE event = (SELECT max(event) FROM tried)",
    );
    up = true;
    await d.clock.advance("1m");
    const rows = await d.rows();
    assert.deepEqual(
      rows.map(({ state }) => state),
      ["delivered", "waiting"],
    );
    const told = d.told.filter(({ what }) => what === "storeFailed").length;
    assert.ok(told > 0 && told < 10, `told ${told} times in a minute`);
  });
});
