import { writeSync } from "node:fs";
import process from "node:process";
import type { Ms } from "../model/units.ts";

export const STDOUT = 1;
export const STDERR = 2;

/** Writes to standard output, whole, before it returns: what was printed is there even if the process ends next. */
export function print(text: string): void {
  write(STDOUT, `${text}\n`);
}

/** Writes a line to standard error; the text brings its own newline. */
export function printError(line: string): void {
  write(STDERR, line);
}

/** Whether a person looks at standard error. */
export function isErrorTerminal(): boolean {
  return process.stderr.isTTY === true;
}

/** How many columns the terminal at standard error has; 80 where it does not say. */
export function errorColumns(): number {
  return process.stderr.columns || 80;
}

/** Whether systemd's journal reads standard error: it then puts the time to each line itself. */
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

/** A pager that shows what it has reads no more for a while. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE);
}

const PAUSE: Ms = 5;

/** Null when nobody reads any more: a closed pipe must not end the program. */
function tryWrite(file: number, bytes: Buffer): number | null {
  try {
    return writeSync(file, bytes);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    return code === "EAGAIN" ? 0 : null;
  }
}
