import type { ComputationClass, Member, Value } from "../model/audience.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import {
  digitsOf,
  type Entry,
  type Splitter,
  splitCsv,
  splitJsonArray,
  splitJsonLines,
  wrong,
} from "./list-formats.ts";

/** Users handed on at a time, so that other work can run in between. */
const IN_PART = 100;

/** By the Content-Type without its parameters. */
const SPLITTERS: Readonly<Record<string, () => Splitter>> = {
  "application/x-ndjson": splitJsonLines,
  "application/jsonl": splitJsonLines,
  "application/json": splitJsonArray,
  "text/csv": splitCsv,
};

export const LIST_TYPES = Object.keys(SPLITTERS);

/** The splitter for a Content-Type; a fault if it is unknown. */
export function splitterFor(contentType: string | null): Splitter | Fault {
  const type = (contentType ?? "").replace(/;.*$/s, "").trim().toLowerCase();
  const make = Object.hasOwn(SPLITTERS, type) ? SPLITTERS[type] : undefined;
  if (make) return make();
  return fault(
    "unsupported_media_type",
    `Content-Type must be one of ${LIST_TYPES.join(", ")} (got "${type.slice(0, 40)}")`,
  );
}

/** Reads the users of a list as its text arrives. The last item may be a fault. */
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

/** Stops at the first fault, of the format or of a member. */
function* membersOf(found: Found, kind: ComputationClass): Generator<readonly Member[] | Fault, void> {
  for (let from = 0; from < found.length; from += IN_PART) {
    const part = found.slice(from, from + IN_PART).map((entry) => (isFault(entry) ? entry : memberOf(entry, kind)));
    const wrong = part.find(isFault);
    if (wrong) return yield wrong;
    yield part as readonly Member[];
  }
}

/** The most characters of a userId, and of a value that is text. */
export const LONGEST_USER = 1_000;
export const LONGEST_VALUE = 10_000;

/** An entry of an audience is a user; an entry of a trait is a user and a value. */
function memberOf({ value: entry, place }: Entry, kind: ComputationClass): Member | Fault {
  const user = userOf(kind === "audience" && !isObject(entry) ? entry : partOf(entry, "userId", 0), place);
  if (typeof user !== "string") return user;
  if (kind === "audience") return { user, value: true };
  const given = partOf(entry, "value", 1);
  const why = whyNoValue(given);
  return why === null ? { user, value: given as Value } : wrong(place, why);
}

/** Reads an object by key, and a pair by index. */
function partOf(entry: unknown, key: string, index: number): unknown {
  if (Array.isArray(entry)) return entry.length === 2 ? entry[index] : undefined;
  return isObject(entry) ? entry[key] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Numbers become text, as in calls. */
export function userOf(given: unknown, place: string): string | Fault {
  const user = Number.isSafeInteger(given) ? String(given) : given;
  if (typeof user !== "string" || user === "") {
    return wrong(place, "it has no userId, which must be a string that is not empty, or a whole number up to 2^53");
  }
  if (user.length > LONGEST_USER) return wrong(place, `its userId is longer than ${LONGEST_USER} characters`);
  // The store could not tell it from other userIds.
  return user.isWellFormed() ? user : wrong(place, "its userId holds half of a surrogate pair");
}

const REMEDY = "round it, or write it as a string";

function whyNoValue(given: unknown): string | null {
  if (typeof given === "string") {
    return given.length > LONGEST_VALUE ? `its value is longer than ${LONGEST_VALUE} characters` : null;
  }
  if (typeof given === "number") return Number.isFinite(given) ? null : "its value is beyond the range of a double";
  if (given === null || typeof given === "boolean") return null;
  const digits = digitsOf(given);
  if (digits !== null) return `its value ${digits.slice(0, 50)} has more digits than a number in JSON keeps: ${REMEDY}`;
  return "its value must be a string, a number, true, false or null";
}
