import type { DeliveryState } from "./delivery.ts";
import type { Destination } from "./destination.ts";
import type { Bound, Gone } from "./space.ts";
import type { ClockHealth } from "./timeline.ts";
import type { At, Ms } from "./units.ts";

/** What an operator wants to know of a running daemon, at one moment. Points in time are of the wall clock. */
export type Status = {
  readonly version: string;
  readonly pid: number;
  readonly startedAt: At;
  readonly config: ConfigStatus;
  readonly outbox: OutboxStatus;
  readonly problems: readonly Problem[];
  /** Whether the machine's clock can be believed. */
  readonly clock: ClockHealth;
  readonly sources: readonly SourceStatus[];
  /** Those of the config, in its order, and then those that something still waits for. */
  readonly destinations: readonly DestinationStatus[];
};

/** Something that is wrong. */
export type Problem = {
  readonly level: "error" | "warning";
  /** Stays the same, for programs. */
  readonly code: string;
  /** Holds no secret. */
  readonly what: string;
  readonly since: At | null;
  /** What to do about it. */
  readonly remedy: string;
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

export type DestinationStatus = Omit<DestinationHealth, "state"> & {
  readonly name: string;
  readonly state: DestinationState;
  /** Null if it is not paused. One that is disabled or removed can be paused as well. */
  readonly pausedSince: At | null;
  readonly counts: Readonly<Record<DeliveryState, number>>;
  /** For how long the oldest of those that wait has been here; null if none waits. */
  readonly oldestWaiting: Ms | null;
  /** Successes, over the last minute. */
  readonly perSecond: number;
};

/** `paused`: by the operator's command. `disabled`, `removed`: by the config. What waits stays in all three. */
export type DestinationState = DestinationHealth["state"] | "paused" | "disabled" | "removed";

/** How a destination that is delivered to is, by what its webhooks have answered since the start. */
export type DestinationHealth = {
  /**
   * `untried`: nothing was sent yet. `degraded`: some of its webhooks fail. `failing`: all of them do. `offline`: this
   * machine has no network.
   */
  readonly state: "untried" | "working" | "degraded" | "failing" | "offline";
  /** Since when no webhook has taken anything; null if one does. */
  readonly failingSince: At | null;
  /** What went wrong last at a webhook that fails; null if none does. */
  readonly lastError: AttemptError | null;
  /** In the order of the config. */
  readonly webhooks: readonly WebhookHealth[];
};

export type WebhookHealth = {
  /** Without its query. */
  readonly url: string;
  /**
   * `failing`: nothing has succeeded for a while, and it gets what is due. `slowed`: it refuses everything, and gets a few
   * requests a second. `down`: it does not answer, and is only probed. `offline`: this machine has no network.
   */
  readonly state: "untried" | "working" | "failing" | "slowed" | "down" | "offline";
  /** When the first attempt since the last success failed; null while it works. */
  readonly failingSince: At | null;
  /** What it answered last, while it does not work. */
  readonly lastFailure: { readonly at: At; readonly reason: string } | null;
  /** Until when nothing is sent to it; null if that is not so. */
  readonly nextTryAt: At | null;
};

export type AttemptError = { readonly at: At; readonly url: string; readonly reason: string };

/** Who knows how destinations are. Points in time are of `clock.now()`. */
export type Health = { of(destination: Destination): DestinationHealth };

/** Who knows how many attempts have succeeded lately. */
export type Activity = {
  /** A second, over the last minute. */
  of(destination: string): number;
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
