import type { Gauge, Span } from "../model/series.ts";
import { MINUTE, type Ms, SECOND } from "../model/units.ts";
import { createTimings, type Timings } from "./timings.ts";

export const STEPS: Readonly<Record<Span, Ms>> = { "1h": 5 * SECOND, "1d": MINUTE };
export const POINTS: Readonly<Record<Span, number>> = { "1h": 720, "1d": 1_440 };

export type TrackKind = "daemon" | "destinations" | "sources";

export const GAUGES: Readonly<Record<TrackKind, readonly Gauge[]>> = {
  daemon: ["accepted", "refused", "delivered", "failed", "waiting"],
  destinations: ["delivered", "failed", "waiting", "p50", "p99"],
  sources: ["accepted", "refused"],
};

/** The points of one destination, one source or the daemon, and what was counted since the last ones. */
export type Track = {
  /** Since the last point of five seconds. */
  readonly counts: Counts;
  readonly timings: Timings | null;
  close(ending: Ending): void;
  /** How many deliveries wait since the end of this point of five seconds, the last one; null if nobody knows. */
  setWaiting(count: number | null, point: number): void;
  get(span: Span, gauge: Gauge, point: number): number | null;
};

/** The end of a point, and of those from `first` on that could not end in time. */
export type Ending = {
  readonly span: Span;
  readonly first: number;
  readonly point: number;
  /** Since the last end. */
  readonly seconds: number;
  /** Whether nothing has happened since. Otherwise nobody knows what belongs to the points before the last one. */
  readonly isIdle: boolean;
};

type Counts = { accepted: number; refused: number; delivered: number; failed: number };

/** The points of one span, and what belongs to the next. */
type Layer = { readonly rings: Float32Array; readonly counts: Counts; readonly timings: Timings | null };

export function createTrack(kind: TrackKind): Track {
  const gauges = GAUGES[kind];
  const layers = { "1h": createLayer(gauges, "1h"), "1d": createLayer(gauges, "1d") };
  const { "1h": hour, "1d": day } = layers;
  let waiting = Number.NaN;

  return {
    counts: hour.counts,
    timings: hour.timings,
    close({ span, first, point, seconds, isIdle }) {
      for (const gauge of gauges) {
        const value = gauge === "waiting" ? waiting : measure(layers[span], gauge, seconds);
        // No more than the ring has: a machine may sleep for weeks.
        for (let late = Math.max(first, point - POINTS[span] + 1); late < point; late += 1)
          set(span, gauge, { point: late, value: isIdle ? value : Number.NaN });
        set(span, gauge, { point, value });
      }
      if (span === "1h") addTo(day, hour);
      clear(layers[span]);
    },
    setWaiting(count, point) {
      waiting = count ?? Number.NaN;
      if (point >= 0) set("1h", "waiting", { point, value: waiting });
    },
    get(span, gauge, point) {
      const value = layers[span].rings[placeOf(span, gauge, point)] ?? Number.NaN;
      return Number.isNaN(value) ? null : Math.round(value * 1_000) / 1_000;
    },
  };

  function set(span: Span, gauge: Gauge, { point, value }: { readonly point: number; readonly value: number }): void {
    layers[span].rings[placeOf(span, gauge, point)] = value;
  }

  function placeOf(span: Span, gauge: Gauge, point: number): number {
    return gauges.indexOf(gauge) * POINTS[span] + (point % POINTS[span]);
  }
}

function createLayer(gauges: readonly Gauge[], span: Span): Layer {
  return {
    rings: new Float32Array(gauges.length * POINTS[span]).fill(Number.NaN),
    counts: { accepted: 0, refused: 0, delivered: 0, failed: 0 },
    timings: gauges.includes("p50") ? createTimings() : null,
  };
}

function measure({ counts, timings }: Layer, gauge: Exclude<Gauge, "waiting">, seconds: number): number {
  if (gauge === "p50") return timings?.quantile(0.5) ?? Number.NaN;
  if (gauge === "p99") return timings?.quantile(0.99) ?? Number.NaN;
  return counts[gauge] / seconds;
}

function addTo(sum: Layer, { counts, timings }: Layer): void {
  sum.counts.accepted += counts.accepted;
  sum.counts.refused += counts.refused;
  sum.counts.delivered += counts.delivered;
  sum.counts.failed += counts.failed;
  if (timings) sum.timings?.addAll(timings);
}

function clear({ counts, timings }: Layer): void {
  counts.accepted = 0;
  counts.refused = 0;
  counts.delivered = 0;
  counts.failed = 0;
  timings?.clear();
}
