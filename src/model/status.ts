import type { Destination } from "./destination.ts";
import type { At } from "./units.ts";

export type ConfigStatus = {
  readonly file: string;
  /** When the config in force was read. */
  readonly readAt: At;
  /** Why the last one was refused; null if the last one is in force. */
  readonly refused: { readonly at: At; readonly reason: string } | null;
  /** The keys that keep their old value until the daemon is started again. */
  readonly needsRestart: readonly string[];
};

/** What has come from a source. */
type Arrived = {
  /** Events taken, over the last minute. */
  readonly perSecond: number;
  /** When one was taken last; null if none was since the start. */
  readonly lastAt: At | null;
};

/** Who knows what has come in lately. */
export type Arrivals = { of(source: string): Arrived };

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
