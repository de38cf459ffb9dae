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
  readonly messageId: string;
  readonly type: EventType;
  /** What every receiver gets at each attempt: these bytes, in UTF-8. */
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
