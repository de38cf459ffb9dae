import type { Delivery, FinalAnswer } from "../../model/delivery.ts";

const NONE: readonly FinalAnswer[] = [];

/** What is known of a delivery before its first attempt. */
export type Untried = Pick<Delivery, "id" | "destination" | "segment" | "messageId" | "type" | "body" | "acceptedAt">;

/** A delivery that waits for its first attempt, which is due since it was accepted. */
export function untried({ id, destination, segment, messageId, type, body, acceptedAt }: Untried): Delivery {
  return {
    id,
    destination,
    segment,
    messageId,
    type,
    body,
    acceptedAt,
    attempts: 0,
    firstAttemptAt: null,
    attemptedAt: null,
    replayedAt: null,
    stoodStill: 0,
    dueAt: acceptedAt,
    finals: NONE,
  };
}
