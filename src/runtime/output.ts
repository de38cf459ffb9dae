import { fstatSync, writeSync } from "node:fs";
import process from "node:process";
import { type Ms, SECOND } from "../model/units.ts";
import { errorCode } from "./file-error.ts";
import { openLibc } from "./libc.ts";

export const STDOUT = 1;
export const STDERR = 2;

/** Writes a line to standard output before it returns, so that it is there even if the process ends next. */
export function print(text: string): void {
  write(STDOUT, `${text}\n`);
}

/** Writes text, with its own newline, to standard error before it returns. */
export function printError(line: string): void {
  write(STDERR, line);
}

/** Whether standard error is a terminal. */
export function isErrorTerminal(): boolean {
  return process.stderr.isTTY === true;
}

/** The columns of the terminal at standard output; null if it is not a terminal, or if its size is unknown. */
export function outputColumns(): number | null {
  return process.stdout.isTTY ? process.stdout.columns || null : null;
}

/** The columns of the terminal at standard error; 80 if unknown. */
export function errorColumns(): number {
  return process.stderr.columns || 80;
}

/** Whether systemd's journal reads standard error. It adds the time to each line itself. */
export function isJournal(): boolean {
  return process.env.JOURNAL_STREAM !== undefined;
}

function write(file: number, text: string): void {
  let bytes = Buffer.from(text);
  while (bytes.length > 0) {
    const written = tryWrite(file, bytes);
    if (written === null) return;
    if (written === 0) pause();
    bytes = bytes.subarray(written);
  }
}

/** A pager that shows a page stops reading for a while. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE);
}

const PAUSE: Ms = 5;

/** Null when the reader has closed the file, which must not end the program. */
function tryWrite(file: number, bytes: Buffer): number | null {
  try {
    return writeSync(file, bytes);
  } catch (error) {
    return errorCode(error) === "EAGAIN" ? 0 : null;
  }
}

/**
 * Writes lines without ever waiting for a reader, such as a hanging pipe, a blocking log driver of a container, or a
 * terminal stopped with Ctrl-S. A line that cannot be written now is buffered. When the buffer is full, lines are dropped
 * until half of it is written.
 */
type LineOutput = {
  write(line: string): void;
  /** Resolves when everything is written, or after a second. */
  flush(): Promise<void>;
};

type LineOutputParts = {
  /** The number of an open file. */
  readonly file: number;
  readonly dropped: (lines: number) => void;
  /** Called when lines can be written again after some were dropped, so that a line can say so. */
  readonly resumed: (dropped: number) => void;
};

/** Most bytes of buffered lines. */
export const MOST_BYTES = 256 * 1024;

export function createLineOutput({ file, dropped, resumed }: LineOutputParts): LineOutput {
  const writeNow = createWriter(file);
  const kept = createKept(writeNow);
  /** Lines that were dropped since the last one that was written or kept. */
  let gap = 0;
  let isResuming = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function write(line: string): void {
    drain();
    const whole = Buffer.from(line);
    const rest = gap === 0 && kept.bytes() === 0 ? writeNow(whole) : whole;
    // A partly written line is always kept: the next one would continue it.
    const hasRoom = rest !== whole || kept.bytes() + whole.length <= MOST_BYTES;
    if (gap > 0 || rest === null || !hasRoom) drop(1);
    else if (rest.length > 0) kept.add(rest);
    if (kept.bytes() > 0) timer ??= setTimeout(retry, RETRY_AFTER);
  }

  function drop(lines: number): void {
    gap += lines;
    // The line that reports dropped lines does not count.
    if (!isResuming) dropped(lines);
  }

  function drain(): void {
    const lost = kept.drain();
    if (lost > 0) drop(lost);
    if (gap > 0 && !isResuming && kept.bytes() <= MOST_BYTES / 2) resume();
  }

  function resume(): void {
    const missed = gap;
    gap = 0;
    isResuming = true;
    resumed(missed);
    isResuming = false;
    if (gap > 0) gap = missed;
  }

  function retry(): void {
    timer = undefined;
    drain();
    if (kept.bytes() > 0) timer ??= setTimeout(retry, RETRY_AFTER);
  }

  async function flush(): Promise<void> {
    for (let waited = 0; kept.bytes() > 0 && waited < LONGEST_FLUSH; waited += FLUSH_STEP) {
      await new Promise((resolve) => setTimeout(resolve, FLUSH_STEP));
      drain();
    }
    clearTimeout(timer);
  }

  return { write, flush };
}

/** Buffered lines; the first of them may be partly written. */
function createKept(writeNow: Write) {
  const lines: Buffer[] = [];
  let bytes = 0;
  return {
    bytes: () => bytes,
    add(line: Buffer): void {
      lines.push(line);
      bytes += line.length;
    },
    /** Writes what it can. Answers how many lines are lost because the reader has closed the file. */
    drain(): number {
      let done = 0;
      for (const line of lines) {
        const rest = writeNow(line);
        if (rest === null) {
          bytes = 0;
          return lines.splice(0).length - done;
        }
        bytes -= line.length - rest.length;
        lines[done] = rest;
        if (rest.length > 0) break;
        done += 1;
      }
      lines.splice(0, done);
      return 0;
    },
  };
}

/** Nothing signals when a file becomes writable, so writing is retried at this interval. */
const RETRY_AFTER: Ms = 100;
const FLUSH_STEP: Ms = 10;
const LONGEST_FLUSH: Ms = SECOND;

/** Writes as much as possible without waiting, and answers the rest; null when the reader has closed the file. */
type Write = (bytes: Buffer) => Buffer | null;

function createWriter(file: number): Write {
  const isWritable = watchWritable(file);
  return (bytes) => {
    let rest = bytes;
    while (rest.length > 0 && isWritable()) {
      try {
        rest = rest.subarray(writeSync(file, rest, 0, Math.min(rest.length, SAFE_SIZE)));
      } catch (error) {
        return errorCode(error) === "EAGAIN" ? rest : null;
      }
    }
    return rest;
  };
}

/** A writable pipe takes so many bytes without waiting (PIPE_BUF). */
const SAFE_SIZE = 4_096;

// From <poll.h>, the same on all machines that Bun and Deno run on.
const POLLOUT = 4;
const EVENTS_AT = 4;
const REVENTS_AT = 6;

type Libc = { poll(files: Uint8Array, count: number, waitMs: number): number };

/**
 * Answers a function that tells whether the file can be written without waiting. O_NONBLOCK would also affect other
 * processes that share the file, such as the shell in a terminal. Files on a disk never wait for a reader.
 */
function watchWritable(file: number): () => boolean {
  if (fstatSync(file).isFile()) return () => true;
  const libc = openLibc<Libc>({ poll: ["memory", "usize", "i32"] });
  if (libc === null) return () => true;
  const asked = new DataView(new ArrayBuffer(8));
  asked.setInt32(0, file, true);
  asked.setInt16(EVENTS_AT, POLLOUT, true);
  const memory = new Uint8Array(asked.buffer);
  return () => libc.poll(memory, 1, 0) > 0 && asked.getInt16(REVENTS_AT, true) !== 0;
}
