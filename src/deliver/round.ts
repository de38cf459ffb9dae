import { createHash } from "node:crypto";
import type { Destination, Webhook } from "../model/config.ts";
import { withoutQuery } from "../model/config.ts";
import type { Attempt, Delivery, FinalAnswer, Outcome, RetryPolicy, Settlement } from "../model/delivery.ts";
import type { Observer } from "../model/observer.ts";
import { payloadFor } from "../model/payload.ts";
import type { Clock, Post, Random } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { At, Ms } from "../model/units.ts";
import { describeAnswer, judge, signOf } from "../settle/judge.ts";
import { isOffline, settle } from "../settle/settle.ts";
import { requestHeaders } from "../webhook/headers.ts";
import { type AttemptResult, attempt, type Limits } from "./attempt.ts";
import type { LoopClock } from "./clocks.ts";
import type { Holds } from "./holds.ts";
import type { Lanes } from "./lanes.ts";

export type RoundWorld = {
  readonly clock: Clock;
  readonly random: Random;
  readonly post: Post;
  readonly lanes: Lanes;
  readonly limits: Limits;
  readonly holds: Pick<Holds, "note">;
  readonly observer: Pick<Observer, "attempted" | "givenUp">;
  readonly report: Report;
};

/** What all attempts of a round have in common. */
type Round = {
  readonly destination: Destination;
  readonly destinationClock: LoopClock;
  /** The webhooks that gave a slot. Each is sent one request. */
  readonly webhooks: readonly Webhook[];
  readonly timeout: Ms;
  readonly policy: RetryPolicy;
  /** Called after each attempt, also after those that end when the round is already decided. */
  readonly onSlotFreed: () => void;
};

/**
 * Sends a delivery to each webhook of the round at once. Resolves as soon as the round is decided (SPEC.md 6: the first
 * success does that), or with null if the attempts were abandoned first. Later answers are reported, and change nothing.
 */
export function sendRound(delivery: Delivery, round: Round, world: RoundWorld): Promise<Settlement | null> {
  const run: Run = { delivery, round, world, outcomes: [], log: [] };
  const [only] = round.webhooks;
  if (only && round.webhooks.length === 1) return attemptAndDecide(only, run);
  return firstDecision(round.webhooks.map((webhook) => attemptAndDecide(webhook, run)));
}

/** A round under way. */
type Run = {
  readonly delivery: Delivery;
  readonly round: Round;
  readonly world: RoundWorld;
  readonly outcomes: Outcome[];
  readonly log: Attempt[];
};

/** Makes one attempt, in the slot that was taken for it, and decides what the round means now. */
async function attemptAndDecide(webhook: Webhook, run: Run): Promise<Settlement | null> {
  const { delivery, round, world, outcomes, log } = run;
  const { destination, timeout } = round;
  const trigger = triggerOf(webhook, run);
  let result: AttemptResult | null = null;
  try {
    const body = payloadFor(delivery.body, destination.name);
    const message = { messageId: delivery.messageId, body };
    const headers = requestHeaders(webhook, message, { destination, at: world.clock.wall() });
    result = await attempt({ url: webhook.url, headers, body, tls: webhook.tls }, timeout, world);
  } finally {
    freeSlot(webhook, result?.outcome ?? null, run);
  }
  const { outcome } = result;
  world.observer.attempted(delivery, outcome);
  world.report.attempted(delivery, outcome);
  const judgement = judge(outcome);
  if (judgement === "unknown") return null;
  // A success at the first attempt needs no log, unless another attempt of its round has failed.
  const isFirst = delivery.attemptedAt === null && delivery.replayedAt === null;
  if (log.length > 0 || judgement !== "delivered" || !isFirst)
    log.push(await toLogEntry(result, { judgement, trigger }, world.limits));
  outcomes.push(outcome);
  return decide(run);
}

/** The first decision as soon as there is one, or null once all attempts have ended without one. */
function firstDecision(decisions: readonly Promise<Settlement | null>[]): Promise<Settlement | null> {
  return new Promise((resolve, reject) => {
    for (const decision of decisions) decision.then((settlement) => settlement && resolve(settlement), reject);
    Promise.all(decisions).then(() => resolve(null), reject);
  });
}

function triggerOf(webhook: Webhook, { delivery, round, world }: Run): Attempt["trigger"] {
  const { attemptedAt, replayedAt } = delivery;
  if (world.lanes.isClosed(round.destination.name, webhook)) return "probe";
  if (attemptedAt !== null) return "retry";
  return replayedAt === null ? "first" : "replay";
}

/** Frees the slot, whatever the outcome, and tells the lane what the outcome says about the webhook. */
function freeSlot(webhook: Webhook, outcome: Outcome | null, { delivery, round, world }: Run): void {
  const { clock, random, lanes, holds } = world;
  const { destination, destinationClock, policy, onSlotFreed } = round;
  const now = outcome ? endOf(outcome) : clock.now();
  const sign = outcome ? signOf(outcome) : "unknown";
  if (sign !== "offline" && sign !== "unknown") destinationClock.noteOnline(now);
  const hold = outcome && holdOf(outcome, policy);
  lanes.done(destination.name, webhook, {
    sign,
    tried: delivery.attemptedAt !== null,
    startedAt: outcome?.startedAt ?? now,
    reason: outcome && sign !== "taken" ? describeAnswer(outcome) : "",
    hold,
    now,
    random: random.fraction(),
    policy,
  });
  if (hold !== null) holds.note({ destination: destination.name, url: webhook.url, until: now + hold });
  onSlotFreed();
}

function endOf({ startedAt, duration }: Outcome): At {
  return startedAt + duration;
}

/** How long Retry-After holds the lane. It counts for the whole webhook only with 429 and 503, and at most up to the cutoff. */
function holdOf(outcome: Outcome, policy: RetryPolicy): Ms | null {
  if (outcome.kind !== "answered" || (outcome.status !== 429 && outcome.status !== 503)) return null;
  return outcome.retryAfter === null ? null : Math.min(outcome.retryAfter, policy.cutoff);
}

function decide({ delivery, round, world, outcomes, log }: Run): Settlement | null {
  const { destination, destinationClock, webhooks, policy } = round;
  const known =
    delivery.finals.length === 0 ? delivery : { ...delivery, finals: currentFinals(delivery.finals, destination) };
  if (outcomes.length === webhooks.length && outcomes.every(isOffline)) destinationClock.noteOffline();
  const settlement = settle(known, outcomes, {
    now: world.clock.now(),
    random: world.random.fraction(),
    policy,
    clock: destinationClock,
    webhooks: { all: destination.webhooks, asked: webhooks },
  });
  if (settlement === null || log.length === 0) return settlement;
  // A copy, because the round may still add to the list.
  return { ...settlement, finals: withConfigEntries(settlement.finals, destination), log: [...log] };
}

/**
 * How long the settlement waits for the text of a refusal, which usually comes with the headers. It has to be well below the
 * wait before the first retry.
 */
const LONGEST_READ: Ms = 250;

type Known = { readonly judgement: Attempt["outcome"]; readonly trigger: Attempt["trigger"] };

/** An attempt as it is logged for the operator. */
async function toLogEntry(
  { outcome, text }: AttemptResult,
  { judgement, trigger }: Known,
  limits: Limits,
): Promise<Attempt> {
  return {
    at: outcome.startedAt,
    url: withoutQuery(outcome.url),
    duration: outcome.duration,
    outcome: judgement,
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
    // Already aborted when the daemon has to stop at once.
    if (limit.aborted) resolve(null);
    limit.addEventListener("abort", () => resolve(null));
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
export function currentFinals(finals: readonly FinalAnswer[], destination: Destination): readonly FinalAnswer[] {
  if (finals.length === 0) return finals;
  return finals.filter(({ url, entry }) => {
    const webhook = destination.webhooks.find((one) => one.url === url);
    return webhook === undefined || entry === undefined || entry === entryOf(webhook, destination);
  });
}

/** The webhooks that have not answered finally. */
export function openWebhooks({ finals }: Delivery, destination: Destination): readonly Webhook[] {
  const { webhooks } = destination;
  if (finals.length === 0) return webhooks;
  const counting = currentFinals(finals, destination);
  const open = webhooks.filter(({ url }) => !counting.some((final) => final.url === url));
  // If every webhook that was still open has left the config, the others are asked once more, and that is final.
  return open.length > 0 ? open : webhooks;
}

/** Notes with each new final answer which entry of the config gave it. */
export function withConfigEntries(finals: readonly FinalAnswer[], destination: Destination): readonly FinalAnswer[] {
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
