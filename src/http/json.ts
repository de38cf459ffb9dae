import { type Fault, fault } from "../model/fault.ts";
import { findJsonFault, parseExactly, placeOf } from "../model/json.ts";

/** A parsed JSON text. Wrapped, because the text may be that of a string or null. */
export type Parsed = { readonly value: unknown };

/** Parses a JSON text, keeping all digits of integers, or explains the fault. `what` names the text. */
export function parseJson(text: string, what = "the body"): Parsed | Fault {
  if (isTooDeep(text)) return fault("too_deep", TOO_DEEP);
  try {
    return { value: parseExactly(text) };
  } catch {
    return fault("invalid_json", whyNot(text, what));
  }
}

/**
 * Nesting levels. A call may have 200 and is refused individually beyond that. Far deeper texts take ten times as long to
 * parse as others of their size, and anyone can send them.
 */
const MOST_LEVELS = 1_000;
const TOO_DEEP = "the JSON nests objects and arrays more than 1,000 levels deep; flatten it";

/** Checks the text before parsing. Nearly all texts have fewer brackets than the limit, and counting them is cheap. */
function isTooDeep(text: string): boolean {
  return text.length > MOST_LEVELS && hasManyBrackets(text) && depthIsOver(text);
}

function hasManyBrackets(text: string): boolean {
  let left = MOST_LEVELS;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (left === 0) return true;
      left -= 1;
    }
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** This bit tells a brace from a bracket. */
const BRACE = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

function depthIsOver(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if ((code | BRACE) === OPENING) {
      depth += 1;
      if (depth > MOST_LEVELS) return true;
    } else if ((code | BRACE) === CLOSING) {
      depth -= 1;
    }
  }
  return false;
}

/** The index of the quote that ends the string beginning here, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}

/** The engine's own message would put parts of the body into the log. */
function whyNot(text: string, what: string): string {
  if (text === "") return `${what} is not JSON: it is empty`;
  const found = findJsonFault(text);
  if (found === null) return `${what} is not JSON`;
  const { line, column } = placeOf(text, found.at);
  const message = `${what} is not JSON: expected ${found.expected} at line ${line}, column ${column}`;
  const [name] = NO_NUMBER.exec(text.slice(found.at, found.at + LONGEST_NAME)) ?? [];
  return name === undefined
    ? message
    : `${message} (got ${name}, which JSON does not have: send null, or leave it out)`;
}

/** Some JSON writers write these, as Python's does by default. */
const NO_NUMBER = /^-?(?:NaN|Infinity)/;
const LONGEST_NAME = "-Infinity".length;
