import type { ComputationClass, Member } from "../../model/audience.ts";
import { type Fault, fault, isFault } from "../../model/fault.ts";
import { splitCsv } from "./csv.ts";
import { splitJsonArray } from "./json-array.ts";
import { splitJsonLines } from "./json-lines.ts";
import { memberOf } from "./member.ts";
import type { Entry, Splitter } from "./records.ts";

/** Users handed on at a time: nobody waits long behind them. */
const IN_PART = 100;

/** By the type without its parameters. */
const SPLITTERS: Readonly<Record<string, () => Splitter>> = {
  "application/x-ndjson": splitJsonLines,
  "application/jsonl": splitJsonLines,
  "application/json": splitJsonArray,
  "text/csv": splitCsv,
};

export const LIST_TYPES = Object.keys(SPLITTERS);

/** How a list is written; a fault for a type that is none of them. */
export function splitterFor(contentType: string | null): Splitter | Fault {
  const type = (contentType ?? "").replace(/;.*$/s, "").trim().toLowerCase();
  const make = Object.hasOwn(SPLITTERS, type) ? SPLITTERS[type] : undefined;
  if (make) return make();
  return fault(
    "unsupported_media_type",
    `Content-Type must be one of ${LIST_TYPES.join(", ")} (got "${type.slice(0, 40)}")`,
  );
}

/** The users of a list, as its text comes in. A fault is the last of it. */
export async function* readList(
  text: AsyncIterable<string | Fault>,
  splitter: Splitter,
  kind: ComputationClass,
): AsyncGenerator<readonly Member[] | Fault, void> {
  for await (const piece of text) {
    if (typeof piece !== "string") return yield piece;
    yield* membersOf(splitter.push(piece), kind);
  }
  yield* membersOf(splitter.end(), kind);
}

type Found = readonly (Entry | Fault)[];

/** Of several faults the first one counts, whoever has found it. */
function* membersOf(found: Found, kind: ComputationClass): Generator<readonly Member[] | Fault, void> {
  for (let from = 0; from < found.length; from += IN_PART) {
    const part = found.slice(from, from + IN_PART).map((entry) => (isFault(entry) ? entry : memberOf(entry, kind)));
    const wrong = part.find(isFault);
    if (wrong) return yield wrong;
    yield part as readonly Member[];
  }
}
