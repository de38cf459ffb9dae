import type { Attempt } from "./attempt.ts";
import type { FinalAnswer } from "./delivery.ts";
import type { At, Ms } from "./units.ts";

/** What a round of attempts decided about its delivery, to be written to its row. Times are of `clock.now()`. */
export type Settlement = Progress &
  (
    | { readonly state: "delivered"; readonly url: string; readonly status: number }
    | { readonly state: "waiting"; readonly dueAt: At; readonly reason: string }
    | { readonly state: "failed"; readonly reason: string }
    | { readonly state: "expired"; readonly reason: string }
  );

/** What every round changes. */
export type Progress = {
  readonly attempts: number;
  readonly firstAttemptAt: At | null;
  readonly attemptedAt: At;
  readonly stoodStill: Ms;
  readonly finals: readonly FinalAnswer[];
  /** The attempts of the round. Left out where one has delivered it at once: url, status and time say all of that. */
  readonly log?: readonly Attempt[];
};

/** How long and how often to try. */
export type RetryPolicy = {
  /** SPEC.md 8: four hours at most. */
  readonly cutoff: Ms;
  readonly firstWait: Ms;
  readonly longestWait: Ms;
  /** Share of a wait that chance may add or take away. */
  readonly jitter: number;
};
