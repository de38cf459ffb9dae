import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type At, DAY, formatTime, HOUR, MINUTE } from "../../src/model/units.ts";
import { SLOW } from "../slow.ts";
import { createFalseClock, START } from "./clock.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";

const TRACK = { userId: "u1", event: "Signed Up" };
const IN_1972: At = Date.UTC(1972, 0, 1);
const IN_2102: At = Date.UTC(2102, 0, 1);

/** What the operator was told of the clock, with its code. */
function toldOfClock(d: TestDaemon): readonly unknown[] {
  const lines = d.told.filter(({ what, args }) => what === "daemon" && /^(clock|downtime)_/.test(String(args[0])));
  return lines.map(({ args: [name, fields] }) => [name, (fields as { code?: string }).code].filter(Boolean).join(" "));
}

async function clockOf(d: TestDaemon): Promise<Record<string, unknown>> {
  return (await d.admin("GET", "/api/status")).json.clock as Record<string, unknown>;
}

type Listed = { readonly state: string; readonly messageId: string; readonly acceptedAt: string };

async function list(d: TestDaemon, query = ""): Promise<readonly Listed[]> {
  return (await d.admin("GET", `/api/deliveries${query}`)).json.deliveries as readonly Listed[];
}

async function idsOf(d: TestDaemon, query: string): Promise<string> {
  return (await list(d, query)).map(({ messageId }) => messageId).join(" ");
}

/** `receivedAt` of each body that was sent. */
function stampsOf(d: TestDaemon): readonly string[] {
  return d.sent.map(({ body }) => JSON.parse(body).receivedAt.slice(0, 4));
}

/** How long after the first attempt the last one was. */
function spanOf(...lives: readonly TestDaemon[]): number {
  const all = lives.flatMap(({ sent }) => sent.map(({ at }) => at));
  return Math.max(...all) - Math.min(...all);
}

async function wasExpiredAfterFourHours(d: TestDaemon, since: At): Promise<void> {
  await d.clock.advance(`${since + 4 * HOUR - d.clock.now() - 11 * MINUTE}ms`);
  assert.equal((await d.row()).state, "waiting");
  await d.clock.advance("24m");
  assert.equal((await d.row()).state, "expired");
}

describe("a board that boots in 1972", () => {
  it("says so, gets the time while it runs, and goes on with its waits", SLOW, async () => {
    await using d = await startDaemon({ clock: createFalseClock(IN_1972), answers: () => 503 });
    const began = d.clock.now();
    await d.call("/v1/track", { ...TRACK, messageId: "m1" });
    assert.deepEqual(toldOfClock(d), ["clock_implausible before_build"]);
    const { plausible, code, reason } = await clockOf(d);
    assert.deepEqual([plausible, code], [false, "before_build"]);
    assert.match(String(reason), /^the machine's clock says 1972-01-01T.*, before this Fairlead was built \(2026-/);

    await d.clock.advance("30m");
    d.clock.setWall(START);
    await d.call("/v1/track", { ...TRACK, messageId: "m2" });
    assert.deepEqual([stampsOf(d)[0], stampsOf(d).at(-1)], ["1972", "2026"]);
    assert.deepEqual(await clockOf(d), { plausible: true, code: null, reason: null, since: null });
    assert.deepEqual(toldOfClock(d), ["clock_implausible before_build", "clock_stepped", "clock_plausible"]);
    // What came before is shown by the clock that is right.
    assert.deepEqual(
      (await list(d)).map(({ acceptedAt }) => acceptedAt),
      [formatTime(START), formatTime(START - 30 * MINUTE)],
    );
    await d.clock.advance("3h 18m");
    assert.deepEqual(new Set((await d.rows()).map(({ state }) => state)), new Set(["waiting"]));
    await d.clock.advance("53m");
    assert.deepEqual(new Set((await d.rows()).map(({ state }) => state)), new Set(["expired"]));
    assert.ok(d.clock.now() - began < 5 * HOUR);
  });

  it(
    "gives nothing up early when it is started again with the right time, set while it ran or while it was off",
    SLOW,
    async () => {
      for (const isSetWhileItRuns of [true, false]) {
        await using first = await startDaemon({ clock: createFalseClock(IN_1972), answers: () => 503 });
        const began = first.clock.now();
        await first.call("/v1/track", { ...TRACK, messageId: "m1" });
        await first.clock.advance("1h");
        if (isSetWhileItRuns) {
          first.clock.setWall(START);
          await first.clock.advance("10s");
        }
        first.clock.setWall(START + 10_000);
        await using second = await first.crash({ answers: () => 503 });
        assert.ok(second.clock.now() - began <= HOUR + MINUTE);
        assert.equal((await clockOf(second)).plausible, true);
        await wasExpiredAfterFourHours(second, began);
        assert.ok(spanOf(first, second) >= 4 * HOUR);
      }
    },
  );

  it("goes on where its outbox was, and does not jump when the time comes", SLOW, async () => {
    await using first = await startDaemon({ answers: () => 503 });
    const began = first.clock.now();
    await first.call("/v1/track", { ...TRACK, messageId: "m1" });
    await first.clock.advance("1h");
    first.clock.skip("24h");
    const right = first.clock.wall();
    first.clock.setWall(0);
    await using second = await first.crash({ answers: () => 503 });
    assert.deepEqual(toldOfClock(second).slice(-2), ["downtime_unknown", "clock_implausible before_build"]);
    await second.clock.advance("1m");
    second.clock.setWall(right);
    await second.clock.advance("10s");
    assert.equal((await clockOf(second)).plausible, true);
    await using third = await second.crash({ answers: () => 503 });
    await wasExpiredAfterFourHours(third, began);
  });
});

describe("a store that has seen the year 2102", () => {
  it("is well again as soon as the clock is: stamps, ages, filters, repeats and retention", SLOW, async () => {
    const answers = () => 200;
    await using first = await startDaemon({ answers });
    await first.call("/v1/track", { ...TRACK, messageId: "before" });
    first.clock.skip("1h");
    const right = first.clock.wall();
    first.clock.setWall(IN_2102);
    await using second = await first.crash({ answers });
    assert.equal((await clockOf(second)).code, "ahead");
    await second.call("/v1/track", { ...TRACK, messageId: "in-2102" });
    await second.clock.advance("1h");
    second.clock.setWall(right + HOUR);

    await using third = await second.crash({ answers });
    assert.equal((await clockOf(third)).plausible, true);
    await third.call("/v1/track", { ...TRACK, messageId: "after" });
    assert.deepEqual(stampsOf(third), ["2026"]);
    assert.equal(await idsOf(third, ""), "after in-2102 before");
    assert.ok((await list(third)).every(({ acceptedAt }) => acceptedAt.startsWith("2026-11-20T1")));
    assert.equal(await idsOf(third, "?since=30m"), "after");
    assert.equal(await idsOf(third, `?since=${formatTime(right + HOUR - MINUTE)}`), "after");
    assert.equal(await idsOf(third, `?until=${formatTime(right + HOUR - MINUTE)}`), "in-2102 before");

    await third.clock.advance("20h");
    assert.equal((await third.call("/v1/track", { ...TRACK, messageId: "before" })).json.duplicate, 1);
    assert.equal((await third.rows()).length, 3);
    await third.clock.advance("5h");
    assert.equal((await third.rows()).length, 0);
    assert.equal((await third.call("/v1/track", { ...TRACK, messageId: "before" })).json.duplicate, 0);
  });

  it("from its first day on is not marked by it either", async () => {
    await using first = await startDaemon({ clock: createFalseClock(IN_2102), answers: () => 503 });
    await first.call("/v1/track", { ...TRACK, messageId: "m1" });
    assert.equal((await clockOf(first)).code, "ahead");
    first.clock.setWall(START);
    await using second = await first.crash({ answers: () => 200 });
    assert.equal((await clockOf(second)).plausible, true);
    await second.clock.advance("2s");
    assert.equal((await second.row()).state, "delivered");
    assert.match((await list(second))[0]?.acceptedAt ?? "", /^2026-11-20T12:00:0/);
  });
});

describe("a machine's clock that is set", () => {
  it("while the daemon runs, either way, moves neither a wait nor a cutoff, over a restart as well", SLOW, async () => {
    for (const by of [5 * HOUR, -5 * HOUR, 400 * DAY]) {
      await using first = await startDaemon({ answers: () => 503 });
      const began = first.clock.now();
      await first.call("/v1/track", { ...TRACK, messageId: "m1" });
      await first.clock.advance("1h");
      first.clock.setWall(first.clock.wall() + by);
      await first.clock.advance("10s");
      const { due_at: dueAt } = await first.row();
      first.clock.skip("1m");
      await using second = await first.crash({ answers: () => 503 });
      const isDoubted = by !== 5 * HOUR;
      assert.equal((await clockOf(second)).plausible, !isDoubted);
      assert.equal((await second.row()).due_at, dueAt);
      // A doubted clock does not say how long the daemon was down.
      await wasExpiredAfterFourHours(second, began);
    }
  });

  it("while the daemon is down, is of no account as long as the machine has run on", SLOW, async () => {
    await using first = await startDaemon({ answers: () => 503 });
    first.clock.reboot(1);
    const began = first.clock.now();
    await first.call("/v1/track", { ...TRACK, messageId: "m1" });
    await first.clock.advance("1h");
    first.clock.setWall(first.clock.wall() + 5 * HOUR);
    await using second = await first.crash({ answers: () => 503 });
    await wasExpiredAfterFourHours(second, began);
  });

  it("back is told, until it has caught up with the outbox", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", TRACK);
    d.clock.setWall(START - 2 * HOUR);
    await d.clock.advance("10s");
    const { code, since } = await clockOf(d);
    // It is noticed when the delivery is written.
    assert.deepEqual([code, since], ["behind", formatTime(START - 2 * HOUR + 1_500)]);
    await d.clock.advance("2h");
    assert.equal((await clockOf(d)).plausible, true);
    assert.deepEqual(toldOfClock(d), ["clock_stepped", "clock_implausible behind", "clock_plausible"]);
  });

  it("by months is told for a day: then it was the outbox that was wrong", SLOW, async () => {
    for (const by of [100 * DAY, -100 * DAY]) {
      await using d = await startDaemon();
      await d.call("/v1/track", TRACK);
      d.clock.setWall(START + by);
      await d.clock.advance("23h 59m");
      assert.equal((await clockOf(d)).plausible, false);
      await d.clock.advance("2m");
      assert.equal((await clockOf(d)).plausible, true);
    }
  });
});

describe("a daemon that was down by a clock that is right", () => {
  it("counts that time, also of a delivery that waits", SLOW, async () => {
    await using first = await startDaemon({ answers: () => 503 });
    await first.call("/v1/track", { ...TRACK, messageId: "m1" });
    first.clock.skip("3h");
    await using second = await first.crash({ answers: () => 503 });
    assert.deepEqual(toldOfClock(second), []);
    assert.equal((await second.row()).state, "waiting");
    await second.clock.advance("1h 1m");
    assert.equal((await second.row()).state, "expired");
  });
});
