import { createHash } from "node:crypto";
import type { Attempt } from "../model/attempt.ts";
import type { Delivery, FinalAnswer } from "../model/delivery.ts";
import type { Destination, Webhook } from "../model/destination.ts";
import type { Outcome } from "../model/outcome.ts";
import type { Clock, Post, Random } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { RetryPolicy, Settlement } from "../model/settlement.ts";
import type { Ms } from "../model/units.ts";
import { withoutQuery } from "../model/url.ts";
import { describeAnswer, judge, signOf } from "../settle/judge.ts";
import { settle } from "../settle/settle.ts";
import { requestHeaders } from "../webhook/headers.ts";
import { attempt, type Limits, type Made } from "./attempt.ts";
import type { NetworkClock } from "./clocks.ts";
import type { Lanes } from "./lanes.ts";

export type RoundWorld = {
  readonly clock: Clock;
  readonly random: Random;
  readonly post: Post;
  readonly lanes: Lanes;
  readonly limits: Limits;
  readonly activity: { delivered(destination: string): void };
  readonly report: Report;
};

type Asked = {
  readonly destination: Destination;
  readonly destinationClock: NetworkClock;
  /** The webhooks that gave a slot: each is asked once. */
  readonly webhooks: readonly Webhook[];
  readonly timeout: Ms;
  readonly policy: RetryPolicy;
  /** Called after each attempt, also after those that end when the round is decided already. */
  readonly slotFreed: () => void;
};

/**
 * Sends a delivery to each of these webhooks at once. Resolves as soon as the round is decided (SPEC.md 6: the first
 * success does that), or with null if the attempts were abandoned first. Later answers are reported, and change nothing.
 */
export function sendRound(delivery: Delivery, asked: Asked, world: RoundWorld): Promise<Settlement | null> {
  const outcomes: Outcome[] = [];
  const log: Attempt[] = [];
  const decisions = asked.webhooks.map(askAndDecide);
  const [only] = decisions;
  return only && decisions.length === 1 ? only : firstDecision(decisions);

  async function askAndDecide(webhook: Webhook): Promise<Settlement | null> {
    const trigger = triggerOf(delivery, webhook, { asked, world });
    const made = await ask(webhook, delivery, { asked, world });
    if (judge(made.outcome) === "unknown") return null;
    // A success at the first attempt needs no log, unless another attempt of its round has failed.
    const note =
      log.length === 0 && isPlain(delivery, made.outcome) ? null : await noteAttempt(made, trigger, world.limits);
    if (note) log.push(note);
    outcomes.push(made.outcome);
    return decide(delivery, { outcomes, log }, { asked, world });
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

function triggerOf(
  { attemptedAt, replayedAt }: Delivery,
  webhook: Webhook,
  { asked, world }: Here,
): Attempt["trigger"] {
  if (world.lanes.isClosed(asked.destination.name, webhook)) return "probe";
  if (attemptedAt !== null) return "retry";
  return replayedAt === null ? "first" : "replay";
}

function isPlain({ attemptedAt, replayedAt }: Delivery, outcome: Outcome): boolean {
  return attemptedAt === null && replayedAt === null && judge(outcome) === "delivered";
}

/** One attempt, in the slot that was taken for it. */
async function ask(webhook: Webhook, delivery: Delivery, { asked, world }: Here): Promise<Made> {
  const { destination, timeout } = asked;
  let made: Made | null = null;
  try {
    const headers = requestHeaders(webhook, delivery, { destination, at: world.clock.wall() });
    made = await attempt({ url: webhook.url, headers, body: delivery.body, tls: webhook.tls }, timeout, world);
  } finally {
    giveBack(webhook, made?.outcome ?? null, { delivery, asked, world });
  }
  if (judge(made.outcome) === "delivered") world.activity.delivered(destination.name);
  world.report.attempted(delivery, made.outcome);
  return made;
}

/** Frees the slot, whatever the outcome. */
function giveBack(
  webhook: Webhook,
  outcome: Outcome | null,
  { delivery, asked, world }: Here & { readonly delivery: Delivery },
): void {
  const { clock, random, lanes } = world;
  const { destination, destinationClock, policy, slotFreed } = asked;
  const now = clock.now();
  const sign = outcome ? signOf(outcome) : "unknown";
  if (sign !== "offline" && sign !== "unknown") destinationClock.online(now);
  lanes.done(destination.name, webhook, {
    sign,
    tried: delivery.attemptedAt !== null,
    startedAt: outcome?.startedAt ?? now,
    reason: outcome ? describeAnswer(outcome) : "",
    hold: outcome && holdOf(outcome, policy),
    now,
    random: random.fraction(),
    policy,
  });
  slotFreed();
}

/** Only 429 and 503 speak for the whole webhook, and a hold lasts at most as long as a delivery. */
function holdOf(outcome: Outcome, policy: RetryPolicy): Ms | null {
  if (outcome.kind !== "answered" || (outcome.status !== 429 && outcome.status !== 503)) return null;
  return outcome.retryAfter === null ? null : Math.min(outcome.retryAfter, policy.cutoff);
}

type SoFar = { readonly outcomes: readonly Outcome[]; readonly log: readonly Attempt[] };

function decide(delivery: Delivery, { outcomes, log }: SoFar, { asked, world }: Here): Settlement | null {
  const { destination, destinationClock, webhooks, policy } = asked;
  const now = world.clock.now();
  const known =
    delivery.finals.length === 0 ? delivery : { ...delivery, finals: standing(delivery.finals, destination) };
  const isOver = outcomes.length === webhooks.length;
  if (isOver && outcomes.every((outcome) => judge(outcome) === "offline")) destinationClock.offline();
  const settlement = settle(known, outcomes, {
    now,
    random: world.random.fraction(),
    policy,
    clock: destinationClock,
    lane: {
      // Read only where something has failed: most deliveries are taken at the first attempt.
      get urls() {
        return destination.webhooks.map((webhook) => webhook.url);
      },
      get asked() {
        return webhooks.map((webhook) => webhook.url);
      },
    },
  });
  if (settlement === null || log.length === 0) return settlement;
  // The list is copied because the round may still add to it.
  return { ...settlement, finals: withEntries(settlement.finals, destination), log: [...log] };
}

/**
 * How long the settlement waits for the text of a refusal, which mostly comes with the headers. It has to be well below
 * the wait before the first retry.
 */
const LONGEST_READ: Ms = 250;

/** An attempt as it is logged for the operator; null if its outcome is unknown. */
async function noteAttempt(
  { outcome, text }: Made,
  trigger: Attempt["trigger"],
  limits: Limits,
): Promise<Attempt | null> {
  const judgement = judge(outcome);
  if (judgement === "unknown") return null;
  const { startedAt: at, duration } = outcome;
  return {
    ...{ at, url: withoutQuery(outcome.url), duration, outcome: judgement },
    status: outcome.kind === "answered" ? outcome.status : null,
    reason: describeAnswer(outcome),
    answer: text === null || judgement === "delivered" ? null : await readSoon(text, limits),
    trigger,
  };
}

/** The text, or null if it takes too long. */
function readSoon(text: Promise<string>, limits: Limits): Promise<string | null> {
  const limit = limits.start(LONGEST_READ);
  return new Promise((resolve) => {
    // The daemon may have to stop at once.
    if (limit.signal.aborted) resolve(null);
    limit.signal.addEventListener("abort", () => resolve(null));
    void text.then((read) => {
      limit.end();
      resolve(read);
    });
  });
}

/**
 * The final answers that still count. A webhook whose entry in the config has changed since (its headers, certificates or
 * signing secrets) is another one, and is asked again.
 */
export function standing(finals: readonly FinalAnswer[], destination: Destination): readonly FinalAnswer[] {
  if (finals.length === 0) return finals;
  return finals.filter(({ url, entry }) => {
    const webhook = destination.webhooks.find((one) => one.url === url);
    return webhook === undefined || entry === undefined || entry === entryOf(webhook, destination);
  });
}

/** The webhooks that have not answered finally. */
export function askable({ finals }: Delivery, destination: Destination): readonly Webhook[] {
  const { webhooks } = destination;
  if (finals.length === 0) return webhooks;
  const counting = standing(finals, destination);
  const open = webhooks.filter(({ url }) => !counting.some((final) => final.url === url));
  // If every webhook that was still open has left the config, the others are asked once more, and that is final.
  return open.length > 0 ? open : webhooks;
}

/** Notes with each new final answer which entry of the config gave it. */
export function withEntries(finals: readonly FinalAnswer[], destination: Destination): readonly FinalAnswer[] {
  if (finals.every(({ entry }) => entry !== undefined)) return finals;
  return finals.map((final) => {
    const webhook = destination.webhooks.find(({ url }) => url === final.url);
    return final.entry !== undefined || !webhook ? final : { ...final, entry: entryOf(webhook, destination) };
  });
}

/** Too short to reveal the secrets in an entry, and long enough to tell it from the one before. */
const LENGTH = 8;

// Waiting deliveries ask for it again and again. A reload makes new objects.
const known = new WeakMap<Webhook, { readonly destination: Destination; readonly entry: string }>();

function entryOf(webhook: Webhook, destination: Destination): string {
  const found = known.get(webhook);
  if (found?.destination === destination) return found.entry;
  const entry = hashEntry(webhook, destination);
  known.set(webhook, { destination, entry });
  return entry;
}

function hashEntry({ url, headers, tls }: Webhook, { sharedSecrets, standardWebhooks }: Destination): string {
  const secrets = sharedSecrets.map((secret) => secret.reveal());
  const sent = headers.map(([name, value]) => [name, value.reveal()]);
  const certificates = tls && [tls.ca, tls.cert, tls.key?.reveal()];
  const entry = JSON.stringify([url, sent, certificates, secrets, standardWebhooks]);
  return createHash("sha256").update(entry).digest("hex").slice(0, LENGTH);
}
