import { formatDuration, type Ms, SECOND } from "../model/units.ts";
import { onSignals } from "../runtime/signals.ts";
import { errorColumns, isErrorTerminal, printError } from "../runtime/terminal.ts";

/** How far a long piece of work is. */
export type Progress = {
  /** How many are done, in what its user counts. */
  readonly done: number;
  /** How many there will be; null if nobody knows. */
  readonly total: number | null;
  /** The part of the work that is done, from 0 to 1, where something other than `done` of `total` says it. */
  readonly share?: number;
  /** Where this run began: what an earlier one did says nothing about the rate, and about the time that is left. */
  readonly began?: { readonly done: number; readonly share: number };
  /** Since this run began. */
  readonly elapsed: Ms;
};

/**
 * Writes it as one line of at most `width` columns: a bar, percent, count, rate and the time that is left. Where that is too
 * narrow the bar goes first, then the rate, then the count. What nobody knows is left out.
 */
export function progressLine(progress: Progress, width: number): string {
  const share = shareOf(progress);
  const percent = share === null ? "" : `${Math.floor(share * 100)}%`.padStart(4);
  const [count, rate, left] = [countOf(progress), rateOf(progress), leftOf(progress, share)];
  const wordings = [
    [percent, count, rate, left],
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

function countOf({ done, total }: Progress): string {
  return total === null ? grouped(done) : `${grouped(done)} of ${grouped(total)}`;
}

function rateOf({ done, began, elapsed }: Progress): string {
  if (elapsed < SECOND) return "";
  const rate = ((done - (began?.done ?? 0)) * SECOND) / elapsed;
  return `${rate < 10 ? Number(rate.toFixed(1)) : grouped(Math.round(rate))}/s`;
}

/** The rate so far goes on. Nothing is said in the first second, whose rate says little. */
function leftOf({ began, elapsed }: Progress, share: number | null): string {
  const gone = share === null ? 0 : share - (began?.share ?? 0);
  if (share === null || gone <= 0 || share === 1 || elapsed < SECOND) return "";
  const left = (elapsed * (1 - share)) / gone;
  return `${formatDuration(Math.max(SECOND, left))} left`;
}

/** With commas, as `12,345`, whatever the language of the machine. */
function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** What a progress bar writes to. */
type Terminal = {
  readonly write: (text: string) => void;
  /** Whether a person looks at it; nothing is drawn otherwise. */
  readonly isTerminal: boolean;
  /** In columns, at this moment: people change the size of their windows. */
  readonly width: () => number;
  readonly now: () => number;
};

export type ProgressBar = {
  /** Draws it, at most ten times a second. */
  show(progress: Progress): void;
  /** Writes a line above the bar. Where there is no bar, it is written all the same. */
  note(line: string): void;
  /** Takes the bar away: what is written next begins on an empty line. */
  clear(): void;
};

/** A progress bar on standard error. */
export function openProgressBar({ now }: { readonly now: () => number }): ProgressBar {
  return createProgressBar({ write: printError, isTerminal: isErrorTerminal(), width: errorColumns, now });
}

const BETWEEN: Ms = 100;
/** To the start of the line, and remove what is there. */
const WIPE = "\r\u001B[K";

/** Draws the progress of one piece of work in place, on the last line of a terminal. */
export function createProgressBar({ write, isTerminal, width, now }: Terminal): ProgressBar {
  let shown: string | null = null;
  let shownAt = Number.NEGATIVE_INFINITY;

  function clear(): void {
    if (shown !== null) write(WIPE);
    shown = null;
  }

  return {
    clear,
    show(progress) {
      if (!isTerminal || now() - shownAt < BETWEEN) return;
      // A character in the last column makes some terminals go on to the next line.
      shown = progressLine(progress, width() - 1);
      shownAt = now();
      write(`${WIPE}${shown}`);
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

/** What is under way is finished after a Ctrl-C; a second one does not wait for it. Answers how to listen no more. */
export function onInterrupt(run: () => void): () => void {
  const interrupt = (): void => {
    unhook();
    run();
  };
  const unhook = onSignals({ stop: interrupt, reload: interrupt });
  return unhook;
}
