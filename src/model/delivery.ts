import type { EventType } from "./event.ts";
import type { At, Ms } from "./units.ts";

/**
 * Where a delivery stands. It is born `waiting`; an attempt makes it `delivered`, `failed` or `expired`, or leaves it
 * `waiting`. Operators read these words in the database.
 */
export type DeliveryState = "waiting" | "delivered" | "failed" | "expired";

/** What commands and the operator's API take for one: `42-crm`. */
export function formatId({ id, destination }: Pick<Delivery, "id" | "destination">): string {
  return `${id}-${destination}`;
}

/** Where it stands when nothing more is to be done for it. */
export type SettledState = Exclude<DeliveryState, "waiting">;

declare const inside: unique symbol;
/** What an engine knows a delivery by. */
export type DeliveryRef = { readonly [inside]: never };

/** What names a delivery. */
export type DeliveryKey = Pick<Delivery, "id" | "destination">;

/** One event on its way to one destination, known by the two: the unit of retry. Its times are of `clock.now()`. */
export type Delivery = {
  /** The number of its event: events are counted from 1, in the order in which they were accepted. */
  readonly id: number;
  readonly destination: string;
  /** By this its store finds it again. Nobody else looks inside. */
  readonly ref: DeliveryRef;
  readonly messageId: string;
  readonly type: EventType;
  /** What every receiver gets: these bytes, in UTF-8, at each attempt. */
  readonly body: string;
  /** When the daemon took the event. */
  readonly acceptedAt: At;
  /** Rounds of attempts so far, those that never left the machine not counted. */
  readonly attempts: number;
  /** When the first attempt began: the cutoff counts from here. Null before it. */
  readonly firstAttemptAt: At | null;
  /** When the last round ended, whatever came of it. Null before the first. */
  readonly attemptedAt: At | null;
  /** When the operator last had it sent again. Null if it is as it came. */
  readonly replayedAt: At | null;
  /** For how long the destination's clock had stood still in all when the first attempt began; 0 before it. */
  readonly stoodStill: Ms;
  readonly dueAt: At;
  /** Webhooks that have answered finally and are not asked again. */
  readonly finals: readonly FinalAnswer[];
};

/** A webhook's last word on a delivery. Recognised by its URL. */
export type FinalAnswer = {
  readonly url: string;
  readonly reason: string;
  /** Tells the webhook's entry in the config, as it was then, from a later one. */
  readonly entry?: string;
};
