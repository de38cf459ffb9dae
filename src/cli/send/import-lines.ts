import { createHash } from "node:crypto";
import { findJsonFault } from "../../model/json-fault.ts";
import { formatSize, KB } from "../../model/units.ts";

/** A line of the input; `text` is null where it is longer than one may be. */
export type Line = {
  /** Counted from 1. */
  readonly number: number;
  readonly text: Uint8Array | null;
  /** How many bytes there are up to its end, the newline included. */
  readonly end: number;
};

export type From = {
  /** How many bytes, and how many lines, came before. */
  readonly offset: number;
  readonly line: number;
  /** The longest line that is given out, in bytes. */
  readonly most: number;
};

const NEWLINE = 0x0a;

/** Cuts bytes into lines, and keeps no more of them in memory than the longest line that may be. */
export async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  { offset, line, most }: From,
): AsyncGenerator<Line, void> {
  let number = line;
  let end = offset;
  let begun = noBytes();
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const found = piece.indexOf(NEWLINE, at);
      const part = piece.subarray(at, found < 0 ? piece.length : found);
      begun = extend(begun, part, most);
      at += part.length + 1;
      end += part.length + (found < 0 ? 0 : 1);
      if (found < 0) break;
      number += 1;
      yield { number, text: bytesOf(begun), end };
      begun = noBytes();
    }
  }
  // The last line may come without a newline.
  if (begun.length > 0) yield { number: number + 1, text: bytesOf(begun), end };
}

/** A line as far as it has come. `parts` is null once it is too long. */
type Begun = { readonly parts: readonly Uint8Array[] | null; readonly length: number };

function noBytes(): Begun {
  return { parts: [], length: 0 };
}

function extend({ parts, length }: Begun, part: Uint8Array, most: number): Begun {
  const longer = length + part.length;
  return { parts: parts === null || longer > most ? null : [...parts, part], length: longer };
}

function bytesOf({ parts }: Begun): Uint8Array | null {
  if (parts === null) return null;
  const [only] = parts;
  return parts.length === 1 && only ? only : Buffer.concat(parts);
}

/** A line that is a call: its JSON as it stood there, with a messageId. */
export type ImportCall = { readonly line: number; readonly text: string };

/** A line that is no call, or that the daemon does not take. */
export type RefusedLine = {
  readonly line: number;
  readonly code: string;
  readonly message: string;
  /** As it stood there; null where it is too long to be repeated. */
  readonly text: string | null;
};

export type ReadLine =
  | { readonly kind: "call"; readonly call: ImportCall; readonly own: string }
  | { readonly kind: "blank" }
  | { readonly kind: "refused"; readonly refused: RefusedLine };

/** In bytes. A call of 32 KB is no longer than this, however it is written. */
export const LONGEST_LINE = 256 * KB;

/**
 * Reads a line as a call. One without a messageId gets one that is the same whenever this line of this file is read, so that
 * the daemon recognises what is sent again. The text is left as it is: to parse it and write it anew would round numbers.
 */
export function readCallLine({ number, text: bytes }: Line, name: string): ReadLine {
  if (bytes === null) return refuseLine(number, { code: "line_too_long", message: TOO_LONG, text: null });
  const text = decodeLine(bytes);
  if (text === null) return refuseLine(number, { code: "invalid_json", message: "is not UTF-8 text", text: null });
  if (text === "") return { kind: "blank" };
  const value = parse(text);
  if (value === undefined) return refuseLine(number, { code: "invalid_json", message: whyNot(text), text });
  if (!isObject(value)) return refuseLine(number, { code: "invalid_call", message: "must be an object", text });
  const { messageId } = value;
  const isNamed = messageId !== undefined && messageId !== null && messageId !== "";
  const sent = isNamed ? text : withMessageId(text, idOf({ name, number, text }));
  return { kind: "call", call: { line: number, text: sent }, own: text };
}

const TOO_LONG = `is longer than ${formatSize(LONGEST_LINE)}`;

function refuseLine(line: number, why: Omit<RefusedLine, "line">): ReadLine {
  return { kind: "refused", refused: { line, ...why } };
}

/** Without the spaces around it, and without the mark that some editors begin a file with. */
function decodeLine(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).trim();
  } catch {
    return null;
  }
}

/** Undefined if it is no JSON. */
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

/** The file's name is in it, so that the same call at the same line of another file is another call. */
function idOf({
  name,
  number,
  text,
}: {
  readonly name: string;
  readonly number: number;
  readonly text: string;
}): string {
  return `import-${createHash("sha256")
    .update(JSON.stringify([name, number, text]))
    .digest("hex")
    .slice(0, 40)}`;
}

/** At the end, where it counts more than one before that says nothing. */
function withMessageId(text: string, messageId: string): string {
  const before = text.slice(0, -1).trimEnd();
  return `${before}${before === "{" ? "" : ","}"messageId":${JSON.stringify(messageId)}}`;
}

/** Calls that go out together, and where the input is once they have. */
export type Batch = {
  readonly calls: readonly ImportCall[];
  /** The lines of the calls as they stood there, one for each. */
  readonly own: readonly string[];
  /** Lines among them that are no calls. */
  readonly refused: readonly RefusedLine[];
  readonly end: Place;
};

/** How many bytes and lines are behind. */
export type Place = { readonly offset: number; readonly line: number };

/** SPEC.md 8: a batch request is at most 500 KB. Some of that is the envelope's. */
const MOST_BYTES = 500 * KB - 100;
/** The daemon takes 2,500. Fewer show sooner how it goes, and are no slower. */
const MOST_LINES = 1_000;

/** Puts lines together, in their order, to batches that the daemon takes. `name` is that of the input. */
export async function* makeBatches(lines: AsyncIterable<Line>, name: string): AsyncGenerator<Batch, void> {
  let batch = emptyAt({ offset: 0, line: 0 });
  let bytes = 0;
  for await (const line of lines) {
    const read = readCallLine(line, name);
    // A line that is no call is kept for the report, and bounded like the others.
    const size = 1 + (read.kind === "call" ? Buffer.byteLength(read.call.text) : (line.text?.length ?? 0));
    const count = batch.calls.length + batch.refused.length;
    if (count > 0 && (bytes + size > MOST_BYTES || count === MOST_LINES)) {
      yield batch;
      batch = emptyAt(batch.end);
      bytes = 0;
    }
    if (read.kind === "call") {
      batch.calls.push(read.call);
      batch.own.push(read.own);
    }
    if (read.kind === "refused") batch.refused.push(read.refused);
    if (read.kind !== "blank") bytes += size;
    batch.end = { offset: line.end, line: line.number };
  }
  if (batch.end.line > 0) yield batch;
}

type Filling = { calls: ImportCall[]; own: string[]; refused: RefusedLine[]; end: Place };

function emptyAt(end: Place): Filling {
  return { calls: [], own: [], refused: [], end };
}
