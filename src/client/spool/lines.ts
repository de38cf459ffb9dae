/**
 * The lines of a segment, a file of calls that are not delivered yet. Each begins with the CRC-32 of the rest, in hex:
 *
 *     8c9c2f1d 17 t {"type":"track","messageId":"…",…}
 *     6d3b0a42 = 0-16,19
 *
 * The first is call 17 of this segment. `t`: its caller gave the timestamp; `d`: it may hold large integers; `-`: neither.
 * The second says that calls 0 to 16 and 19 are settled, and will not be sent.
 *
 * JSON has no line breaks, so a line that was torn or damaged is skipped, and the next one is found.
 */
import type { Entry } from "../queue.ts";

/** What is kept of a call. */
export type Kept = Pick<Entry, "text" | "ownTime" | "digits">;

export type Content = {
  /** By number. */
  readonly calls: ReadonlyMap<number, Kept>;
  readonly settled: ReadonlySet<number>;
  /** How many lines do not fit their checksum. One without an end does not count: it was being written. */
  readonly damaged: number;
};

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const NEWLINE = 10;
/** The checksum and a space. */
const HEAD_BYTES = 9;

export function callLine(nth: number, { text, ownTime, digits }: Kept): Uint8Array {
  return seal(`${nth} ${ownTime ? "t" : ""}${digits ? "d" : ""}${ownTime || digits ? "" : "-"} ${text}`);
}

/** Numbers in ascending order. */
export function settledLine(numbers: readonly number[]): Uint8Array {
  const ranges: { first: number; last: number }[] = [];
  for (const nth of numbers) {
    const range = ranges.at(-1);
    if (range && range.last === nth - 1) range.last = nth;
    else ranges.push({ first: nth, last: nth });
  }
  return seal(`= ${ranges.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(",")}`);
}

function seal(body: string): Uint8Array {
  const line = encoder.encode(`00000000 ${body}\n`);
  encoder.encodeInto(checksum(line.subarray(HEAD_BYTES, -1)), line);
  return line;
}

/** Reads what a segment holds, whatever has become of it. */
export function readLines(bytes: Uint8Array): Content {
  const calls = new Map<number, Kept>();
  const settled = new Set<number>();
  let damaged = 0;
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    const body = bodyOf(bytes.subarray(start, end));
    if (body === null) damaged += end > start ? 1 : 0;
    else if (body.startsWith("= ")) for (const nth of readRanges(body.slice(2))) settled.add(nth);
    else readCall(body, calls);
    start = end + 1;
  }
  return { calls, settled, damaged };
}

function bodyOf(line: Uint8Array): string | null {
  const body = line.subarray(HEAD_BYTES);
  return decoder.decode(line.subarray(0, HEAD_BYTES)) === `${checksum(body)} ` ? decoder.decode(body) : null;
}

function readCall(body: string, calls: Map<number, Kept>): void {
  const [, nth, flags = "", text = ""] = /^(\d+) ([td-]+) (.*)$/s.exec(body) ?? [];
  if (nth === undefined) return;
  calls.set(Number(nth), { text, ownTime: flags.includes("t"), digits: flags.includes("d") });
}

function readRanges(list: string): readonly number[] {
  return list.split(",").flatMap((range) => {
    if (range === "") return [];
    const [first = 0, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** The polynomial of zlib, reversed. */
const POLYNOMIAL = 0xedb88320;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value;
});

/** CRC-32 as eight hex digits. */
export function checksum(bytes: Uint8Array): string {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] ?? 0);
  return (~crc >>> 0).toString(16).padStart(8, "0");
}
