import { parseExactly } from "../model/exact-json.ts";
import { type Fault, fault } from "../model/fault.ts";
import { findJsonFault, placeOf } from "../model/json-fault.ts";

/** What a body holds once it is parsed. Wrapped, because a JSON text may be a string or null. */
export type Parsed = { readonly value: unknown };

/** Parses a JSON text, with all digits of its integers, or says why it is none. `what` it is called then. */
export function parseJson(text: string, what = "the body"): Parsed | Fault {
  try {
    return { value: parseExactly(text) };
  } catch (error) {
    if (error instanceof RangeError) return fault("too_deep", "the JSON nests too deeply to be read; flatten it");
    return fault("invalid_json", whyNot(text, what));
  }
}

/** The engine's own words would carry parts of the body into the log. */
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

/** What the JSON writers of some languages make of a number that is none: Python's, unless told otherwise. */
const NO_NUMBER = /^-?(?:NaN|Infinity)/;
const LONGEST_NAME = "-Infinity".length;
