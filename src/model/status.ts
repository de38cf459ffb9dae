import type { Destination, Source } from "./config.ts";
import type { At } from "./units.ts";

export type ConfigStatus = {
  readonly file: string;
  /** When the config in force was read. */
  readonly readAt: At;
  /** Why the last config was refused; null if it is in force. */
  readonly refused: { readonly at: At; readonly reason: string } | null;
  /** The keys that keep their old value until a restart. */
  readonly needsRestart: readonly string[];
};

/** The recent calls of a source. */
type Arrived = {
  /** Events accepted, averaged over the last minute. */
  readonly perSecond: number;
  /** When the last one was accepted; null if none was since the start. */
  readonly lastAt: At | null;
};

/** Recent arrivals by source. */
export type Arrivals = { of(source: string): Arrived };

/** How a source stands to the limits that it has in the config. Times are by `clock.now()`. */
export type LimitStatus = {
  /** Bytes that wait for delivery, and the most that may; `bytes` is null while they are counted. Null without `maxWaiting`. */
  readonly waiting: { readonly bytes: number | null; readonly max: number } | null;
  /** Null if nothing was refused for a minute. */
  readonly refusing: Refusing | null;
};

/** Requests that a limit has refused, with less than a minute between two of them. `code`: of the last one. */
export type Refusing = {
  readonly code: "rate_limited" | "source_full";
  readonly since: At;
  readonly lastAt: At;
  readonly requests: number;
};

/** The limits of sources: null for a source that has none. */
export type LimitStatuses = {
  of(source: Source): LimitStatus | null;
  /** The last spell of refusals of each source, however long ago. */
  refusals(): readonly (Refusing & { readonly source: string })[];
};

/** The health of a destination, by its webhooks' answers since the start. */
export type DestinationHealth = {
  /**
   * `untried`: nothing was sent yet. `degraded`: some of its webhooks fail. `failing`: all fail. `offline`: this machine has
   * no network.
   */
  readonly state: "untried" | "working" | "degraded" | "failing" | "offline";
  /** Since when no webhook has accepted anything; null if one does. */
  readonly failingSince: At | null;
  /** The last error of a failing webhook; null if none fails. */
  readonly lastError: AttemptError | null;
  /** Since when its rate holds it back; null if it does not. */
  readonly heldSince: At | null;
  /** In the order of the config. */
  readonly webhooks: readonly WebhookHealth[];
};

export type WebhookHealth = {
  /** Without its query. */
  readonly url: string;
  /**
   * `failing`: nothing has succeeded for a while, and due deliveries are sent. `slowed`: it refuses everything, and gets a
   * few requests a second. `down`: it does not answer, and is only probed. `offline`: this machine has no network.
   */
  readonly state: "untried" | "working" | "failing" | "slowed" | "down" | "offline";
  /** When the first attempt since the last success failed; null while it works. */
  readonly failingSince: At | null;
  /** Its last answer, while it does not work. */
  readonly lastFailure: { readonly at: At; readonly reason: string } | null;
  /** Until when nothing is sent to it; null if it is sent to now. */
  readonly nextTryAt: At | null;
};

export type AttemptError = { readonly at: At; readonly url: string; readonly reason: string };

/** The health of destinations. Times are by `clock.now()`. */
export type Health = { of(destination: Destination): DestinationHealth };

/** What holds deliveries back that are due, although a webhook works: an earlier one of their user, or the destination's limits. */
export type HoldReason = "user" | "rate" | "concurrency";

/** What holds back the due deliveries of a destination at this moment, as far as this daemon has them in memory. */
export type HeldBack = {
  of(destination: Destination): {
    /** What holds back those that have their turn; null: nothing does. */
    readonly by: Exclude<HoldReason, "user"> | null;
    /** With `concurrency`, the requests that are under way. */
    readonly running: number;
    /** Which of these events wait for an earlier one of their user. */
    inLineOf(events: ReadonlySet<number>): ReadonlySet<number>;
    /** How many are held back. */
    readonly counts: Readonly<Record<HoldReason, number>>;
  };
};

/** Recent successful attempts by destination. */
export type Activity = {
  /** Per second, averaged over the last minute. */
  of(destination: string): number;
};

/** The state of the lane to one webhook. Times are by `clock.now()`. */
export type LaneStatus = {
  /** `slowed`: it answers, and has refused everything for a while. `closed`: it does not answer, and is only probed. */
  readonly state: "open" | "slowed" | "closed";
  /** Consecutive failures. */
  readonly failures: number;
  /** When the first of them began; null if the last attempt succeeded, or there was none. */
  readonly failingSince: At | null;
  readonly lastSuccessAt: At | null;
  /** Kept after a success. */
  readonly lastFailure: { readonly at: At; readonly reason: string; readonly offline: boolean } | null;
  /** Until when nothing is sent. May be in the past. */
  readonly shutUntil: At;
};
