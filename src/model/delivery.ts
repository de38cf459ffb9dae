import type { EventType } from "./event.ts";
import type { At, Ms } from "./units.ts";

/**
 * The state of a delivery. It starts as `waiting`; an attempt makes it `delivered`, `failed` or `expired`, or leaves it
 * `waiting`. Operators read these words in the database.
 */
export type DeliveryState = "waiting" | "delivered" | "failed" | "expired";

/** The id that commands and the operator's API use, such as `42-crm`. */
export function formatId({ id, destination }: Pick<Delivery, "id" | "destination">): string {
  return `${id}-${destination}`;
}

/** The states after which nothing more is done. */
export type SettledState = Exclude<DeliveryState, "waiting">;

declare const inside: unique symbol;
/** An engine's own reference to a delivery. */
export type DeliveryRef = { readonly [inside]: never };

export type DeliveryKey = Pick<Delivery, "id" | "destination">;

/** One event for one destination: the unit of retry. Times are by `clock.now()`. */
export type Delivery = {
  /** The number of its event. Events count from 1, in the order of acceptance. */
  readonly id: number;
  readonly destination: string;
  /** How the store finds it again. Opaque to everything else. */
  readonly ref: DeliveryRef;
  readonly source: string;
  readonly messageId: string;
  readonly type: EventType;
  /** What is stored of the event. `payloadFor` (model/payload.ts) says what the receiver gets of it, at each attempt the same. */
  readonly body: string;
  /** When the daemon accepted the event. */
  readonly acceptedAt: At;
  /** Rounds of attempts so far, without those that never left the machine. */
  readonly attempts: number;
  /** When the first attempt began: the cutoff counts from here. Null before it. */
  readonly firstAttemptAt: At | null;
  /** When the last round ended, whatever its result. Null before the first. */
  readonly attemptedAt: At | null;
  /** When the operator last had it sent again. Null if never. */
  readonly replayedAt: At | null;
  /** How long the destination's clock had stood still in total when the first attempt began; 0 before it. */
  readonly stoodStill: Ms;
  readonly dueAt: At;
  /** Webhooks that have given a final answer and are not asked again. */
  readonly finals: readonly FinalAnswer[];
};

/** A webhook's final answer to a delivery. The webhook is identified by its URL. */
export type FinalAnswer = {
  readonly url: string;
  readonly reason: string;
  /** Identifies the webhook's entry in the config at that time, so that a later entry is not mistaken for it. */
  readonly entry?: string;
};

/** One attempt of a delivery, as the operator sees it: a POST to one webhook, and its result. */
export type Attempt = {
  /** When it began, by `clock.now()`. */
  readonly at: At;
  /** Without its query, which may hold a token. */
  readonly url: string;
  /** Null for an attempt that delivered at once: `at` is then when it ended. */
  readonly duration: Ms | null;
  /**
   * `delivered`: the webhook has accepted it. `retry`: the webhook will be asked again. `final`: it will not, because its
   * answer would be the same. `offline`: the request never left this machine.
   */
  readonly outcome: "delivered" | "retry" | "final" | "offline";
  /** Null if there was no answer. */
  readonly status: number | null;
  /** `503`, `no answer within 5s`, `connection refused`. */
  readonly reason: string;
  /**
   * The first KB of a refusing receiver's answer, with any characters it sent. Null without an answer, after a success, and
   * if the body did not follow the status in time.
   */
  readonly answer: string | null;
  /**
   * `probe`: the lane was closed, and this delivery tested whether the receiver is back. `replay`: the first attempt after
   * the operator had the delivery sent again.
   */
  readonly trigger: "first" | "retry" | "probe" | "replay";
};

/** The attempts of a delivery, by the time they ended: the first ones, how many were left out, and the last ones. */
export type AttemptLog = {
  readonly first: readonly Attempt[];
  readonly omitted: number;
  readonly last: readonly Attempt[];
};

export const NO_ATTEMPTS: AttemptLog = { first: [], omitted: 0, last: [] };

/** How many are kept at each end. */
const KEPT = 5;

/** The log with these attempts appended. */
export function withAttempts(log: AttemptLog, made: readonly Attempt[]): AttemptLog {
  const room = KEPT - log.first.length;
  const later = [...log.last, ...made.slice(room)];
  const last = later.slice(-KEPT);
  return {
    first: [...log.first, ...made.slice(0, room)],
    omitted: log.omitted + later.length - last.length,
    last,
  };
}

/** The result of one attempt: a POST of one delivery to one webhook. */
export type Outcome = Attempted & Answer;

export type Attempted = {
  readonly url: string;
  readonly startedAt: At;
  readonly duration: Ms;
};

export type Answer =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** The receiver's Retry-After, if any. */
      readonly retryAfter: Ms | null;
      /** Where a redirect pointed to. It is not followed. */
      readonly location: string | null;
    }
  | { readonly kind: "timeout"; readonly after: Ms }
  | { readonly kind: "unreachable"; readonly code: string; readonly message: string }
  /** The attempt never left this machine. */
  | { readonly kind: "offline"; readonly code: string; readonly message: string }
  /** The certificate was refused before any request was sent. */
  | { readonly kind: "untrusted"; readonly code: string; readonly message: string }
  /** The daemon stopped while the attempt ran: nothing is known. */
  | { readonly kind: "released" };

/** The decision of a round of attempts about its delivery, to be stored. Times are by `clock.now()`. */
export type Settlement = Progress &
  (
    | { readonly state: "delivered"; readonly url: string; readonly status: number }
    | { readonly state: "waiting"; readonly dueAt: At; readonly reason: string }
    | { readonly state: "failed"; readonly reason: string }
    | { readonly state: "expired"; readonly reason: string }
  );

/** The fields that every round changes. */
export type Progress = {
  readonly attempts: number;
  readonly firstAttemptAt: At | null;
  readonly attemptedAt: At;
  readonly stoodStill: Ms;
  readonly finals: readonly FinalAnswer[];
  /** The attempts of the round. Left out if one delivered at once: url, status and time say everything. */
  readonly log?: readonly Attempt[];
};

/** How long and how often to try. */
export type RetryPolicy = {
  /** How long after the first attempt (SPEC.md 8: four hours, unless the destination chooses more). */
  readonly cutoff: Ms;
  readonly firstWait: Ms;
  readonly longestWait: Ms;
  /** The part of a wait that jitter may add or subtract. */
  readonly jitter: number;
};
