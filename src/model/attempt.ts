import type { At, Ms } from "./units.ts";

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
