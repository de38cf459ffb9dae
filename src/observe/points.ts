import type { Cancel, Clock } from "../model/ports.ts";
import type { Span } from "../model/series.ts";
import { type At, SECOND } from "../model/units.ts";
import { type Ending, POINTS, STEPS } from "./track.ts";

type PointsWorld = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly close: (ending: Ending) => void;
  /** Whether anything has happened since the last point of five seconds. */
  readonly isQuiet: () => boolean;
  /** Called after each point that ended in time. */
  readonly ended: (signal: AbortSignal) => void;
};

export type Points = {
  /** Ends points until the signal is aborted. */
  start(signal: AbortSignal): void;
  /** Something happens now. Called with every event. */
  wake(): void;
  closed(span: Span): Closed;
};

/** The points of a span that have ended and are kept, numbered from the start, and when one begins. */
type Closed = { readonly first: number; readonly end: number; at(point: number): At };

/**
 * Ends the points, counted from now. It is
 *
 * - awake while something happens: a timer ends a point every five seconds.
 * - idle after five seconds without an event, until the next one. Its timer runs once a minute. The points in between end when
 *   somebody needs them.
 */
export function createPoints({ clock, close, isQuiet, ended }: PointsWorld): Points {
  const startedAt = clock.now();
  const ends = { "1h": { point: 0, at: startedAt }, "1d": { point: 0, at: startedAt } };
  let isIdle = true;
  let running: AbortSignal | null = null;
  let cancel: Cancel = () => {};

  return {
    start(signal) {
      running = signal;
      signal.addEventListener("abort", () => cancel());
      tick(signal);
    },
    wake() {
      if (!isIdle || !running || running.aborted) return;
      closeDue();
      isIdle = false;
      schedule(running);
    },
    closed(span) {
      if (isIdle) closeDue();
      const end = ends[span].point;
      return { first: Math.max(0, end - POINTS[span]), end, at: (point) => startedAt + point * STEPS[span] };
    },
  };

  function tick(signal: AbortSignal): void {
    const wasQuiet = isQuiet();
    closeDue();
    isIdle = wasQuiet;
    schedule(signal);
    ended(signal);
  }

  function schedule(signal: AbortSignal): void {
    cancel();
    const step = STEPS[isIdle ? "1d" : "1h"];
    cancel = clock.after(step - ((clock.now() - startedAt) % step), () => tick(signal));
  }

  /** The hour comes first, as its counts are those of the day as well. */
  function closeDue(): void {
    closeSpan("1h");
    closeSpan("1d");
  }

  function closeSpan(span: Span): void {
    const { point: first, at } = ends[span];
    const end = Math.floor((clock.now() - startedAt) / STEPS[span]);
    if (end === first) return;
    const endAt = isIdle ? startedAt + end * STEPS[span] : clock.now();
    close({ span, first, point: end - 1, seconds: (endAt - at) / SECOND, isIdle });
    ends[span] = { point: end, at: endAt };
  }
}
