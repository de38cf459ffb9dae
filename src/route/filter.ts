import type { Event } from "../model/event.ts";
import {
  type Condition,
  type FieldCondition,
  type Filter,
  type NameFilter,
  type Order,
  type Pattern,
  parseTime,
  type Scalar,
  type Test,
} from "../model/filter.ts";
import { isLongInteger, valueAt } from "../model/json.ts";
import type { SkipRule } from "../model/rules.ts";

/**
 * The rule by which a filter keeps an event from its destination; null if it passes. Never throws. A deletion goes wherever
 * the user's data may have gone.
 */
export function filterRule(event: Event, destination: string, { events, where, sample }: Filter): SkipRule | null {
  if (event.type === "delete") return null;
  if (events && event.type === "track" && !takesName(events, event.event ?? "")) return "event_not_selected";
  if (where && !holds(where, event)) return "condition_not_met";
  if (sample !== null && shareOf(event, destination) >= sample) return "not_sampled";
  return null;
}

/** A negation wins, wherever it stands. */
export function takesName({ any, not }: NameFilter, name: string): boolean {
  if (not.some((pattern) => matches(pattern, name))) return false;
  return any.length === 0 || any.some((pattern) => matches(pattern, name));
}

/**
 * Whether a text is of a pattern: begins with its first piece, ends with its last one, and has the others in their order
 * between them. Looks for each piece once, so the time does not grow with the number of stars.
 */
export function matches(pattern: Pattern, text: string): boolean {
  const [first = "", ...rest] = pattern;
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return at <= end;
}

export function holds(condition: Condition, event: Event): boolean {
  switch (condition.kind) {
    case "all":
      return condition.of.every((one) => holds(one, event));
    case "any":
      return condition.of.some((one) => holds(one, event));
    case "not":
      return !holds(condition.of, event);
    default:
      return fieldHolds(condition, event);
  }
}

/** Of a list, one item has to pass all tests; but `not` is about every item, and `exists` about the list. */
export function fieldHolds({ path, tests }: FieldCondition, event: Event): boolean {
  const value = valueAt(event, path);
  if (!Array.isArray(value)) return tests.every((test) => passes(test, value));
  const ofOne = tests.filter(({ kind }) => kind !== "exists" && kind !== "not");
  if (ofOne.length > 0 && !value.some((item) => ofOne.every((test) => passes(test, item)))) return false;
  return tests.every((test) => {
    if (test.kind === "not") return value.every((item) => passes(test, item));
    return test.kind !== "exists" || passes(test, value);
  });
}

/** What is not there passes only negations. */
function passes(test: Test, value: unknown): boolean {
  switch (test.kind) {
    case "exists":
      return (value !== undefined) === test.wanted;
    case "in":
      return isIn(test.values, value);
    case "not":
      return !isIn(test.values, value);
    case "matches":
      return typeof value === "string" && test.patterns.some((pattern) => matches(pattern, value));
    default:
      return isOrdered(test.order, value, test.than);
  }
}

/** Of the same type as well: 7 is not "7". An integer that is too long for a number is known by its digits as text. */
function isIn(values: readonly Scalar[], value: unknown): boolean {
  const known = isLongInteger(value) ? value.rawJSON : value;
  return values.some((one) => one === known);
}

function isOrdered(order: Order, value: unknown, than: number | string): boolean {
  const [left, right] = typeof than === "number" ? [numberOf(value), than] : [timeOf(value), parseTime(than)];
  // Nothing is more or less than what is no number.
  if (order === "gt") return left > right;
  if (order === "gte") return left >= right;
  return order === "lt" ? left < right : left <= right;
}

function numberOf(value: unknown): number {
  if (isLongInteger(value)) return Number(value.rawJSON);
  return typeof value === "number" ? value : Number.NaN;
}

function timeOf(value: unknown): number {
  return typeof value === "string" ? parseTime(value) : Number.NaN;
}

/**
 * A number from 0 to 1, spread evenly, that is the same for all events of a user at a destination: a sample has all that its
 * users do. An event without a user has one by its messageId.
 */
export function shareOf({ userId, anonymousId, messageId }: Event, destination: string): number {
  return hash(`${destination}\n${userId ?? anonymousId ?? messageId}`) / 2 ** 32;
}

/** FNV-1a over UTF-16, and the last step of MurmurHash3, which spreads similar texts. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2b2ae35);
  return (sum ^ (sum >>> 16)) >>> 0;
}
