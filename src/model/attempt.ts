import type { At, Ms } from "./units.ts";

/** One attempt of a delivery, as it is kept for the operator: a POST to one webhook, and what came of it. */
export type Attempt = {
  /** When it began, of `clock.now()`. */
  readonly at: At;
  /** Without its query, which may hold a token. */
  readonly url: string;
  /** Null of the one that delivered at once: then `at` is when it ended. */
  readonly duration: Ms | null;
  /**
   * What it meant for the delivery: the webhook has it, is asked again, is not asked again because it would say the same,
   * or was never asked because this machine is offline.
   */
  readonly outcome: "delivered" | "retry" | "final" | "offline";
  /** Null if nothing was answered. */
  readonly status: number | null;
  /** `503`, `no answer within 5s`, `connection refused`. */
  readonly reason: string;
  /**
   * The first KB of what a receiver said that did not take it, with whatever characters it sent. Null if nothing was
   * answered, of a success, and if the text did not come soon after the status.
   */
  readonly answer: string | null;
  /**
   * `probe`: the lane was closed, and this delivery was chosen to see whether the receiver is back. `replay`: the first one
   * after the operator has had it sent again.
   */
  readonly trigger: "first" | "retry" | "probe" | "replay";
};

/** The attempts of a delivery: the first ones, how many were left out, and the last ones. By time, as they ended. */
export type AttemptLog = {
  readonly first: readonly Attempt[];
  readonly omitted: number;
  readonly last: readonly Attempt[];
};

export const NO_ATTEMPTS: AttemptLog = { first: [], omitted: 0, last: [] };

/** How many are kept at either end. */
const KEPT = 5;

/** The log with these attempts at its end. */
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
