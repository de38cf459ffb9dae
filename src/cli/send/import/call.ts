import { createHash } from "node:crypto";
import { findJsonFault } from "../../../model/json-fault.ts";
import { formatSize, KB } from "../../../model/units.ts";
import type { Line } from "./lines.ts";

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
  if (bytes === null) return refuse(number, { code: "line_too_long", message: TOO_LONG, text: null });
  const text = decode(bytes);
  if (text === null) return refuse(number, { code: "invalid_json", message: "is not UTF-8 text", text: null });
  if (text === "") return { kind: "blank" };
  const value = parse(text);
  if (value === undefined) return refuse(number, { code: "invalid_json", message: whyNot(text), text });
  if (!isObject(value)) return refuse(number, { code: "invalid_call", message: "must be an object", text });
  const { messageId } = value;
  const isNamed = messageId !== undefined && messageId !== null && messageId !== "";
  const sent = isNamed ? text : withMessageId(text, idOf({ name, number, text }));
  return { kind: "call", call: { line: number, text: sent }, own: text };
}

const TOO_LONG = `is longer than ${formatSize(LONGEST_LINE)}`;

function refuse(line: number, why: Omit<RefusedLine, "line">): ReadLine {
  return { kind: "refused", refused: { line, ...why } };
}

/** Without the spaces around it, and without the mark that some editors begin a file with. */
function decode(bytes: Uint8Array): string | null {
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
