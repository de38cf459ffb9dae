import { createHash } from "node:crypto";
import { findJsonFault } from "../../model/json.ts";
import { formatSize, KB } from "../../model/units.ts";
import { decodeText } from "../input.ts";

/** A line of the input; `text` is null if it exceeds the longest line. */
export type Line = {
  /** Counted from 1. */
  readonly number: number;
  readonly text: Uint8Array | null;
  /** Bytes of the input up to its end, the newline included. */
  readonly end: number;
};

const NEWLINE = 0x0a;

/** Splits bytes into lines. At most `longest` bytes of a line are kept in memory. */
export async function* readLines(pieces: AsyncIterable<Uint8Array>, longest: number): AsyncGenerator<Line, void> {
  let number = 0;
  let end = 0;
  let begun = noBytes();
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const found = piece.indexOf(NEWLINE, at);
      const part = piece.subarray(at, found < 0 ? piece.length : found);
      begun = extend(begun, part, longest);
      at += part.length + 1;
      end += part.length + (found < 0 ? 0 : 1);
      if (found < 0) break;
      number += 1;
      yield { number, text: bytesOf(begun), end };
      begun = noBytes();
    }
  }
  // The last line may lack a newline.
  if (begun.length > 0) yield { number: number + 1, text: bytesOf(begun), end };
}

/** An incomplete line. `parts` is null once it is too long. */
type Begun = { readonly parts: readonly Uint8Array[] | null; readonly length: number };

function noBytes(): Begun {
  return { parts: [], length: 0 };
}

function extend({ parts, length }: Begun, part: Uint8Array, longest: number): Begun {
  const total = length + part.length;
  return { parts: parts === null || total > longest ? null : [...parts, part], length: total };
}

function bytesOf({ parts }: Begun): Uint8Array | null {
  if (parts === null) return null;
  const [only] = parts;
  return parts.length === 1 && only ? only : Buffer.concat(parts);
}

export type ImportCall = {
  readonly line: number;
  /** The JSON that is sent: the line with a messageId. */
  readonly text: string;
  /** The line as it is in the file. */
  readonly original: string;
};

/** A line that is not a call, or that the daemon refused. */
export type RefusedLine = {
  readonly line: number;
  readonly code: string;
  readonly message: string;
  /** The line as in the file; null if it is too long to repeat, or not text. */
  readonly text: string | null;
};

export type ReadLine =
  | { readonly kind: "call"; readonly call: ImportCall }
  | { readonly kind: "blank" }
  | { readonly kind: "refused"; readonly refused: RefusedLine };

/** In bytes. A call of 32 KB is never longer, even with every character escaped. */
export const LONGEST_LINE = 256 * KB;

/**
 * Reads a line as a call. A call without a messageId gets one made from the file's name, the line's number and its text, so
 * that the daemon recognises it when the same file is imported again. The text is not re-serialised: that would round
 * numbers.
 */
export function readCallLine({ number, text: bytes }: Line, name: string): ReadLine {
  const refuse = (code: string, message: string, text: string | null): ReadLine => ({
    kind: "refused",
    refused: { line: number, code, message, text },
  });
  if (bytes === null) return refuse("line_too_long", `is longer than ${formatSize(LONGEST_LINE)}`, null);
  // Without a byte order mark and surrounding spaces.
  const original = decodeText(bytes)?.trim() ?? null;
  if (original === null) return refuse("invalid_json", "is not UTF-8 text", null);
  if (original === "") return { kind: "blank" };
  const value = parse(original);
  if (value === undefined) return refuse("invalid_json", whyNot(original), original);
  if (!isObject(value)) return refuse("invalid_call", "must be an object", original);
  const { messageId } = value;
  const isNamed = messageId !== undefined && messageId !== null && messageId !== "";
  const text = isNamed ? original : withMessageId(original, idOf([name, number, original]));
  return { kind: "call", call: { line: number, text, original } };
}

/** Undefined if it is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function whyNot(text: string): string {
  const fault = findJsonFault(text);
  if (fault === null) return "nests objects and arrays too deeply";
  return `is not JSON: expected ${fault.expected} at column ${fault.at + 1}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Includes the file's name: the same line of another file is another call. */
function idOf(place: readonly [name: string, line: number, text: string]): string {
  const digest = createHash("sha256").update(JSON.stringify(place)).digest("hex");
  return `import-${digest.slice(0, 40)}`;
}

/** Adds it at the end, where it overrides an empty messageId before it. */
function withMessageId(text: string, messageId: string): string {
  const before = text.slice(0, -1).trimEnd();
  return `${before}${before === "{" ? "" : ","}"messageId":${JSON.stringify(messageId)}}`;
}

/** Lines whose calls are sent in one request. */
export type Batch = {
  readonly calls: readonly ImportCall[];
  /** Lines that are not calls. */
  readonly refused: readonly RefusedLine[];
  /** Bytes of the input before its first line. */
  readonly start: number;
  /** Bytes of the input up to the end of its last line. */
  readonly end: number;
  readonly lastLine: number;
};

/** A batch request is at most 500 KB, envelope included. */
const MOST_BYTES = 500 * KB - 100;
/** The daemon accepts 2,500. Smaller batches show progress sooner and are no slower. */
const MOST_LINES = 1_000;

/** Groups lines, in order, into batches that the daemon accepts. `name`: that of the input. */
export async function* makeBatches(
  lines: AsyncIterable<Line>,
  { name, fromLine }: { readonly name: string; readonly fromLine: number },
): AsyncGenerator<Batch, void> {
  let batch = emptyBatch(0);
  let bytes = 0;
  for await (const line of lines) {
    if (line.number < fromLine) {
      batch = emptyBatch(line.end);
      continue;
    }
    const read = readCallLine(line, name);
    // A line that is not a call is kept for the list of refused lines, and counts like the others.
    const size = 1 + (read.kind === "call" ? Buffer.byteLength(read.call.text) : (line.text?.length ?? 0));
    const count = batch.calls.length + batch.refused.length;
    if (count > 0 && (bytes + size > MOST_BYTES || count === MOST_LINES)) {
      yield batch;
      batch = emptyBatch(batch.end);
      bytes = 0;
    }
    if (read.kind === "call") batch.calls.push(read.call);
    if (read.kind === "refused") batch.refused.push(read.refused);
    if (read.kind !== "blank") bytes += size;
    batch.end = line.end;
    batch.lastLine = line.number;
  }
  if (batch.lastLine > 0) yield batch;
}

function emptyBatch(start: number) {
  const [calls, refused]: [ImportCall[], RefusedLine[]] = [[], []];
  return { calls, refused, start, end: start, lastLine: 0 };
}
