import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SLOW } from "../slow.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_A } from "./make.ts";
import type { Behaviour, Sent } from "./network.ts";

const BAD = "bad";
const GOOD = "good";

function names(kind: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, nth) => `${kind}${nth}`);
}

/** Accepts one event for each of these messageIds. */
async function accept(d: TestDaemon, messageIds: readonly string[]): Promise<void> {
  for (let from = 0; from < messageIds.length; from += 100) {
    const page = messageIds.slice(from, from + 100);
    await d.call("/v1/batch", {
      batch: page.map((messageId) => ({ type: "track", userId: "u1", event: "E", messageId })),
    });
  }
}

function idOf({ body }: Pick<Sent, "body">): string {
  return JSON.parse(body).messageId;
}

function isBad(sent: Sent): boolean {
  return idOf(sent).startsWith(BAD);
}

/** A receiver that takes all events but the bad ones, in 20 ms. */
function refusesBad(sent: Sent): Behaviour {
  return { status: isBad(sent) ? 500 : 200, after: 20 };
}

/** How long after `from` each of these events was first sent, in milliseconds; never is infinite. */
function firstSent(d: TestDaemon, messageIds: readonly string[], from: number): readonly number[] {
  const at = new Map<string, number>();
  for (const sent of d.sent) if (!at.has(idOf(sent))) at.set(idOf(sent), sent.at);
  return messageIds.map((id) => (at.get(id) ?? Number.POSITIVE_INFINITY) - from);
}

function latest(waits: readonly number[]): number {
  return Math.max(...waits);
}

describe("events that a receiver refuses, at one that takes all others", () => {
  for (const count of [1, 14, 100, 1_000]) {
    it(`do not keep back one that comes later, behind ${count}`, SLOW, async () => {
      await using d = await startDaemon({ answers: refusesBad });
      await accept(d, names(BAD, count));
      await d.clock.advance("3s");
      const from = d.clock.now();
      await accept(d, [GOOD]);
      await d.clock.advance("10s");
      assert.ok(latest(firstSent(d, [GOOD], from)) <= 10_000);
    });

    it(`do not keep back those that came before, in front of ${count}`, SLOW, async () => {
      await using d = await startDaemon({ answers: refusesBad });
      const from = d.clock.now();
      await accept(d, [...names(GOOD, 20), ...names(BAD, count)]);
      await d.clock.advance("10s");
      assert.ok(latest(firstSent(d, names(GOOD, 20), from)) <= 10_000);
    });

    it(`do not keep back those among them, between ${count}`, SLOW, async () => {
      await using d = await startDaemon({ answers: refusesBad });
      const from = d.clock.now();
      await accept(
        d,
        names(BAD, count).flatMap((bad, nth) => [bad, `${GOOD}${nth}`]),
      );
      await d.clock.advance("10s");
      assert.ok(latest(firstSent(d, names(GOOD, count), from)) <= 10_000);
    });

    it(`do not keep back others where two of five webhooks refuse ${count}, and the rest are down`, SLOW, async () => {
      const urls = names("https://hook-", 5).map((name) => `${name}.example.com/`);
      const answers = (sent: Sent): Behaviour => (urls.indexOf(sent.url) < 2 ? refusesBad(sent) : "hang");
      await using d = await startDaemon({ config: { destinations: [makeDestination({ urls })] }, answers });
      await accept(d, names(BAD, count));
      await d.clock.advance("3s");
      const from = d.clock.now();
      await accept(d, names(GOOD, 5));
      await d.clock.advance("10s");
      assert.ok(latest(firstSent(d, names(GOOD, 5), from)) <= 10_000);
      // One that was sent to some that are down only has to wait for their time limit, and for its turn.
      await d.clock.advance("5m");
      const rows = await d.rows();
      assert.equal(rows.filter(({ state }) => state === "delivered").length, 5);
    });
  }

  it("do not keep back one that comes after a restart, behind a thousand that were never tried", SLOW, async () => {
    await using first = await startDaemon({ answers: () => "hang" });
    await accept(first, [...names(BAD, 1_000), GOOD]);
    await using d = await first.crash({ answers: refusesBad });
    const from = d.clock.now();
    await d.clock.advance("10s");
    assert.ok(latest(firstSent(d, [GOOD], from)) <= 10_000);
  });

  it(
    "do not keep back any other by more than a bound, however many they are and wherever they stand",
    SLOW,
    async () => {
      const scenario = fc.record({
        bad: fc.integer({ min: 1, max: 400 }),
        rounds: fc.array(fc.record({ bad: fc.integer({ min: 0, max: 40 }), good: fc.integer({ min: 0, max: 10 }) }), {
          minLength: 1,
          maxLength: 6,
        }),
        answer: fc.constantFrom(500, 503, 404, 429),
      });
      await fc.assert(
        fc.asyncProperty(scenario, async ({ bad, rounds, answer }) => {
          const answers = (sent: Sent) => ({ status: isBad(sent) ? answer : 200, after: 20 });
          await using d = await startDaemon({ answers });
          await accept(d, names(BAD, bad));
          for (const [nth, round] of rounds.entries()) {
            const good = names(`${GOOD}-${nth}-`, round.good);
            const from = d.clock.now();
            await accept(d, [...names(`${BAD}-${nth}-`, round.bad), ...good]);
            await d.clock.advance("10s");
            if (good.length > 0) assert.ok(latest(firstSent(d, good, from)) <= 10_000);
          }
        }),
        { numRuns: 10 },
      );
    },
  );

  it("keep their own waits, and their four hours", SLOW, async () => {
    await using d = await startDaemon({ answers: refusesBad });
    await accept(d, names(BAD, 40));
    for (let minute = 0; minute < 245; minute += 1) {
      await accept(d, [`${GOOD}${minute}`]);
      await d.clock.advance("1m");
    }
    for (const bad of names(BAD, 40)) {
      const at = d.sent.filter((sent) => idOf(sent) === bad).map((sent) => sent.at);
      const waits = at.slice(1).map((next, nth) => next - (at[nth] ?? 0));
      // One second, doubled each time up to ten minutes: nothing that succeeds for others makes them come sooner.
      for (const [nth, wait] of waits.slice(0, -1).entries())
        assert.ok(wait >= Math.min(1_000 * 2 ** nth, 600_000), `attempt ${nth + 2} of ${bad} came after ${wait} ms`);
      const life = (at.at(-1) ?? 0) - (at[0] ?? 0);
      assert.ok(Math.abs(life - 4 * 3_600_000) < 10_000, `the last attempt of ${bad} came after ${life} ms`);
    }
    const rows = await d.rows();
    assert.equal(rows.filter(({ state }) => state === "expired").length, 40);
    assert.equal(rows.filter(({ state }) => state === "delivered").length, 245);
  });
});

describe("a receiver that refuses everything", () => {
  it("is asked a few times a second, and each event gets its turn", SLOW, async () => {
    await using d = await startDaemon({ answers: () => ({ status: 500, after: 20 }) });
    await accept(d, names(BAD, 1_000));
    await d.clock.advance("10s");
    const before = d.sent.length;
    await d.clock.advance("10m");
    const perSecond = (d.sent.length - before) / 600;
    assert.ok(perSecond <= 4 && perSecond >= 2, `${perSecond} requests a second`);
    assert.ok((await d.rows()).every(({ attempts }) => attempts > 0));
  });

  it("is asked more often with each success, as far as it goes on taking events", SLOW, async () => {
    const answers = ({ at }: Sent) => ({ status: at < back ? 500 : 200, after: 20 });
    await using d = await startDaemon({ answers });
    const back = d.clock.now() + 600_000;
    await accept(d, names(GOOD, 5_000));
    await d.clock.advance("10m");
    const rest = (await d.rows()).filter(({ attempts }) => attempts === 0).length;
    assert.ok(rest > 2_000);
    await d.clock.advance("10s");
    assert.equal((await d.rows()).filter(({ state }) => state === "waiting").length, 0);
  });

  it("is told once that it refuses, and once that it takes events again", async () => {
    const answers = ({ at }: Sent) => (at < back ? 500 : 200);
    await using d = await startDaemon({ answers });
    const back = d.clock.now() + 60_000;
    await accept(d, names(GOOD, 100));
    await d.clock.advance("2m");
    const lanes = d.told.filter(({ what }) => what.startsWith("lane"));
    assert.deepEqual(
      lanes.map(({ what, args }) => [what, args[1]]),
      [
        ["laneSlowed", URL_A],
        ["laneOpened", URL_A],
      ],
    );
  });
});

describe("a receiver that does not answer", () => {
  it("is not probed twice in a row with an event that has failed while there is one that has not", SLOW, async () => {
    await using d = await startDaemon({ answers: () => "hang" });
    await accept(d, names(BAD, 40));
    for (let n = 0; n < 23; n += 1) {
      await accept(d, [`${GOOD}${n}`]);
      await d.clock.advance("10m");
    }
    const seen = new Set<string>();
    const again = d.sent.map((sent) => {
      const id = idOf(sent);
      return seen.has(id) || !seen.add(id);
    });
    assert.ok(again.filter(Boolean).length >= 5, "some are tried again");
    assert.ok(!again.some((one, nth) => one && again[nth + 1] === true), "two in a row had failed before");
  });

  it("to some events, in time, goes on taking the others", SLOW, async () => {
    const answers = (sent: Sent): Behaviour => (isBad(sent) ? "hang" : { status: 200, after: 20 });
    await using d = await startDaemon({ answers });
    await accept(d, [GOOD, ...names(BAD, 40)]);
    const waits: number[] = [];
    for (let n = 0; n < 120; n += 1) {
      const from = d.clock.now();
      await accept(d, [`${GOOD}-${n}`]);
      await d.clock.advance("10s");
      waits.push(...firstSent(d, [`${GOOD}-${n}`], from));
    }
    // Until each of the others has been tried once, nobody can know which they are.
    assert.ok(latest(waits.slice(60)) <= 1_000, `a good one waited for ${latest(waits.slice(60))} ms`);
  });
});
