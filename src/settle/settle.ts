import { type Webhook, withoutQuery } from "../model/config.ts";
import type { Delivery, FinalAnswer, Outcome, Progress, RetryPolicy, Settlement } from "../model/delivery.ts";
import type { DestinationClock } from "../model/destination-clock.ts";
import { type At, formatDuration, type Ms } from "../model/units.ts";
import { backoff, cutoffAt, OFFLINE_WAITS } from "./backoff.ts";
import { describeAnswer, judge } from "./judge.ts";

export type SettleContext = {
  /** `clock.now()` when the last outcome came. */
  readonly now: At;
  /** From 0 to 1: varies the wait. */
  readonly random: number;
  readonly policy: RetryPolicy;
  /** The destination's. While it stands still, no delivery expires. */
  readonly clock: DestinationClock;
  readonly webhooks: RoundWebhooks;
};

export type RoundWebhooks = {
  /** All webhooks of the destination. */
  readonly all: readonly Named[];
  /** Those asked in this round. A webhook without a free slot is left out, and counts as unanswered. */
  readonly asked: readonly Named[];
};

type Named = Pick<Webhook, "url">;

/**
 * Decides what a round of attempts means for its delivery. Answers null while the round is open.
 *
 * delivered:  a webhook answered 2xx (SPEC.md 6). This decides at once; all else waits until all that were asked have answered.
 * failed:     every webhook of the destination has refused the event finally.
 * expired:    an attempt has failed at or after the cutoff (SPEC.md 7: four hours).
 * waiting:    else, until the next round.
 */
export function settle(
  delivery: Delivery,
  outcomes: readonly Outcome[],
  { now, random, policy, clock, webhooks }: SettleContext,
): Settlement | null {
  const progress = advance(delivery, outcomes, { now, clock });
  const success = outcomes.find(isSuccess);
  if (success?.kind === "answered") {
    return { ...progress, state: "delivered", url: success.url, status: success.status };
  }
  if (outcomes.length < webhooks.asked.length) return null;
  const open = webhooks.all.filter(({ url }) => !isFinal(url, progress.finals));
  if (open.length === 0)
    return { ...progress, state: "failed", reason: `refused: ${listFinals(progress.finals, webhooks)}` };
  const reason = outcomes.map((outcome) => describeAnswer(outcome)).join("; ");
  if (outcomes.every(isOffline)) {
    const wait = backoff(1, { ...policy, ...OFFLINE_WAITS }, random);
    return { ...progress, state: "waiting", dueAt: now + wait, reason: `offline: ${reason}` };
  }
  const expiresAt = cutoffAt(progress, { cutoff: policy.cutoff, stoodStill: clock.stoodStill(now) }) ?? now;
  if (now >= expiresAt && !clock.standsStill())
    return { ...progress, state: "expired", reason: expiryReason(policy.cutoff, reason) };
  // Retry-After only ever lengthens a wait.
  const wait = Math.max(backoff(progress.attempts, policy, random), shortestRetryAfter(open, outcomes));
  // The wait ends at the cutoff at the latest, so that the last attempt is made then and not long after.
  return { ...progress, state: "waiting", dueAt: Math.min(now + wait, Math.max(now, expiresAt)), reason };
}

export function isSuccess(outcome: Outcome): boolean {
  return judge(outcome) === "delivered";
}

/** Whether the attempt never left this machine. */
export function isOffline(outcome: Outcome): boolean {
  return judge(outcome) === "offline";
}

type Moment = Pick<SettleContext, "now" | "clock">;

/** What the round adds to the delivery's history, whatever it decides. */
function advance(delivery: Delivery, outcomes: readonly Outcome[], { now, clock }: Moment): Progress {
  const offline = outcomes.every(isOffline);
  const firstAttemptAt = delivery.firstAttemptAt ?? firstStart(outcomes);
  const isFirst = delivery.firstAttemptAt === null && firstAttemptAt !== null;
  return {
    attempts: offline ? delivery.attempts : delivery.attempts + 1,
    firstAttemptAt,
    attemptedAt: now,
    stoodStill: isFirst ? clock.stoodStill(firstAttemptAt) : delivery.stoodStill,
    finals: withNewFinals(delivery.finals, outcomes),
  };
}

/** When the first attempt that left this machine began; null if none did. */
function firstStart(outcomes: readonly Outcome[]): At | null {
  let first: At | null = null;
  for (const outcome of outcomes) {
    if (!isOffline(outcome)) first = Math.min(first ?? outcome.startedAt, outcome.startedAt);
  }
  return first;
}

/** Keeps one final answer of each webhook, the newest: a webhook is asked again when its entry in the config has changed. */
function withNewFinals(known: readonly FinalAnswer[], outcomes: readonly Outcome[]): readonly FinalAnswer[] {
  const refusals = outcomes.filter(isRefusal);
  if (refusals.length === 0) return known;
  const newest = refusals.map((outcome) => ({ url: outcome.url, reason: describeAnswer(outcome) }));
  return [...known.filter(({ url }) => !isFinal(url, newest)), ...newest];
}

function isRefusal(outcome: Outcome): boolean {
  return judge(outcome) === "final";
}

function isFinal(url: string, finals: readonly FinalAnswer[]): boolean {
  return finals.some((final) => final.url === url);
}

/** The final answers of the webhooks that the destination has now. */
function listFinals(finals: readonly FinalAnswer[], { all }: RoundWebhooks): string {
  const present = finals.filter(({ url }) => all.some((webhook) => webhook.url === url));
  if (present.length === 1) return `answered ${present[0]?.reason}`;
  return present.map((final) => `${withoutQuery(final.url)} answered ${final.reason}`).join("; ");
}

/**
 * The shortest Retry-After of the webhooks that are still open: the next round begins when the first of them may be asked
 * again. Zero for one that sent none, or was not asked.
 */
function shortestRetryAfter(open: readonly Named[], outcomes: readonly Outcome[]): Ms {
  const waits = open.map(({ url }) => {
    const outcome = outcomes.find((one) => one.url === url);
    return (outcome?.kind === "answered" ? outcome.retryAfter : null) ?? 0;
  });
  return Math.min(...waits);
}

function expiryReason(cutoff: Ms, lastAnswer: string): string {
  return `no success within ${formatDuration(cutoff)}; last answer ${lastAnswer}`;
}
