import type { Destination } from "../model/config.ts";
import type { Event, Preview } from "../model/event.ts";
import {
  type Condition,
  type FieldCondition,
  type Filter,
  type NameFilter,
  type Order,
  type Test,
  writePattern,
} from "../model/filter.ts";
import { valueAt } from "../model/json.ts";
import { reasonOf, type SkipRule } from "../model/rules.ts";
import { fieldHolds, filterRule, holds, matches, shareOf } from "./filter.ts";
import { skipRule } from "./route.ts";

/** Who would get an event of a source, and why the others would not: what `route` decides, with its reasons. */
export function preview(
  event: Event,
  source: string,
  destinations: readonly Destination[],
): readonly Omit<Preview, "body">[] {
  return destinations.map((destination) => {
    const { name, filter } = destination;
    const rule = skipRule(event, source, destination) ?? (filter && filterRule(event, name, filter));
    if (rule === null) return { destination: name, gets: true, rule, why: whyTaken(event, filter) };
    return { destination: name, gets: false, rule, why: whyLeftOut(rule, { event, source, destination }) };
  });
}

function whyTaken({ type }: Event, filter: Filter | null): string {
  const asked = filter
    ? (["events", "where", "sample"] as const).filter(
        (key) => filter[key] !== null && (key !== "events" || type === "track"),
      )
    : [];
  return asked.length === 0
    ? "no rule excludes it"
    : `it meets ${listed(
        asked.map((key) => `\`${key}\``),
        "and",
      )}`;
}

type Asked = { readonly event: Event; readonly source: string; readonly destination: Destination };

function whyLeftOut(rule: SkipRule, { event, source, destination }: Asked): string {
  const { name, sources, types, filter } = destination;
  switch (rule) {
    case "destination_disabled":
      return "it is disabled";
    case "source_not_selected":
      return `the source is ${source}: ${listed(sources ?? [], "or")} is wanted`;
    case "type_not_selected":
      return `type is ${event.type}: ${listed(types ?? [], "or")} is wanted`;
    case "historical":
      return `timestamp is ${event.timestamp}: ${reasonOf(rule)}`;
    case "event_not_selected":
      return whyNotNamed(event.event ?? "", filter?.events);
    case "condition_not_met":
      return filter?.where ? whyNot(filter.where, event) : reasonOf(rule);
    case "not_sampled":
      return `this user is at ${percent(shareOf(event, name))} of all: less than ${percent(filter?.sample ?? 0)} is wanted`;
    default:
      return reasonOf(rule);
  }
}

function whyNotNamed(event: string, filter: NameFilter | null | undefined): string {
  const not = filter?.not.find((pattern) => matches(pattern, event));
  if (not) return `event is ${shown(event)}, which matches !${writePattern(not)}`;
  return `event is ${shown(event)}, which matches none of ${cut((filter?.any ?? []).map(writePattern).join(", "))}`;
}

/** How many reasons of several are given. */
const MOST_REASONS = 3;

/** Why a condition is not met; of several that are not, the first. */
function whyNot(condition: Condition, event: Event): string {
  switch (condition.kind) {
    case "field":
      return whyNotField(condition, event);
    case "all": {
      const missed = condition.of.find((one) => !holds(one, event));
      return missed ? whyNot(missed, event) : "";
    }
    case "any":
      return `none of \`any\` is met (${some(condition.of.map((one) => whyNot(one, event)))})`;
    case "not": {
      const met = metFields(condition.of, event).map(({ field, path }) => `${field} is ${found(valueAt(event, path))}`);
      return met.length === 0 ? "`not` leaves it out" : `${some(met)}: \`not\` leaves that out`;
    }
  }
}

/** The fields by which a condition is met. */
function metFields(condition: Condition, event: Event): readonly FieldCondition[] {
  switch (condition.kind) {
    case "field":
      return [condition];
    case "all":
      return condition.of.flatMap((one) => metFields(one, event));
    case "any":
      return condition.of.filter((one) => holds(one, event)).flatMap((one) => metFields(one, event));
    case "not":
      return [];
  }
}

/** Names the first test that fails by itself; those of a list may only fail together. */
function whyNotField(condition: FieldCondition, event: Event): string {
  const { field, path, tests } = condition;
  const missed = tests.find((test) => !fieldHolds({ ...condition, tests: [test] }, event));
  const wanted = (missed ? [missed] : tests).map(wantedBy);
  const together = missed ? "" : " of one of its items";
  return `${field} is ${found(valueAt(event, path))}: ${listed(wanted, "and")} is wanted${together}`;
}

function wantedBy(test: Test): string {
  switch (test.kind) {
    case "in":
      return cut(listed(test.values.map(shown), "or"));
    case "not":
      return `anything but ${cut(listed(test.values.map(shown), "or"))}`;
    case "order":
      return `${(typeof test.than === "number" ? OF_NUMBERS : OF_TIMES)[test.order]} ${test.than}`;
    case "exists":
      return test.wanted ? "any value" : "no value";
    case "matches":
      return `text that matches ${cut(listed(test.patterns.map(writePattern), "or"))}`;
  }
}

const OF_NUMBERS: Readonly<Record<Order, string>> = {
  gt: "more than",
  gte: "at least",
  lt: "less than",
  lte: "at most",
};
const OF_TIMES: Readonly<Record<Order, string>> = {
  gt: "a time after",
  gte: "a time from",
  lt: "a time before",
  lte: "a time until",
};

function found(value: unknown): string {
  return value === undefined ? "missing" : shown(value);
}

/** As JSON: `"7"` is not `7`. */
function shown(value: unknown): string {
  return cut(JSON.stringify(value) ?? String(value));
}

const LONGEST = 100;

/** Not in the middle of a surrogate pair. */
function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST).replace(/[\uD800-\uDBFF]$/, "")}…` : text;
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(3))}%`;
}

function some(reasons: readonly string[]): string {
  const more = reasons.length - MOST_REASONS;
  return [...reasons.slice(0, MOST_REASONS), ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

function listed(words: readonly string[], before: "and" | "or"): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} ${before} ${words.at(-1)}`;
}
