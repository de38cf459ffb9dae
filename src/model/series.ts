import type { At, Ms } from "./units.ts";

/** How far back a series goes: an hour by points of five seconds, or a day by points of a minute. */
export const SPANS = ["1h", "1d"] as const;
export type Span = (typeof SPANS)[number];

/** Rates are per second, `waiting` is a number of deliveries, and `p50` and `p99` are milliseconds of an attempt. */
export type Gauge = "accepted" | "refused" | "delivered" | "failed" | "waiting" | "p50" | "p99";

/** What a series is about: the daemon, or one destination or source of the config. */
export type Subject = { readonly kind: "daemon" } | { readonly kind: "destination" | "source"; readonly name: string };

/** The charts of the operator, in memory since the start. */
export type Series = {
  read(span: Span, of: Subject): Recorded;
};

/** Times are by `clock.now()`. */
export type Recorded = {
  readonly since: At;
  /** When the last point ended. */
  readonly until: At;
  readonly step: Ms;
  /** The names that have no series because there are too many. */
  readonly omitted: number;
  /** The points from `since` to `until`; null where nothing was recorded. */
  readonly series: { readonly [G in Gauge]?: readonly (number | null)[] };
};
