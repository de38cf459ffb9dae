import type { Attempt } from "./attempt.ts";
import type { FinalAnswer } from "./delivery.ts";
import type { At, Ms } from "./units.ts";

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
  /** SPEC.md 8: four hours at most. */
  readonly cutoff: Ms;
  readonly firstWait: Ms;
  readonly longestWait: Ms;
  /** The part of a wait that jitter may add or subtract. */
  readonly jitter: number;
};
