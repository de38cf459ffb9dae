/** Calls as JSON with integers of any size: a bigint leaves as digits, and comes back as a bigint. */
import type { SentCall } from "./calls.ts";

export type Exact = {
  readonly text: string;
  /** Whether the text may hold integers that a number does not hold exactly. */
  readonly digits: boolean;
};

/** Writes a value as JSON.stringify does, except for bigints. `uuid` makes a text that no value has. */
export function writeExact(value: object, uuid: () => string): Exact {
  try {
    return { text: JSON.stringify(value), digits: false };
  } catch {
    // Few calls have a bigint, and a replacer doubles the cost of the others. What else is wrong is so again.
    return { text: writeDigits(value, uuid()), digits: true };
  }
}

/** JSON.rawJSON would do, but Node 20 does not have it. */
function writeDigits(value: object, mark: string): string {
  const marked = JSON.stringify(value, (_, one) => (typeof one === "bigint" ? `${mark}${one}` : one));
  return marked.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** The call that was written. Integers that a number holds are numbers. */
export function readExact({ text, digits }: Exact): SentCall {
  if (!digits) return JSON.parse(text);
  const mark = markFor(text);
  const marked = text.replace(STRING_OR_NUMBER, (token) => (isUnsafe(token) ? `"${mark}${token}"` : token));
  const isMarked = (one: unknown): one is string => typeof one === "string" && one.startsWith(mark);
  return JSON.parse(marked, (_, one) => (isMarked(one) ? BigInt(one.slice(mark.length)) : one));
}

function isUnsafe(token: string): boolean {
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
}

/** A text that is nowhere in this one. */
function markFor(text: string): string {
  let mark = "#";
  while (text.includes(mark)) mark += "#";
  return mark;
}
