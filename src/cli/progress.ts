import type { Clock } from "../model/ports.ts";
import { formatDuration, formatSize, type Ms, SECOND } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { errorColumns, isErrorTerminal, printError } from "../runtime/output.ts";
import { onSignals } from "../runtime/process.ts";

/** The progress of a long task. */
export type Progress = {
  /** How many items are done. */
  readonly done: number;
  /** How many there are in all; null if unknown. */
  readonly total: number | null;
  /** The share of the work that is done, from 0 to 1, if it differs from `done` of `total`. */
  readonly share?: number;
  /** Where this run began: rate and remaining time count only what this run did. */
  readonly began?: { readonly done: number; readonly share: number };
  /** Since this run began. */
  readonly elapsed: Ms;
  /** What is done, as `counting`. */
  readonly label?: string;
  /** What is counted, if not items. */
  readonly unit?: "bytes";
};

/**
 * One line of at most `width` columns: bar, percent, count, rate and remaining time, as far as known. In a narrow window the
 * bar is left out first, then the rate, then the count.
 */
export function progressLine(progress: Progress, width: number): string {
  const share = shareOf(progress);
  const percent = share === null ? "" : `${Math.floor(share * 100)}%`.padStart(4);
  const [count, rate, left] = [countOf(progress), rateOf(progress), leftOf(progress, share)];
  const wordings = [
    [progress.label ?? "", percent, count, rate, left],
    [percent, count, left],
    [percent, left],
    [share === null ? count : percent],
  ].map((parts) => parts.filter((part) => part !== "").join("  "));
  const words = wordings.find((text) => text.length <= width) ?? "";
  const room = width - words.length - 1;
  return share === null || words !== wordings[0] || room < NARROWEST_BAR ? words : `${bar(share, room)} ${words}`;
}

const NARROWEST_BAR = 12;
const WIDEST_BAR = 42;

function bar(share: number, room: number): string {
  const inside = Math.min(room, WIDEST_BAR) - 2;
  return `[${"#".repeat(Math.floor(share * inside)).padEnd(inside, ".")}]`;
}

function shareOf({ done, total, share }: Progress): number | null {
  if (share !== undefined) return Math.min(1, Math.max(0, share));
  if (total === null) return null;
  return total === 0 ? 1 : Math.min(1, done / total);
}

function countOf({ done, total, unit }: Progress): string {
  const shown = unit === "bytes" ? formatSize : grouped;
  return total === null ? shown(done) : `${shown(done)} of ${shown(total)}`;
}

function rateOf({ done, began, elapsed, unit }: Progress): string {
  if (elapsed < SECOND) return "";
  const rate = ((done - (began?.done ?? 0)) * SECOND) / elapsed;
  if (unit === "bytes") return `${formatSize(Math.round(rate))}/s`;
  return `${rate < 10 ? Number(rate.toFixed(1)) : grouped(Math.round(rate))}/s`;
}

/** Assumes a constant rate. Empty in the first second, whose rate means little. */
function leftOf({ began, elapsed }: Progress, share: number | null): string {
  const gone = share === null ? 0 : share - (began?.share ?? 0);
  if (share === null || gone <= 0 || share === 1 || elapsed < SECOND) return "";
  const left = (elapsed * (1 - share)) / gone;
  return `${formatDuration(Math.max(SECOND, left))} left`;
}

/** With commas, as `12,345`, in every locale. */
function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** What a progress bar writes to. */
type Terminal = {
  readonly write: (text: string) => void;
  /** The bar is drawn only on a terminal. */
  readonly isTerminal: boolean;
  /** In columns. Read each time, because windows change their size. */
  readonly width: () => number;
  readonly now: () => number;
};

export type ProgressBar = {
  /** Draws it, at most ten times a second. */
  show(progress: Progress): void;
  /** Draws in its place what is done now and cannot be counted. */
  stage(text: string): void;
  /** Writes a line above the bar, or without one. */
  note(line: string): void;
  /** Removes the bar, so that further output begins on an empty line. */
  clear(): void;
};

/** A progress bar on standard error. */
export function openProgressBar({ now }: { readonly now: () => number }): ProgressBar {
  return createProgressBar({ write: printError, isTerminal: isErrorTerminal(), width: errorColumns, now });
}

export type Counter = Pick<ProgressBar, "stage" | "clear"> & { show(done: number, total: number | null): void };

/** A progress bar on standard error for work that begins now and is counted. */
export function openCounter(
  { now }: { readonly now: () => number },
  what: Pick<Progress, "label" | "unit"> = {},
): Counter {
  const bar = openProgressBar({ now });
  const began = now();
  return {
    show: (done, total) =>
      bar.show({ ...what, done, total: total === null ? null : Math.max(done, total), elapsed: now() - began }),
    stage: bar.stage,
    clear: bar.clear,
  };
}

type Screen = { readonly clock: Pick<Clock, "now" | "after">; readonly bar: Pick<ProgressBar, "stage" | "clear"> };

function openScreen(): Screen {
  const clock = createClock();
  return { clock, bar: openProgressBar(clock) };
}

/** Until then nobody wonders what a command does. */
const PATIENCE: Ms = 2 * SECOND;

/** Shows what runs and for how long, once it takes more than two seconds and cannot be counted. */
export async function showWhile<Result>(
  what: string,
  work: Promise<Result>,
  { clock, bar }: Screen = openScreen(),
): Promise<Result> {
  const began = clock.now();
  let cancel = clock.after(PATIENCE, draw);
  function draw(): void {
    bar.stage(`${what}, for ${formatDuration(clock.now() - began)}`);
    cancel = clock.after(SECOND, draw);
  }
  try {
    return await work;
  } finally {
    cancel();
    bar.clear();
  }
}

const BETWEEN: Ms = 100;
/** Moves to the start of the line and clears it. */
const WIPE = "\r\u001B[K";

/** Draws the progress of one piece of work in place, on the last line of a terminal. */
export function createProgressBar({ write, isTerminal, width, now }: Terminal): ProgressBar {
  let shown: string | null = null;
  let shownAt = Number.NEGATIVE_INFINITY;

  function clear(): void {
    if (shown !== null) write(WIPE);
    shown = null;
  }

  function draw(text: string): void {
    shown = text;
    write(`${WIPE}${text}`);
  }

  return {
    clear,
    show(progress) {
      if (!isTerminal || now() - shownAt < BETWEEN) return;
      // A character in the last column makes some terminals wrap.
      draw(progressLine(progress, width() - 1));
      shownAt = now();
    },
    stage(text) {
      if (isTerminal) draw(`${text} …`.slice(0, width() - 1));
    },
    note(line) {
      const below = shown;
      clear();
      write(`${line}\n`);
      if (below === null) return;
      write(below);
      shown = below;
    },
  };
}

/** Calls `run` on the first Ctrl-C; a second one ends the process at once. Returns a function that stops listening. */
export function onInterrupt(run: () => void): () => void {
  const interrupt = (): void => {
    unhook();
    run();
  };
  const unhook = onSignals({ stop: interrupt, reload: interrupt });
  return unhook;
}
