import type { ComputationClass, Member, Value } from "../../model/audience.ts";
import type { Fault } from "../../model/fault.ts";
import { digitsOf, type Entry, wrong } from "./records.ts";

/** Characters of a user's id, and of a value that is text. */
export const LONGEST_USER = 1_000;
export const LONGEST_VALUE = 10_000;

/** What an entry of a list says: of an audience a user, of a trait a user and a value. */
export function memberOf({ value: entry, place }: Entry, kind: ComputationClass): Member | Fault {
  const user = userOf(kind === "audience" && !isObject(entry) ? entry : partOf(entry, "userId", 0), place);
  if (typeof user !== "string") return user;
  if (kind === "audience") return { user, value: true };
  const given = partOf(entry, "value", 1);
  const why = whyNoValue(given);
  return why === null ? { user, value: given as Value } : wrong(place, why);
}

/** Of an object by its key, of a pair by its place. */
function partOf(entry: unknown, key: string, index: number): unknown {
  if (Array.isArray(entry)) return entry.length === 2 ? entry[index] : undefined;
  return isObject(entry) ? entry[key] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A number becomes text, as in calls. */
export function userOf(given: unknown, place: string): string | Fault {
  const user = Number.isSafeInteger(given) ? String(given) : given;
  if (typeof user !== "string" || user === "") {
    return wrong(place, "it has no userId, which must be a string that is not empty, or a whole number up to 2^53");
  }
  if (user.length > LONGEST_USER) return wrong(place, `its userId is longer than ${LONGEST_USER} characters`);
  // The store could not tell it from others.
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
