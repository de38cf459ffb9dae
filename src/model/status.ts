import type { DeliveryState } from "./delivery.ts";
import type { Bound, Gone } from "./space.ts";
import type { At, Ms } from "./units.ts";

/** What an operator wants to know of a running daemon, at one moment. Points in time are of the wall clock. */
export type Status = {
  readonly version: string;
  readonly pid: number;
  readonly startedAt: At;
  readonly config: ConfigStatus;
  readonly outbox: OutboxStatus;
  readonly sources: readonly SourceStatus[];
  /** Those of the config, in its order, and then those that something still waits for. */
  readonly destinations: readonly DestinationStatus[];
};

export type ConfigStatus = {
  readonly file: string;
  /** When the config in force was read. */
  readonly readAt: At;
  /** Why the last one was refused; null if the last one is in force. */
  readonly refused: { readonly at: At; readonly reason: string } | null;
  /** The keys that keep their old value until the daemon is started again. */
  readonly needsRestart: readonly string[];
};

export type OutboxStatus = {
  readonly path: string;
  /** Bytes of used pages, and the bound. */
  readonly used: number;
  readonly max: number;
  /** Bytes of its disk that are free; null if nobody can say. */
  readonly free: number | null;
  /** The bound at which calls are refused; null while there is room. */
  readonly full: Bound | null;
  /** False after a commit that failed, until one succeeds. */
  readonly writable: boolean;
  /** Why its file would not be found by the next start; null if it would. `since` is of the wall clock. */
  readonly gone: Gone | null;
};

export type SourceStatus = Arrived & { readonly name: string; readonly enabled: boolean };

/** What has come from a source. */
export type Arrived = {
  /** Events taken, over the last minute. */
  readonly perSecond: number;
  /** When one was taken last; null if none was since the start. */
  readonly lastAt: At | null;
};

/** Who knows what has come in lately. */
export type Arrivals = { of(source: string): Arrived };

export type DestinationStatus = Omit<Lately, "offline"> & {
  readonly name: string;
  readonly state: DestinationState;
  /** Null if it is not paused. One that is disabled or removed can be paused as well. */
  readonly pausedSince: At | null;
  readonly counts: Readonly<Record<DeliveryState, number>>;
  /** For how long the oldest of those that wait has been here; null if none waits. */
  readonly oldestWaiting: Ms | null;
};

/**
 * `working`: as far as anybody knows. `failing`: nothing has succeeded since the last failure. `offline`: this machine has
 * no network. `paused`: by the operator's command. `disabled`, `removed`: by the config. What waits stays in all three.
 */
export type DestinationState = "working" | "failing" | "offline" | "paused" | "disabled" | "removed";

export type AttemptError = { readonly at: At; readonly url: string; readonly reason: string };

/** What has come of the attempts for a destination. */
export type Lately = {
  /** Successes, over the last minute. */
  readonly perSecond: number;
  /** Since when nothing has succeeded; null while all is well. */
  readonly failingSince: At | null;
  /** What went wrong last; null if nothing has since the last success. */
  readonly lastError: AttemptError | null;
  /** Whether the last attempt never left this machine. */
  readonly offline: boolean;
};

/** How the way to one webhook is. Its times are of `clock.now()`. */
export type LaneStatus = {
  /** `slowed`: it answers, and has refused everything for a while. `closed`: it does not answer, and is only probed. */
  readonly state: "open" | "slowed" | "closed";
  /** In a row, up to now. */
  readonly failures: number;
  /** When the first of them began; null if the last attempt succeeded, or there was none. */
  readonly failingSince: At | null;
  readonly lastSuccessAt: At | null;
  /** Kept after a success. */
  readonly lastFailure: { readonly at: At; readonly reason: string; readonly offline: boolean } | null;
  /** Until when nothing is sent. May lie in the past. */
  readonly shutUntil: At;
};

/** Who knows what has come of the attempts lately. */
export type AttemptsLately = { of(destination: string): Lately };
