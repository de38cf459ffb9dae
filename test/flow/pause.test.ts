import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Destination } from "../../src/model/config.ts";
import { neverStopped, type StoredClock } from "../../src/model/destination-clock.ts";
import type { OpenStore, StoreChange } from "../../src/model/ports.ts";
import { type At, HOUR, MINUTE, type Ms, SECOND } from "../../src/model/units.ts";
import { SLOW } from "../slow.ts";
import { START } from "./clock.ts";
import { type Answer, startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_B } from "./make.ts";
import { type Behaviour, REFUSED, type Sent } from "./network.ts";
import { openStore } from "./outbox.ts";

const OFF = makeDestination({ enabled: false });
const NEW = makeDestination({ name: "new", urls: [URL_B] });

async function call(d: TestDaemon, ...ids: readonly string[]): Promise<void> {
  for (const messageId of ids) await d.ask("/v1/track", { userId: "u1", event: "E", messageId });
  await d.clock.rest();
}

async function change(d: TestDaemon, what: "pause" | "resume", name = "crm"): Promise<Answer> {
  const answer = await d.admin("POST", `/api/destinations/${name}/${what}`, { body: {} });
  await d.clock.rest();
  return answer;
}

async function reload(d: TestDaemon, ...destinations: readonly Destination[]): Promise<void> {
  await d.app.reload({ ...d.config, destinations });
  await d.clock.rest();
}

function arrived({ sent }: TestDaemon): readonly string[] {
  return sent.map(({ body }) => JSON.parse(body).messageId);
}

async function state(d: TestDaemon): Promise<string> {
  return (await d.row()).state;
}

/** How long after this, to the minute, the delivery is given up. */
async function expiresAfter(d: TestDaemon, from: At): Promise<Ms> {
  while ((await state(d)) === "waiting") {
    assert.ok(d.clock.now() - from < 100 * HOUR, "it is never given up");
    await d.clock.advance("1m");
  }
  assert.equal(await state(d), "expired");
  return d.clock.now() - from;
}

function told(d: TestDaemon, what: string): readonly unknown[] {
  return d.told.filter((one) => one.what === what).map(({ args }) => args);
}

function until(at: Ms, before: Behaviour, after: Behaviour): (sent: Sent) => Behaviour {
  return (sent) => (sent.at < START + at ? before : after);
}

describe("a destination that is paused", () => {
  it("takes new events and holds them; resumed, it gets them at once, the oldest first", async () => {
    await using d = await startDaemon();
    const { status, json } = await change(d, "pause");
    assert.equal(status, 200);
    assert.deepEqual(json, {
      success: true,
      paused: true,
      since: "2026-11-20T12:00:00.000Z",
      changed: true,
      waiting: 0,
    });
    assert.equal((await d.ask("/v1/track", { userId: "u", event: "E", messageId: "m1" })).status, 200);
    await call(d, "m2", "m3");
    await d.clock.advance("10h");
    assert.deepEqual(arrived(d), []);
    const resumed = await change(d, "resume");
    assert.partialDeepStrictEqual(resumed.json, { paused: false, changed: true, waiting: 3, served: true });
    assert.deepEqual(arrived(d), ["m1", "m2", "m3"]);
    assert.deepEqual(told(d, "paused"), [["crm", 0]]);
    assert.deepEqual(told(d, "resumed"), [["crm", { paused: 10 * HOUR, waiting: 3 }]]);
  });

  it("gets more than fits in memory, in full", SLOW, async () => {
    await using d = await startDaemon();
    await change(d, "pause");
    const ids = Array.from({ length: 700 }, (_, n) => `m${n}`);
    await call(d, ...ids);
    await change(d, "resume");
    await d.clock.advance("1s");
    assert.deepEqual(arrived(d).toSorted(), ids.toSorted());
  });

  it("has the attempts that run end as they began", async () => {
    await using d = await startDaemon({ answers: () => ({ status: 200, after: 3_000 }) });
    await call(d, "m1", "m2", "m3", "m4", "m5");
    await change(d, "pause");
    await d.clock.advance("1h");
    const states = (await d.rows()).map((row) => row.state).sort();
    assert.deepEqual(states, ["delivered", "delivered", "delivered", "delivered", "waiting"]);
  });

  it("has a retry that was due meanwhile made at once when it is resumed", async () => {
    await using d = await startDaemon({ answers: ({ nth }) => (nth === 1 ? 503 : 200) });
    await call(d, "m1");
    await change(d, "pause");
    await d.clock.advance("30s");
    assert.equal(d.sent.length, 1);
    await change(d, "resume");
    assert.equal(await state(d), "delivered");
  });

  it("is paused still after a restart, and after a crash", async () => {
    await using first = await startDaemon();
    await change(first, "pause");
    await call(first, "m1");
    await using second = await first.crash();
    await second.clock.advance("1h");
    assert.deepEqual(arrived(second), []);
    assert.deepEqual(told(second, "stillPaused"), [["crm", { since: START, waiting: 1 }]]);
    await call(second, "m2");
    await change(second, "resume");
    assert.deepEqual(arrived(second), ["m1", "m2"]);
    await second.clock.advance("2s");
    await using third = await second.crash();
    assert.deepEqual(told(third, "stillPaused"), []);
    await call(third, "m3");
    assert.deepEqual(arrived(third), ["m3"]);
  });

  it("is paused still when the config has lost it and brings it back, and the log says so", async () => {
    await using d = await startDaemon({ config: { destinations: [makeDestination(), NEW] }, answers: () => 200 });
    await change(d, "pause");
    await call(d, "m1");
    await reload(d, NEW);
    assert.deepEqual(told(d, "stillPaused"), []);
    await d.clock.advance("1h");
    await reload(d, makeDestination(), NEW);
    assert.deepEqual(told(d, "stillPaused"), [["crm", { since: START, waiting: 1 }]]);
    await call(d, "m2");
    assert.ok(d.sent.every(({ url }) => url === URL_B));
    await change(d, "resume");
    assert.equal(d.sent.filter(({ url }) => url !== URL_B).length, 2);
  });

  it("gets nothing while it is disabled, resumed or not", async () => {
    await using d = await startDaemon();
    await change(d, "pause");
    await call(d, "m1");
    await reload(d, OFF);
    const { json } = await change(d, "resume");
    assert.deepEqual([json.waiting, json.served], [1, false]);
    assert.deepEqual(arrived(d), []);
    await reload(d, makeDestination());
    assert.deepEqual(arrived(d), ["m1"]);
  });

  it("can be paused again and again, without error, and says since when", async () => {
    await using d = await startDaemon();
    const since = "2026-11-20T12:00:00.000Z";
    await change(d, "pause");
    await d.clock.advance("2h");
    const again = await change(d, "pause");
    assert.deepEqual([again.status, again.json.since, again.json.changed], [200, since, false]);
    assert.equal(told(d, "paused").length, 1);
    assert.equal((await change(d, "resume")).json.since, since);
    const { status, json } = await change(d, "resume");
    assert.deepEqual([status, json.since, json.changed], [200, null, false]);
    assert.equal(told(d, "resumed").length, 1);
  });

  it("is in the order in which it was asked for, when that comes all at once", async () => {
    await using d = await startDaemon();
    const asked = ["pause", "resume", "pause", "pause"] as const;
    const answers = await Promise.all(asked.map((what) => change(d, what)));
    assert.deepEqual(
      answers.map(({ json }) => [json.paused, json.changed]),
      [
        [true, true],
        [false, true],
        [true, true],
        [true, false],
      ],
    );
    await call(d, "m1");
    assert.deepEqual(arrived(d), []);
  });

  it("is not one that nobody knows: the nearest name is said", async () => {
    await using d = await startDaemon();
    for (const what of ["pause", "resume"] as const) {
      const { status, json } = await change(d, what, "crn");
      assert.deepEqual([status, json.code], [404, "unknown_destination"]);
      assert.equal(json.message, 'there is no destination "crn"; did you mean crm?');
    }
  });

  it("can have what waits moved to another, once its attempts are over", async () => {
    const answers = ({ url }: Sent) => (url === URL_B ? 200 : "hang");
    await using d = await startDaemon({ config: { destinations: [makeDestination(), NEW] }, answers });
    const move = () => d.admin("POST", "/api/destinations/crm/move", { body: { to: "new" } });
    await change(d, "pause", "new");
    await call(d, "m1");
    assert.equal((await move()).json.code, "destination_in_use");
    await change(d, "pause");
    assert.equal((await move()).json.code, "destination_busy");
    await d.clock.advance("5s");
    assert.deepEqual((await move()).json, { success: true, moved: 0, doubled: 1, more: false });
    await change(d, "resume", "new");
    assert.equal(d.sent.filter(({ url }) => url === URL_B).length, 1);
  });

  it("does not keep others waiting", async () => {
    await using d = await startDaemon({ config: { destinations: [makeDestination(), NEW] } });
    await change(d, "pause");
    await call(d, "m1", "m2");
    assert.deepEqual(arrived(d), ["m1", "m2"]);
  });

  it("says so in its status", async () => {
    await using d = await startDaemon();
    await change(d, "pause");
    await d.clock.advance("2h");
    const { json } = await d.admin("GET", "/api/status");
    const [crm] = json.destinations as Record<string, unknown>[];
    assert.deepEqual([crm?.state, crm?.pausedSince], ["paused", "2026-11-20T12:00:00.000Z"]);
  });
});

describe("the four hours of a delivery", () => {
  it("are four while nothing stops them", SLOW, async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await call(d, "m1");
    const lasted = await expiresAfter(d, START);
    assert.ok(lasted >= 4 * HOUR && lasted <= 4 * HOUR + MINUTE, String(lasted / HOUR));
  });

  it("do not pass while it is paused: two days later, it has the rest of them", SLOW, async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await call(d, "m1");
    await change(d, "pause");
    await d.clock.advance("48h");
    assert.deepEqual([await state(d), d.sent.length], ["waiting", 1]);
    await change(d, "resume");
    assert.deepEqual([await state(d), d.sent.length], ["waiting", 2]);
    const lasted = await expiresAfter(d, START);
    assert.ok(lasted >= 52 * HOUR && lasted <= 52 * HOUR + MINUTE, String(lasted / HOUR));
  });

  it("do not pass in any of several pauses, with restarts in and between them", SLOW, async () => {
    await using first = await startDaemon({ answers: () => 503 });
    await call(first, "m1");
    await first.clock.advance("1h");
    await change(first, "pause");
    await first.clock.advance("10h");
    await using second = await first.crash({ answers: () => 503 });
    await second.clock.advance("10h");
    await change(second, "resume");
    await second.clock.advance("1h");
    await change(second, "pause");
    await second.clock.advance("10h");
    await change(second, "resume");
    await using third = await second.crash({ answers: () => 503 });
    const lasted = await expiresAfter(third, START);
    // Each restart takes a few seconds, in which it was not paused or was.
    assert.ok(lasted >= 34 * HOUR && lasted <= 34 * HOUR + 2 * MINUTE, String(lasted / HOUR));
  });

  it("do not pass while it waits behind others for a receiver that was paused twice", SLOW, async () => {
    const ids = Array.from({ length: 40 }, (_, n) => `m${n}`);
    await using d = await startDaemon({ answers: () => REFUSED });
    await call(d, ...ids);
    await d.clock.advance("1m");
    for (let pauses = 0; pauses < 2; pauses += 1) {
      await change(d, "pause");
      await d.clock.advance("24h");
      const before = d.sent.length;
      await change(d, "resume");
      await d.clock.advance("1m");
      // The lane is closed still: nobody's last attempt is due, and only probes go out.
      assert.ok(d.sent.length - before <= 2, `${d.sent.length - before} requests in a minute`);
    }
    await d.clock.advance("1h");
    assert.ok((await d.rows()).every((row) => row.state === "waiting"));
    await d.clock.advance("4h");
    assert.ok((await d.rows()).filter((row) => row.state === "expired").length >= 10);
  });

  it("do not pass while an attempt that hangs is paused, nor is it given up", SLOW, async () => {
    await using d = await startDaemon({ answers: until(3 * HOUR, 503, "hang") });
    await call(d, "m1");
    await d.clock.advance("4h");
    // The last one has begun, and is to fail in a few seconds.
    assert.equal(d.sent.at(-1)?.at, START + 4 * HOUR);
    const { length } = d.sent;
    await change(d, "pause");
    await d.clock.advance("48h");
    assert.deepEqual([await state(d), d.sent.length], ["waiting", length]);
    await change(d, "resume");
    assert.equal(d.sent.length, length + 1);
    await d.clock.advance("6s");
    assert.equal(await state(d), "expired");
  });

  it("do not pass while it is disabled, or not in the config", SLOW, async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await call(d, "m1");
    await reload(d, OFF);
    await d.clock.advance("24h");
    await reload(d);
    await d.clock.advance("24h");
    await reload(d, makeDestination());
    assert.equal(await state(d), "waiting");
    const lasted = await expiresAfter(d, START);
    assert.ok(lasted >= 52 * HOUR && lasted <= 52 * HOUR + MINUTE, String(lasted / HOUR));
  });

  it("do not pass while it is disabled, over restarts too", SLOW, async () => {
    await using first = await startDaemon({ answers: () => 503 });
    await call(first, "m1");
    await using second = await first.crash({ config: { destinations: [] } });
    await second.clock.advance("24h");
    await using third = await second.crash({ config: { destinations: [OFF] } });
    await third.clock.advance("24h");
    await using fourth = await third.crash({ config: { destinations: [makeDestination()] }, answers: () => 503 });
    const lasted = await expiresAfter(fourth, START);
    assert.ok(lasted >= 52 * HOUR && lasted <= 52 * HOUR + 2 * MINUTE, String(lasted / HOUR));
  });

  it("are not lengthened twice by a time in which it was both paused and disabled", SLOW, async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await call(d, "m1");
    await change(d, "pause");
    await d.clock.advance("10h");
    await reload(d, OFF);
    await d.clock.advance("10h");
    await change(d, "resume");
    await d.clock.advance("10h");
    await reload(d, makeDestination());
    const lasted = await expiresAfter(d, START);
    assert.ok(lasted >= 34 * HOUR && lasted <= 34 * HOUR + MINUTE, String(lasted / HOUR));
  });

  it("are those of the wait for a receiver that has moved on meanwhile: they end as ever", SLOW, async () => {
    await using d = await startDaemon({ answers: until(SECOND / 2, 503, 200) });
    await call(d, "m1");
    await change(d, "pause");
    await d.clock.advance("48h");
    await change(d, "resume");
    assert.equal(await state(d), "delivered");
  });
});

describe("a destination that another daemon on the same store has paused", () => {
  it("gets nothing from this one either until it is resumed, and what waits is not given up meanwhile", async () => {
    const saved = createSaved();
    const answers = until(10 * HOUR + MINUTE, REFUSED, 200);
    await using d = await startDaemon({ openStore: saved.openStore, answers });
    await call(d, "m1");
    const pausedAt = d.clock.now();
    saved.hear({ ...neverStopped("crm"), pausedAt, stoppedAt: pausedAt });
    await d.clock.advance("10h");
    assert.deepEqual(arrived(d), ["m1"]);
    assert.partialDeepStrictEqual((await change(d, "pause")).json, {
      since: "2026-11-20T12:00:00.000Z",
      changed: false,
    });
    saved.hear({ ...neverStopped("crm"), stoodStill: d.clock.now() - pausedAt });
    await d.clock.rest();
    assert.deepEqual([arrived(d), await state(d)], [["m1", "m1"], "waiting"]);
    await d.clock.advance("10m");
    assert.equal(await state(d), "delivered");
  });
});

/** A store that tells the daemon of clocks as if another one had saved them. */
function createSaved() {
  let tell = (_: StoreChange): void => {};
  const openHeard: OpenStore = async (options) => {
    const store = await openStore(options);
    store.hurry();
    return {
      ...store,
      changes(hear, ...rest) {
        tell = hear;
        store.changes(hear, ...rest);
      },
    };
  };
  return { openStore: openHeard, hear: (clock: StoredClock) => tell({ kind: "clocks", clocks: [clock] }) };
}
