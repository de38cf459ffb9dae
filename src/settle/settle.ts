import type { Delivery, FinalAnswer } from "../model/delivery.ts";
import type { DestinationClock } from "../model/destination-clock.ts";
import type { Outcome } from "../model/outcome.ts";
import type { Progress, RetryPolicy, Settlement } from "../model/settlement.ts";
import { type At, formatDuration, type Ms } from "../model/units.ts";
import { withoutQuery } from "../model/url.ts";
import { backoff, cutoffAt, OFFLINE_WAITS } from "./backoff.ts";
import { describeAnswer, judge } from "./judge.ts";

export type SettleContext = {
  /** `clock.now()` when the last of the outcomes came. */
  readonly now: At;
  /** Chance, from 0 to 1. */
  readonly random: number;
  readonly policy: RetryPolicy;
  /** The destination's: while it stands still nothing is given up, for the operator wants it to wait. */
  readonly clock: DestinationClock;
  readonly lane: LaneView;
};

/** What the lanes of a destination know about a round. */
export type LaneView = {
  /** The URLs of all webhooks of the destination. */
  readonly urls: readonly string[];
  /** Those asked in this round. One whose lane was full or closed is left out, and counts as unanswered. */
  readonly asked: readonly string[];
};

/**
 * Decides what a round of attempts means for its delivery, or answers null while that is open. The first 2xx decides at
 * once (SPEC.md 6, delivery to multiple webhooks). Otherwise, when everybody asked has answered: `failed` if every
 * webhook of the destination has refused the event finally, `expired` if the cutoff has passed (SPEC.md 7: four hours),
 * else `waiting` until the next round.
 */
export function settle(
  delivery: Delivery,
  outcomes: readonly Outcome[],
  { now, random, policy, clock, lane }: SettleContext,
): Settlement | null {
  const progress = advance(delivery, outcomes, { now, clock });
  const success = outcomes.find((outcome) => judge(outcome) === "delivered");
  if (success?.kind === "answered") {
    return { ...progress, state: "delivered", url: success.url, status: success.status };
  }
  if (outcomes.length < lane.asked.length) return null;
  const open = lane.urls.filter((url) => !isFinal(url, progress.finals));
  if (open.length === 0) return { ...progress, state: "failed", reason: `refused: ${list(progress.finals, lane)}` };
  const reason = outcomes.map((outcome) => describeAnswer(outcome)).join("; ");
  if (outcomes.every((outcome) => judge(outcome) === "offline")) {
    const wait = backoff(1, { ...policy, ...OFFLINE_WAITS }, random);
    return { ...progress, state: "waiting", dueAt: now + wait, reason: `offline: ${reason}` };
  }
  const lastAt = cutoffAt(progress, { cutoff: policy.cutoff, stoodStill: clock.stoodStill(now) }) ?? now;
  if (now >= lastAt && !clock.standsStill())
    return { ...progress, state: "expired", reason: expiry(policy.cutoff, reason) };
  // Retry-After only ever lengthens a wait.
  const wait = Math.max(backoff(progress.attempts, policy, random), shortestSilence(open, outcomes));
  // The last attempt begins at the cutoff: nothing is given up without one, and nothing is tried long after.
  return { ...progress, state: "waiting", dueAt: Math.min(now + wait, Math.max(now, lastAt)), reason };
}

type Moment = Pick<SettleContext, "now" | "clock">;

/** What the round adds to the delivery's history, whatever it decides. */
function advance(delivery: Delivery, outcomes: readonly Outcome[], { now, clock }: Moment): Progress {
  const offline = outcomes.every((outcome) => judge(outcome) === "offline");
  const firstAttemptAt = delivery.firstAttemptAt ?? firstStart(outcomes);
  const isFirst = delivery.firstAttemptAt === null && firstAttemptAt !== null;
  return {
    attempts: offline ? delivery.attempts : delivery.attempts + 1,
    firstAttemptAt,
    attemptedAt: now,
    stoodStill: isFirst ? clock.stoodStill(firstAttemptAt) : delivery.stoodStill,
    finals: withNew(delivery.finals, outcomes),
  };
}

/** When the first attempt that has left this machine began; null if none has. */
function firstStart(outcomes: readonly Outcome[]): At | null {
  let first: At | null = null;
  for (const outcome of outcomes) {
    if (judge(outcome) !== "offline") first = Math.min(first ?? outcome.startedAt, outcome.startedAt);
  }
  return first;
}

/** Each webhook has one last word, the newest: it can be asked again when the config has changed. */
function withNew(known: readonly FinalAnswer[], outcomes: readonly Outcome[]): readonly FinalAnswer[] {
  if (!outcomes.some((outcome) => judge(outcome) === "final")) return known;
  const said = outcomes.filter((outcome) => judge(outcome) === "final").map(toFinal);
  return [...known.filter(({ url }) => !isFinal(url, said)), ...said];
}

function toFinal(outcome: Outcome): FinalAnswer {
  return { url: outcome.url, reason: describeAnswer(outcome) };
}

function isFinal(url: string, finals: readonly FinalAnswer[]): boolean {
  return finals.some((final) => final.url === url);
}

/** Only what the destination's present webhooks have said. */
function list(finals: readonly FinalAnswer[], { urls }: LaneView): string {
  const said = finals.filter(({ url }) => urls.includes(url));
  if (said.length === 1) return `answered ${said[0]?.reason}`;
  return said.map((final) => `${withoutQuery(final.url)} answered ${final.reason}`).join("; ");
}

/**
 * For how long all of the webhooks that are still open have asked to be left alone: the next round begins when the first
 * of them may be asked again. One that was left out has asked for nothing.
 */
function shortestSilence(open: readonly string[], outcomes: readonly Outcome[]): Ms {
  const silences = open.map((url) => {
    const outcome = outcomes.find((one) => one.url === url);
    return (outcome?.kind === "answered" ? outcome.retryAfter : null) ?? 0;
  });
  return Math.min(...silences);
}

function expiry(cutoff: Ms, lastAnswer: string): string {
  return `no success within ${formatDuration(cutoff)}; last answer ${lastAnswer}`;
}
