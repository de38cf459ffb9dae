import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SLOW } from "../slow.ts";
import { createFalseClock } from "./clock.ts";
import { startDaemon } from "./daemon.ts";
import { ONLY_SQLITE } from "./outbox.ts";

const TRACK = { userId: "u1", event: "Signed Up", messageId: "m1" };

describe("after a crash", () => {
  it("delivers what was acknowledged and not sent", async () => {
    await using first = await startDaemon({ answers: () => "hang" });
    for (let n = 0; n < 300; n += 1) await first.ask("/v1/track", { ...TRACK, messageId: `m${n}` });
    await using second = await first.crash({ answers: () => 200 });
    await second.clock.rest();
    const ids = second.sent.map(({ body }) => JSON.parse(body).messageId);
    assert.equal(new Set(ids).size, 300);
    assert.ok((await second.rows()).every(({ state }) => state === "delivered"));
  });

  it("sends the same bytes with the same signature as before", async () => {
    await using first = await startDaemon({ answers: () => 503 });
    await first.call("/v1/track", TRACK);
    await using second = await first.crash({ answers: () => 200 });
    await second.clock.advance("2s");
    assert.equal(second.sent[0]?.body, first.sent[0]?.body);
  });

  it("goes on with the wait where it was, and does not start it anew", async () => {
    await using first = await startDaemon({ answers: () => 503 });
    await first.call("/v1/track", TRACK);
    await first.clock.advance("5m");
    const { due_at: dueAt, attempts } = await first.row();
    await using second = await first.crash({ answers: () => 503 });
    const row = await second.row();
    assert.deepEqual({ dueAt: row.due_at, attempts: row.attempts }, { dueAt, attempts });
    await second.clock.advance("10m");
    assert.equal(second.sent[0]?.at, dueAt);
  });

  it("goes on with the four hours, and does not start them anew", SLOW, async () => {
    await using first = await startDaemon({ answers: () => 503 });
    await first.call("/v1/track", TRACK);
    await first.clock.advance("3h");
    await using second = await first.crash({ answers: () => 503 });
    await second.clock.advance("1h1m");
    assert.equal((await second.row()).state, "expired");
  });

  it("tries once more what passed its cutoff while the daemon was down, and gives nothing up untried", async () => {
    await using first = await startDaemon({ answers: () => 503 });
    await first.call("/v1/track", TRACK);
    const crashed = first.crash({ answers: () => 200 });
    await using second = await crashed;
    await second.clock.advance("1s");
    assert.equal((await second.row()).state, "delivered");
  });

  it("makes exactly one attempt after a cutoff that passed in the meantime", SLOW, async () => {
    await using first = await startDaemon({ answers: () => 503 });
    await first.call("/v1/track", TRACK);
    await first.clock.advance("2h");
    first.clock.skip("10h");
    await using second = await first.crash({ answers: () => 503 });
    await second.clock.advance("24h");
    assert.equal(second.sent.length, 1);
    assert.equal((await second.row()).state, "expired");
  });

  it("goes on from the time of the outbox on a machine that boots in 1970", ONLY_SQLITE, async () => {
    await using first = await startDaemon({ answers: () => 503 });
    await first.call("/v1/track", TRACK);
    await first.clock.advance("5m");
    await using second = await first.crash({ answers: () => 200, clock: createFalseClock(0) });
    await second.clock.advance("11m");
    assert.equal((await second.row()).state, "delivered");
  });
});

describe("a stop", () => {
  it("lets running attempts finish, and writes what came of them", async () => {
    await using d = await startDaemon({ answers: () => ({ status: 200, after: 3_000 }) });
    await d.call("/v1/track", TRACK);
    const stopping = d.app.stop();
    await d.clock.advance("3s");
    await stopping;
    assert.equal((await d.row()).state, "delivered");
  });

  it("begins nothing new", async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await d.call("/v1/track", TRACK);
    await d.app.stop();
    await d.clock.advance("1h");
    assert.equal(d.sent.length, 1);
  });

  it("lets go of running attempts when it has to be quick: they begin anew after the start", async () => {
    await using first = await startDaemon({ answers: () => "hang" });
    await first.call("/v1/track", TRACK);
    const stopping = first.app.stop();
    first.app.release();
    await stopping;
    assert.deepEqual(
      first.told.filter(({ what }) => what === "released").map(({ args }) => args),
      [[1]],
    );
    assert.equal((await first.row()).attempts, 0);
  });

  it("may be asked for twice", async () => {
    await using d = await startDaemon();
    await Promise.all([d.app.stop(), d.app.stop()]);
    await d.app.stop();
  });
});
