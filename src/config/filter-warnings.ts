/** Warns about filters that no call can pass, and about those that exclude nothing. */
import type { Config, Destination } from "../model/config.ts";
import { CALL_TYPES, type CallType, ownEvent } from "../model/event.ts";
import {
  type Condition,
  type FieldCondition,
  type Pattern,
  parsePattern,
  parseTime,
  type Test,
} from "../model/filter.ts";
import { fieldHolds, matches } from "../route/filter.ts";
import { type Finding, keyPlace, warningAt } from "./problems.ts";
import { child, listOf, type Tree, textOf } from "./tree.ts";

export function warnOfFilters(root: Tree, { destinations }: Config): readonly Finding[] {
  return destinations.flatMap((destination) => {
    const tree = child(root, "destinations", destination.name);
    return [...warnOfEvents(child(tree, "events"), destination), ...warnOfWhere(child(tree, "where"), destination)];
  });
}

function warnOfEvents(tree: Tree | undefined, { types, filter }: Destination): readonly Finding[] {
  if (!tree || !filter?.events) return [];
  if (types && !types.includes("track")) {
    return [
      warningAt(keyPlace(tree), "has no effect: `types` exclude track calls, and other calls have no event name"),
    ];
  }
  const { any, not } = filter.events;
  const wanted = any.length === 0 ? [["", ""]] : any;
  if (wanted.every((one) => not.some((other) => covers(other, one)))) {
    return [warningAt(keyPlace(tree), "selects no track call: patterns with ! exclude every name")];
  }
  return listOf(tree).flatMap((item) => {
    const message = whyIdle(textOf(item) ?? "", { any, not });
    return message === null ? [] : [warningAt(item, message)];
  });
}

type Patterns = { readonly any: readonly Pattern[]; readonly not: readonly Pattern[] };

/** Why a pattern has no effect beside the others; null if it has one, or if that takes more to see. */
function whyIdle(written: string, { any, not }: Patterns): string | null {
  const pattern = parsePattern(written.replace(/^!/, ""));
  if (!written.startsWith("!")) {
    return not.some((one) => covers(one, pattern))
      ? "has no effect: a pattern with ! excludes all of these names"
      : null;
  }
  const [name = ""] = pattern;
  const isIdle = pattern.length === 1 && any.length > 0 && !any.some((one) => matches(one, name));
  return isIdle ? "has no effect: no pattern without ! selects this name" : null;
}

/** Stands for what a star matches: no name that anybody writes has it. */
const ANYTHING = "\uFFFF";

/** Whether a pattern matches all that another one does: only its own star can match the other's. */
function covers(pattern: Pattern, other: Pattern): boolean {
  return matches(pattern, other.join(ANYTHING));
}

function warnOfWhere(tree: Tree | undefined, { types, filter }: Destination): readonly Finding[] {
  const where = filter?.where;
  if (!tree || !where) return [];
  const truths = (types ?? CALL_TYPES).map((type) => truthFor(type, where));
  if (truths.every((truth) => truth === false)) {
    return [warningAt(keyPlace(tree), "cannot be met: the destination gets no calls")];
  }
  return truths.every((truth) => truth === true)
    ? [warningAt(keyPlace(tree), "has no effect: every call that it is checked against meets it")]
    : [];
}

/** Whether calls of a type meet a condition: all (true), none (false), or that depends on what is in them (null). */
function truthFor(type: CallType, condition: Condition): boolean | null {
  switch (condition.kind) {
    case "all":
      return allOf(condition.of.map((one) => truthFor(type, one)));
    case "any":
      return not(allOf(condition.of.map((one) => not(truthFor(type, one)))));
    case "not":
      return not(truthFor(type, condition.of));
    case "field":
      return isContradiction(condition) ? false : condition.field === "type" ? isOfType(type, condition) : null;
  }
}

function allOf(truths: readonly (boolean | null)[]): boolean | null {
  if (truths.includes(false)) return false;
  return truths.includes(null) ? null : true;
}

function not(truth: boolean | null): boolean | null {
  return truth === null ? null : !truth;
}

function isOfType(type: CallType, condition: FieldCondition): boolean {
  return fieldHolds(condition, ownEvent({ type, messageId: "", userId: undefined, at: 0 }));
}

/** A value that has to be above what it has to be below, or be there and not be there. */
function isContradiction({ tests }: FieldCondition): boolean {
  const isAbsent = tests.some((test) => test.kind === "exists" && !test.wanted);
  if (isAbsent && tests.some(({ kind }) => kind !== "exists" && kind !== "not")) return true;
  const bounds = tests.flatMap(boundOf);
  const least = bounds.filter(({ order }) => order.startsWith("g"));
  const most = bounds.filter(({ order }) => order.startsWith("l"));
  return least.some((low) => {
    return most.some((high) => low.at > high.at || (low.at === high.at && `${low.order}${high.order}` !== "gtelte"));
  });
}

type Bound = { readonly order: string; readonly at: number };

function boundOf(test: Test): readonly Bound[] {
  if (test.kind !== "order") return [];
  return [{ order: test.order, at: typeof test.than === "number" ? test.than : parseTime(test.than) }];
}
