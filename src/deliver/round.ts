import type { Delivery } from "../model/delivery.ts";
import type { Destination, Webhook } from "../model/destination.ts";
import type { Outcome } from "../model/outcome.ts";
import type { Clock, Post, Random, Report } from "../model/ports.ts";
import type { RetryPolicy, Settlement } from "../model/settlement.ts";
import type { Ms } from "../model/units.ts";
import { judge } from "../settle/judge.ts";
import { describeAnswer } from "../settle/reason.ts";
import { settle } from "../settle/settle.ts";
import { requestHeaders } from "../webhook/headers.ts";
import type { Activity } from "./activity.ts";
import { attempt } from "./attempt.ts";
import type { Halts } from "./halts.ts";
import type { Lanes } from "./lanes.ts";
import type { Limits } from "./limits.ts";
import { lostTime } from "./lost.ts";

export type RoundWorld = {
  readonly clock: Clock;
  readonly random: Random;
  readonly post: Post;
  readonly lanes: Lanes;
  readonly halts: Halts;
  readonly limits: Limits;
  readonly activity: Activity;
  readonly report: Report;
};

export type Asked = {
  readonly destination: Destination;
  /** The webhooks that gave a slot: each is asked once. */
  readonly webhooks: readonly Webhook[];
  readonly timeout: Ms;
  readonly policy: RetryPolicy;
  /** Called after each attempt: also those that come after the decision held a slot until then. */
  readonly slotFreed: () => void;
};

/**
 * Sends a delivery to each of the webhooks asked, at once. Resolves as soon as that is decided (SPEC.md 6: the first
 * success does), or with null if it was released first. Answers that come later are reported, and change nothing.
 */
export function sendRound(delivery: Delivery, asked: Asked, world: RoundWorld): Promise<Settlement | null> {
  const outcomes: Outcome[] = [];
  const decisions = asked.webhooks.map(askAndDecide);
  const [only] = decisions;
  return only && decisions.length === 1 ? only : firstDecision(decisions);

  async function askAndDecide(webhook: Webhook): Promise<Settlement | null> {
    const outcome = await ask(webhook, delivery, { asked, world });
    if (judge(outcome) === "unknown") return null;
    outcomes.push(outcome);
    return decide(delivery, outcomes, { asked, world });
  }
}

/** The first decision as soon as there is one, or null when all are over without. */
function firstDecision(decisions: readonly Promise<Settlement | null>[]): Promise<Settlement | null> {
  return new Promise((resolve, reject) => {
    for (const decision of decisions) decision.then((settlement) => settlement && resolve(settlement), reject);
    Promise.all(decisions).then(() => resolve(null), reject);
  });
}

type Here = { readonly asked: Asked; readonly world: RoundWorld };

/** One attempt, in the slot that was taken for it. */
async function ask(webhook: Webhook, delivery: Delivery, { asked, world }: Here): Promise<Outcome> {
  const { destination, timeout } = asked;
  let outcome: Outcome | null = null;
  try {
    const headers = requestHeaders(webhook, delivery.body, destination);
    outcome = await attempt({ url: webhook.url, headers, body: delivery.body }, timeout, world);
  } finally {
    giveBack(webhook, outcome, { asked, world });
  }
  world.activity.saw(destination.name, outcome);
  world.report.attempted(delivery, outcome);
  return outcome;
}

/** Whatever happened, the slot is free again. */
function giveBack(webhook: Webhook, outcome: Outcome | null, { asked, world }: Here): void {
  const { clock, random, lanes } = world;
  const { destination, policy, slotFreed } = asked;
  const now = clock.now();
  lanes.done(destination.name, webhook, {
    judgement: outcome ? judge(outcome) : "unknown",
    startedAt: outcome?.startedAt ?? now,
    reason: outcome ? describeAnswer(outcome) : "",
    hold: outcome && holdOf(outcome, policy),
    now,
    random: random.fraction(),
    policy,
  });
  slotFreed();
}

/** Only 429 and 503 speak for the whole webhook; and nobody may hold it for longer than a delivery lives. */
function holdOf(outcome: Outcome, policy: RetryPolicy): Ms | null {
  if (outcome.kind !== "answered" || (outcome.status !== 429 && outcome.status !== 503)) return null;
  return outcome.retryAfter === null ? null : Math.min(outcome.retryAfter, policy.cutoff);
}

function decide(delivery: Delivery, outcomes: readonly Outcome[], { asked, world }: Here): Settlement | null {
  const { destination, webhooks, policy } = asked;
  const now = world.clock.now();
  return settle(delivery, outcomes, {
    now,
    random: world.random.fraction(),
    policy,
    lane: {
      urls: destination.webhooks.map((webhook) => webhook.url),
      asked: webhooks.map((webhook) => webhook.url),
      lost: lostTime(delivery, { destination, now, world }),
      served: !world.halts.isHalted(destination.name),
    },
  });
}
