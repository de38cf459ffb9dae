/** The filters of a destination: from what the file says to what `route/filter.ts` decides by. */
import * as v from "valibot";
import {
  type Condition,
  type Filter,
  type NameFilter,
  ORDERS,
  type Order,
  parseField,
  parsePattern,
  parseTime,
  type Scalar,
  type Test,
} from "../model/filter.ts";
import { issuePath } from "./fields.ts";
import { FREE, PATTERN_FORM } from "./key.ts";
import { suggest } from "./suggest.ts";

/** Bounds of one destination's filters: they are asked for every event. */
const MOST_TESTS = 100;
const DEEPEST = 5;
const MOST_VALUES = 1_000;
const LONGEST_PATTERN = 256;
const MOST_STARS = 8;

/** The fields of a call that have no others in them, and those that have. */
const PLAIN_FIELDS = [
  ...["type", "event", "userId", "anonymousId", "previousId", "groupId", "name", "category", "channel", "messageId"],
  "timestamp",
];
const OBJECT_FIELDS = ["properties", "traits", "context"];

/** A pattern for the names of track calls; with `!` those that are left out. */
export function namePattern() {
  return v.pipe(
    v.string("must be text: put it in quotes"),
    v.metadata({ form: PATTERN_FORM }),
    v.rawCheck(({ dataset, addIssue }) => {
      const fault = dataset.typed ? patternFault(dataset.value.replace(/^!/, "")) : null;
      if (fault !== null) addIssue({ message: fault });
    }),
  );
}

function patternFault(written: string): string | null {
  if (written === "") return "must not be empty";
  if (written.length > LONGEST_PATTERN) return `must have at most ${LONGEST_PATTERN} characters`;
  return parsePattern(written).length - 1 > MOST_STARS ? `must have at most ${MOST_STARS} stars` : null;
}

export function nameFilter(written: readonly string[]): NameFilter {
  const [not, any] = [written.filter((one) => one.startsWith("!")), written.filter((one) => !one.startsWith("!"))];
  return { any: any.map(parsePattern), not: not.map((one) => parsePattern(one.slice(1))) };
}

const SHARE = /^(\d{1,2}(\.\d{1,3})?|100)%$/;

/** A share of users, as `10%`. */
export function share() {
  const message = "must be more than 0% and at most 100%, as in 10%";
  return v.pipe(
    v.string(message),
    v.metadata({ form: "percentage", pattern: SHARE.source, patternErrorMessage: message }),
    v.rawTransform<string, number>(({ dataset, addIssue, NEVER }) => {
      const value = SHARE.test(dataset.value) ? Number.parseFloat(dataset.value) / 100 : 0;
      if (value > 0) return value;
      addIssue({ message });
      return NEVER;
    }),
  );
}

/** Conditions on the fields of a call. */
export function conditions() {
  return v.pipe(
    v.any(),
    v.metadata({ form: "map of conditions", type: "object", [FREE]: ["exists"] }),
    v.rawTransform<unknown, Condition>(({ dataset, addIssue, NEVER }) => {
      const faults: Fault[] = [];
      const condition = readMap(dataset.value, { path: [], depth: 1, found: { tests: 0, faults } });
      for (const { message, path } of faults) addIssue({ message, path: issuePath(path, dataset.value) });
      return faults.length > 0 || condition === null ? NEVER : condition;
    }),
  );
}

/** The filter of a destination; null if it takes everything. */
export function buildFilter(written: {
  readonly events?: readonly string[] | undefined;
  readonly where?: Condition | undefined;
  readonly sample?: number | undefined;
}): Filter | null {
  const { events, where = null, sample = null } = written;
  if (events === undefined && where === null && sample === null) return null;
  return { events: events === undefined ? null : nameFilter(events), where, sample };
}

type Key = string | number;
type Fault = { readonly message: string; readonly path: readonly Key[] };
/** `found`: what all of a destination's conditions have together. */
type Place = {
  readonly path: readonly Key[];
  readonly depth: number;
  readonly found: { tests: number; readonly faults: Fault[] };
};

/** A map holds if all of its entries do. */
function readMap(value: unknown, place: Place): Condition | null {
  if (!isMap(value)) return fail(place, "must be a map of conditions, as in properties.total: { gte: 100 }");
  if (place.depth > DEEPEST) return fail(place, `is nested too deeply: at most ${DEEPEST} levels`);
  const entries = Object.entries(value);
  if (entries.length === 0) return fail(place, "has no conditions: write one, or remove the key");
  const read = entries.map(([key, one]) => readEntry(key, one, within(place, key)));
  const of = read.filter((one) => one !== null);
  return of.length === 1 && of[0] ? of[0] : { kind: "all", of };
}

function readEntry(key: string, value: unknown, place: Place): Condition | null {
  if (key === "not") {
    const of = readMap(value, deeper(place));
    return of && { kind: "not", of };
  }
  if (key !== "all" && key !== "any") return readField(key, value, place);
  if (!Array.isArray(value) || value.length === 0) {
    return fail(place, `must be a list of maps of conditions, as in ${key}: [{ type: page }]`);
  }
  const of = value.map((one, nth) => readMap(one, deeper(within(place, nth))));
  return { kind: key, of: of.filter((one) => one !== null) };
}

function readField(field: string, value: unknown, place: Place): Condition | null {
  const path = parseField(field);
  const fault = fieldFault(path);
  if (fault !== null) return fail(place, fault);
  const tests = isMap(value) ? readTests(value, place) : [readValues("in", value, place)];
  place.found.tests += tests.length;
  if (place.found.tests > MOST_TESTS) return fail(place, `is one too many: at most ${MOST_TESTS} conditions`);
  return { kind: "field", field, path, tests: tests.filter((one) => one !== null) };
}

function fieldFault([first = "", ...rest]: readonly string[]): string | null {
  const known = [...PLAIN_FIELDS, ...OBJECT_FIELDS];
  if (!known.includes(first)) {
    const meant = suggest(first, known);
    return `is not a field of a call: ${meant === null ? `known are ${known.join(", ")}` : `did you mean ${meant}?`}`;
  }
  if (rest.includes("")) return "has a dot too many";
  if (PLAIN_FIELDS.includes(first) && rest.length > 0) return `is not in a call: ${first} has nothing in it`;
  if (OBJECT_FIELDS.includes(first) && rest.length === 0) return `needs a field of it, as in ${first}.country`;
  return null;
}

function readTests(value: Readonly<Record<string, unknown>>, place: Place): readonly (Test | null)[] {
  const entries = Object.entries(value);
  if (entries.length === 0) return [fail(place, `must say what is wanted: ${TESTS.join(", ")}`)];
  return entries.map(([key, wanted]) => readTest(key, wanted, within(place, key)));
}

const TESTS = ["not", ...ORDERS, "exists", "matches"];

function readTest(key: string, wanted: unknown, place: Place): Test | null {
  if (key === "not") return readValues("not", wanted, place);
  if (isOrder(key)) return readOrder(key, wanted, place);
  if (key === "exists") {
    return typeof wanted === "boolean" ? { kind: "exists", wanted } : fail(place, "must be true or false");
  }
  if (key === "matches") return readPatterns(wanted, place);
  const meant = suggest(key, TESTS);
  return fail(place, `is not known: ${meant === null ? `there are ${TESTS.join(", ")}` : `did you mean ${meant}?`}`);
}

function isOrder(key: string): key is Order {
  return ORDERS.some((one) => one === key);
}

function readOrder(order: Order, than: unknown, place: Place): Test | null {
  const isNumber = typeof than === "number" && Number.isFinite(than);
  const isTime = typeof than === "string" && !Number.isNaN(parseTime(than));
  if (isNumber || isTime) return { kind: "order", order, than };
  return fail(place, "must be a number, or a time as 2026-01-31T00:00:00Z");
}

function readPatterns(value: unknown, place: Place): Test | null {
  const written = Array.isArray(value) ? value : [value];
  if (written.length === 0) return fail(place, "must have a pattern");
  const patterns = written.flatMap((one, nth) => {
    const fault = typeof one === "string" ? patternFault(one) : "must be text with * for any characters";
    if (fault !== null) fail(Array.isArray(value) ? within(place, nth) : place, fault);
    return typeof one === "string" ? [parsePattern(one)] : [];
  });
  if (written.length > MOST_TESTS) return fail(place, `must have at most ${MOST_TESTS} patterns`);
  return { kind: "matches", patterns };
}

function readValues(kind: "in" | "not", value: unknown, place: Place): Test | null {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (values.length === 0) return fail(place, "must have a value");
  if (values.length > MOST_VALUES) return fail(place, `must have at most ${MOST_VALUES} values`);
  const faulty = values.findIndex((one) => !isScalar(one));
  if (faulty < 0) return { kind, values: values.filter(isScalar) };
  const at = Array.isArray(value) ? within(place, faulty) : place;
  return fail(at, Number.isInteger(values[faulty]) ? INEXACT : VALUES);
}

const VALUES = "must be a text, a number, true or false, or a list of them";
const INEXACT = "is too long for a number: put it in quotes";

/** A number of more than 2^53 would not be the one that is written. */
function isScalar(value: unknown): value is Scalar {
  if (typeof value === "number")
    return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return typeof value === "string" || typeof value === "boolean";
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function within(place: Place, key: Key): Place {
  return { path: [...place.path, key], depth: place.depth, found: place.found };
}

function deeper({ path, depth, found }: Place): Place {
  return { path, depth: depth + 1, found };
}

function fail({ path, found }: Place, message: string): null {
  found.faults.push({ message, path });
  return null;
}
