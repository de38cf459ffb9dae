import type { Listen } from "./config.ts";
import type { At, Ms } from "./units.ts";

/** What the operator wants to know of a running daemon, at one moment. Times are of the wall clock. */
export type Status = {
  readonly version: string;
  readonly pid: number;
  readonly startedAt: At;
  readonly config: ConfigStatus;
  readonly outbox: { readonly path: string; readonly used: number; readonly max: number; readonly writable: boolean };
  readonly ingest: { readonly listen: Listen; readonly accepted: number; readonly rejected: number };
  /** Those of the config in its order, then others that something waits for. */
  readonly destinations: readonly DestinationStatus[];
};

export type ConfigStatus = {
  readonly file: string;
  /** When the config in force was read. */
  readonly readAt: At;
  /** Why a later one was refused; null if the last one was taken. */
  readonly refused: { readonly at: At; readonly reason: string } | null;
  /** The keys whose new value counts after the next start. */
  readonly needsRestart: readonly string[];
};

export type DestinationStatus = {
  readonly name: string;
  /** `failing`: nothing has succeeded since the last failure. `offline`: this machine has no network. */
  readonly state: "working" | "failing" | "offline" | "disabled" | "removed";
  /** Since when it fails; null while it does not. */
  readonly since: At | null;
  readonly lastError: AttemptError | null;
  /** Delivered per second, over the last minute. */
  readonly perSecond: number;
  readonly counts: Readonly<Record<"waiting" | "delivered" | "failed" | "expired", number>>;
  /** For how long the oldest of those that wait has waited; null if none does. */
  readonly oldestWaiting: Ms | null;
};

export type AttemptError = { readonly at: At; readonly url: string; readonly reason: string };
