import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Answer, Delivery, Settlement } from "../../src/model/delivery.ts";
import { HOUR, MINUTE, type Ms, SECOND } from "../../src/model/units.ts";
import { cutoffAt } from "../../src/settle/backoff.ts";
import { judge } from "../../src/settle/judge.ts";
import {
  answered,
  FIRST_AT,
  makeDelivery,
  makeOutcome,
  OFFLINE,
  POLICY,
  REFUSED,
  settleRound,
  TIMEOUT,
} from "./make.ts";

const URLS = ["https://1.example.com/", "https://2.example.com/", "https://3.example.com/"];

/** One round: which webhooks had a slot, what they answered and how fast, and how late the round began. */
type Round = {
  readonly answers: readonly Answer[];
  readonly leftOut: readonly boolean[];
  readonly lasted: number;
  readonly late: number;
  readonly random: number;
};

/** `stoodStill`: for how long the destination's clock had stood still when the round was over. */
type Tried = Played & { readonly startedAt: number; readonly before: Delivery };
type Played = { readonly settlement: Settlement; readonly stoodStill: Ms };

const anyFailure: fc.Arbitrary<Answer> = fc.oneof(
  fc.constantFrom<Answer>(TIMEOUT, REFUSED, OFFLINE),
  fc
    .tuple(fc.constantFrom(429, 500, 503, 404), fc.option(fc.integer({ min: 0, max: 10 * HOUR })))
    .map(([status, retryAfter]) => answered(status, retryAfter === null ? {} : { retryAfter })),
);
const anyAnswer = fc.oneof(
  { weight: 20, arbitrary: anyFailure },
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 599 }).map((status) => answered(status)) },
);

function anyRound(answer: fc.Arbitrary<Answer>): fc.Arbitrary<Round> {
  return fc.record({
    answers: fc.array(answer, { minLength: URLS.length, maxLength: URLS.length }),
    leftOut: fc.array(fc.boolean(), { minLength: URLS.length, maxLength: URLS.length }),
    lasted: fc.integer({ min: 0, max: 5 * SECOND }),
    late: fc.oneof(
      { weight: 9, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: HOUR }) },
    ),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });
}

/** Rounds that are gone through again and again; in one of each turn the machine is online. */
const anyRounds = fc
  .tuple(fc.array(anyRound(anyAnswer), { maxLength: 5 }), anyRound(fc.constantFrom(answered(503), answered(500))))
  .map(([rounds, online]) => [...rounds, online]);

/** Plays rounds until the delivery is over, and tells of each. */
function play(rounds: readonly Round[]): readonly Tried[] {
  const tried: Tried[] = [];
  let delivery = makeDelivery();
  let stoodStill = 0;
  while (tried.length < 100_000) {
    const round = rounds[tried.length % rounds.length] as Round;
    const startedAt = delivery.dueAt + round.late;
    const played = playRound(delivery, round, { startedAt, stoodStill });
    const { settlement } = played;
    stoodStill = played.stoodStill;
    tried.push({ startedAt, before: delivery, ...played });
    if (settlement.state !== "waiting") return tried;
    delivery = { ...delivery, ...settlement };
  }
  throw new Error("it does not end");
}

/**
 * The answers come in one by one, and the first settlement counts. A round that finds no network stops the clock, from the one
 * before it on.
 */
function playRound(
  delivery: Delivery,
  round: Round,
  { startedAt, stoodStill: before }: { readonly startedAt: number; readonly stoodStill: Ms },
): Played {
  const open = URLS.filter((url) => !delivery.finals.some((final) => final.url === url));
  const asked = open.filter((url, index) => index === 0 || !round.leftOut[URLS.indexOf(url)]);
  const outcomes = asked.map((url) => makeOutcome(round.answers[URLS.indexOf(url)] as Answer, { url, startedAt }));
  const now = startedAt + round.lasted;
  const isOffline = outcomes.every((outcome) => judge(outcome) === "offline");
  const stoodStill = before + (isOffline ? now - (delivery.attemptedAt ?? startedAt) : 0);
  const options = { urls: URLS, asked, now, random: round.random, stoodStill };
  for (let count = 1; count <= outcomes.length; count++) {
    const settlement = settleRound(delivery, outcomes.slice(0, count), options);
    if (settlement) return { settlement, stoodStill };
  }
  throw new Error("the round stays open though all have answered");
}

function cutoffOf(delivery: Pick<Delivery, "firstAttemptAt" | "stoodStill">, stoodStill: Ms): number {
  return cutoffAt(delivery, { cutoff: POLICY.cutoff, stoodStill }) ?? Number.POSITIVE_INFINITY;
}

function holds(property: (tried: readonly Tried[]) => void): void {
  fc.assert(
    fc.property(anyRounds, (rounds) => property(play(rounds))),
    { numRuns: 200 },
  );
}

describe("any sequence of outcomes", () => {
  it("ends, within the cutoff and what comes late, unless the machine is offline for ever", () => {
    holds((tried) => {
      const { settlement, startedAt, stoodStill } = tried.at(-1) as Tried;
      assert.notEqual(settlement.state, "waiting");
      const age = startedAt - (settlement.firstAttemptAt ?? FIRST_AT) - (stoodStill - settlement.stoodStill);
      // An hour is the most that a round is late here, and a wait after an offline round is a few seconds.
      assert.ok(age <= POLICY.cutoff + HOUR + MINUTE, `${age} ms`);
    });
  });

  it("never waits past the cutoff after an attempt", () => {
    holds((tried) => {
      for (const { settlement, before, stoodStill } of tried) {
        if (settlement.state !== "waiting" || settlement.attempts === before.attempts) continue;
        assert.ok(settlement.dueAt <= cutoffOf(settlement, stoodStill));
        assert.ok(settlement.dueAt > settlement.attemptedAt);
      }
    });
  });

  it("has at most one attempt that begins at or after the cutoff, and that is the last", () => {
    holds((tried) => {
      const late = tried.filter(
        ({ startedAt, before, settlement, stoodStill }) =>
          settlement.attempts > before.attempts && startedAt >= cutoffOf(before, stoodStill),
      );
      assert.ok(late.length <= 1, `${late.length} attempts`);
      if (late.length === 1) assert.equal(late[0], tried.at(-1));
    });
  });

  it("expires only by an attempt that failed at or after the cutoff", () => {
    holds((tried) => {
      for (const { settlement, before, stoodStill } of tried) {
        if (settlement.state !== "expired") continue;
        assert.ok(settlement.attemptedAt >= cutoffOf(settlement, stoodStill));
        assert.equal(settlement.attempts, before.attempts + 1);
      }
    });
  });

  it("counts attempts up by one, and none for a round that was offline", () => {
    holds((tried) => {
      for (const { settlement, before } of tried) {
        const offline = settlement.state === "waiting" && settlement.reason.startsWith("offline: ");
        assert.equal(settlement.attempts, before.attempts + (offline ? 0 : 1));
        if (before.firstAttemptAt === null) continue;
        assert.equal(settlement.firstAttemptAt, before.firstAttemptAt);
        assert.equal(settlement.stoodStill, before.stoodStill);
      }
    });
  });

  it("fails only when every webhook has refused, and is delivered only by a 2xx", () => {
    holds((tried) => {
      const { settlement } = tried.at(-1) as Tried;
      const refused = new Set(settlement.finals.map(({ url }) => url));
      assert.equal(settlement.state === "failed", refused.size === URLS.length && settlement.state !== "delivered");
      if (settlement.state === "delivered") assert.equal(judge(answered(settlement.status)), "delivered");
    });
  });
});
