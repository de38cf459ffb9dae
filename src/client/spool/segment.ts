import { attempt } from "./homes.ts";
import { callLine, type Kept, readLines, settledLine } from "./lines.ts";
import type { Files } from "./machine.ts";

/**
 * A call of a segment
 * - is held: it is in memory as well, to be sent from there;
 * - waits: it is only here, until its turn comes;
 * - is settled: it will not be sent again.
 */
type State = "waits" | "held" | "settled";

/** A file of calls, written by appending, and removed when all of them are settled. */
export type Segment = {
  readonly path: string;
  readonly fs: Files;
  /** By the number of a call. Empty until the file is read, if others have written it. */
  readonly states: State[];
  readonly counts: Record<State, number>;
  /** Settled, and not written down yet. */
  readonly unwritten: number[];
  bytes: number;
  isRead: boolean;
  isRemoved: boolean;
  /** The last line may have no end. */
  isTorn: boolean;
  /** No more calls are added. */
  isDone: boolean;
  /** Open until it is done, and synced. */
  file: number | null;
  syncs: number;
  /** To be closed when no sync is under way: its number would go to another file. */
  leftOpen: number | null;
};

/** Throws what the disk says. */
export function beginSegment(path: string, fs: Files): Segment {
  return {
    ...describe(path, fs),
    bytes: 0,
    isRead: true,
    isDone: false,
    isTorn: false,
    file: fs.openSync(path, "ax", 0o600),
  };
}

/** A segment of another owner. */
export function foundSegment(path: string, fs: Files): Segment {
  return {
    ...describe(path, fs),
    bytes: fs.statSync(path).size,
    isRead: false,
    isDone: true,
    isTorn: true,
    file: null,
  };
}

function describe(path: string, fs: Files) {
  const counts = { waits: 0, held: 0, settled: 0 };
  return { path, fs, states: [], counts, unwritten: [], isRemoved: false, syncs: 0, leftOpen: null };
}

/** Adds a call, which is held. Answers its number. Throws what the disk says, and has then added nothing. */
export function appendCall(segment: Segment, call: Kept): number {
  const nth = segment.states.length;
  write(segment, callLine(nth, call));
  segment.states.push("held");
  segment.counts.held += 1;
  return nth;
}

export function markCall({ states, counts, unwritten }: Segment, nth: number, state: State): void {
  const before = states[nth];
  if (before === undefined || before === state || before === "settled") return;
  states[nth] = state;
  counts[before] -= 1;
  counts[state] += 1;
  if (state === "settled") unwritten.push(nth);
}

/** Whether calls may wait here. */
export function hasWaiting({ isRemoved, isRead, counts }: Segment): boolean {
  return !isRemoved && (!isRead || counts.waits > 0);
}

type Taken = { readonly calls: readonly { readonly nth: number; readonly kept: Kept }[]; readonly damaged: number };

/** The calls that wait, which are held from now on; and how many lines were found damaged. */
export function takeCalls(segment: Segment): Taken {
  const { path, fs, states, isRead } = segment;
  const content = readLines(attempt(() => fs.readFileSync(path)) ?? new Uint8Array());
  if (!isRead) {
    for (const nth of content.calls.keys()) restore(segment, nth, content.settled.has(nth) ? "settled" : "waits");
    segment.isRead = true;
  }
  const calls = [...content.calls].flatMap(([nth, kept]) => (states[nth] === "waits" ? [{ nth, kept }] : []));
  for (const { nth } of calls) markCall(segment, nth, "held");
  removeIfSettled(segment);
  return { calls, damaged: isRead ? 0 : content.damaged };
}

function restore({ states, counts }: Segment, nth: number, state: State): void {
  states[nth] = state;
  counts[state] += 1;
}

/** Writes down what was settled. It is not synced: what a power cut makes of it, the server recognises as repeats. */
export function writeSettled(segment: Segment): void {
  const numbers = segment.unwritten.splice(0).sort((a, b) => a - b);
  removeIfSettled(segment);
  // A disk that is full may refuse it, and that is no harm either.
  if (!segment.isRemoved && numbers.length > 0) attempt(() => write(segment, settledLine(numbers)));
}

function removeIfSettled(segment: Segment): void {
  const { isDone, isRead, isRemoved, counts } = segment;
  if (isDone && isRead && !isRemoved && counts.held + counts.waits === 0) removeSegment(segment);
}

function write(segment: Segment, line: Uint8Array): void {
  const whole = segment.isTorn ? Uint8Array.of(NEWLINE, ...line) : line;
  if (segment.file === null) segment.fs.appendFileSync(segment.path, whole);
  else writeAll(segment, segment.file, whole);
  segment.isTorn = false;
  segment.bytes += whole.length;
}

const NEWLINE = 10;

function writeAll(segment: Segment, file: number, line: Uint8Array): void {
  const { fs, bytes } = segment;
  try {
    for (let at = 0; at < line.length; ) at += fs.writeSync(file, line, at);
  } catch (error) {
    // A part may have been written.
    segment.isTorn = attempt(() => fs.ftruncateSync(file, bytes) === undefined) !== true;
    throw error;
  }
}

/** Resolves when all that was written is on the disk. Rejects with what the disk says. */
export function syncSegment(segment: Segment): Promise<void> {
  const { fs, file } = segment;
  return new Promise((resolve, reject) => {
    if (file === null) return resolve();
    segment.syncs += 1;
    fs.fsync(file, (error) => {
      segment.syncs -= 1;
      if (segment.leftOpen !== null) close(segment, segment.leftOpen);
      if (error) reject(error);
      else resolve();
    });
  });
}

export function closeSegment(segment: Segment): void {
  const { file } = segment;
  segment.isDone = true;
  segment.file = null;
  if (file !== null) close(segment, file);
  removeIfSettled(segment);
}

export function removeSegment(segment: Segment): void {
  segment.isRemoved = true;
  closeSegment(segment);
  attempt(() => segment.fs.rmSync(segment.path));
}

function close(segment: Segment, file: number): void {
  segment.leftOpen = segment.syncs > 0 ? file : null;
  if (segment.syncs === 0) attempt(() => segment.fs.closeSync(file));
}
