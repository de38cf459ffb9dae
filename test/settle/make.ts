import type { Answer, Delivery, Outcome, RetryPolicy, Settlement } from "../../src/model/delivery.ts";
import { type At, HOUR, type Ms } from "../../src/model/units.ts";
import { WAITS } from "../../src/settle/backoff.ts";
import { type SettleContext, settle } from "../../src/settle/settle.ts";
import { refOf } from "../../src/store/sqlite/progress.ts";
import { URL_A } from "../flow/make.ts";

/** When the first attempt of a delivery began. */
export const FIRST_AT: At = Date.UTC(2026, 10, 20, 12, 0, 0);
export const POLICY: RetryPolicy = { ...WAITS, cutoff: 4 * HOUR };

export const TIMEOUT: Answer = { kind: "timeout", after: 5_000 };
export const REFUSED: Answer = { kind: "unreachable", code: "ECONNREFUSED", message: "connection refused" };
export const OFFLINE: Answer = { kind: "offline", code: "ENETUNREACH", message: "network is unreachable" };
export const UNTRUSTED: Answer = {
  kind: "untrusted",
  code: "DEPTH_ZERO_SELF_SIGNED_CERT",
  message: "self-signed certificate",
};
export const RELEASED: Answer = { kind: "released" };

type Said = { readonly retryAfter?: Ms; readonly location?: string };

export function answered(status: number, { retryAfter, location }: Said = {}): Answer {
  return { kind: "answered", status, retryAfter: retryAfter ?? null, location: location ?? null };
}

export function makeOutcome(answer: Answer, { url = URL_A, startedAt = FIRST_AT } = {}): Outcome {
  return { ...answer, url, startedAt, duration: 20 };
}

/** A delivery that has not been tried. */
export function makeDelivery(delivery: Partial<Delivery> = {}): Delivery {
  return {
    ref: refOf(1),
    id: 1,
    destination: "crm",
    source: "website",
    messageId: "m1",
    type: "track",
    body: "{}",
    acceptedAt: FIRST_AT,
    replayedAt: null,
    attempts: 0,
    firstAttemptAt: null,
    attemptedAt: null,
    stoodStill: 0,
    dueAt: FIRST_AT,
    finals: [],
    ...delivery,
  };
}

/** One that has failed twice since `FIRST_AT`. */
export function makeRetried(delivery: Partial<Delivery> = {}): Delivery {
  return makeDelivery({ attempts: 2, firstAttemptAt: FIRST_AT, attemptedAt: FIRST_AT + 2_000, ...delivery });
}

export type RoundOptions = Partial<Omit<SettleContext, "webhooks" | "clock">> & {
  /** The URLs of all webhooks of the destination, and of those asked in the round. */
  readonly urls?: readonly string[];
  readonly asked?: readonly string[];
  /** For how long the destination's clock had stood still in all, at any time that is asked about. */
  readonly stoodStill?: Ms;
  readonly standsStill?: boolean;
};

/** Settles a round that was over 20 ms after `FIRST_AT`, by the middle of chance, to one webhook, unless told else. */
export function settleRound(
  delivery: Delivery,
  outcomes: readonly Outcome[],
  { urls = [URL_A], asked = urls, stoodStill = 0, standsStill = false, ...context }: RoundOptions = {},
): Settlement | null {
  const webhooks = { all: urls.map((url) => ({ url })), asked: asked.map((url) => ({ url })) };
  const clock = { stoodStill: () => stoodStill, standsStill: () => standsStill };
  return settle(delivery, outcomes, { now: FIRST_AT + 20, random: 0.5, policy: POLICY, ...context, clock, webhooks });
}

/** Settles a round of one webhook that answered like this. */
export function settleAnswer(delivery: Delivery, answer: Answer, options: RoundOptions = {}): Settlement {
  const settlement = settleRound(delivery, [makeOutcome(answer)], options);
  if (settlement === null) throw new Error("the round is still open");
  return settlement;
}

/** How long after `now` the next round begins. */
export function waitOf(settlement: Settlement | null, now: At = FIRST_AT + 20): Ms {
  if (settlement?.state !== "waiting") throw new Error(`expected it to wait, it is ${settlement?.state}`);
  return settlement.dueAt - now;
}
