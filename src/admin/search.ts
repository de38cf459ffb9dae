import * as v from "valibot";
import { isCalendarDay } from "../model/calendar.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { PageAsk, Search } from "../model/lookup.ts";
import type { Clock } from "../model/ports.ts";
import type { Timeline } from "../model/timeline.ts";
import { type At, parseDuration } from "../model/units.ts";
import { about, STATES, TYPES } from "./answers/fields.ts";
import { limitQuery, readQuery } from "./read.ts";

/** What one answer lists at most. */
export const MOST_LISTED = 1_000;

const TIME_RULE = "must be a time with its zone, as 2009-11-10T23:00:00Z, or how long ago, as 2h";
const text = v.optional(v.pipe(v.string(), v.nonEmpty("must not be empty; leave it out for all")));
const time = v.pipe(v.string(), v.check(isTime, TIME_RULE), v.examples(["2h", "2009-11-10T23:00:00Z"]));

/** What a list and a replay both filter by, beside the state. */
export const FILTER = {
  destination: text,
  source: text,
  type: v.optional(v.picklist(TYPES, `must be one of ${TYPES.join(", ")}`)),
  user: text,
  since: about("Those that came into their state since then: a time with its zone, or how long ago.", v.optional(time)),
  until: about("Those that came into their state before then.", v.optional(time)),
};
export const FILTER_KEYS = "destination, source, type, user, since and until";

export const searchQuery = v.strictObject(
  {
    state: v.optional(v.picklist(STATES, `must be one of ${STATES.join(", ")}`)),
    ...FILTER,
    limit: limitQuery({ most: MOST_LISTED, byDefault: 20 }),
    cursor: about("Of an answer to the same question; left out for the first page.", text),
  },
  "is not known; there are state, destination, source, type, user, since, until, limit and cursor",
);

export type SearchAsk = { readonly search: Search; readonly page: PageAsk };

/** What a time in a filter is read by. */
export type SearchWorld = { readonly clock: Pick<Clock, "now">; readonly timeline: Pick<Timeline, "fromWall"> };

/** Reads which deliveries are wanted. */
export function readSearch(given: Readonly<Record<string, string>>, world: SearchWorld): SearchAsk | Fault {
  const read = readQuery(searchQuery, given);
  if (isFault(read)) return read;
  const { limit, cursor = null, state = null, ...filter } = read.value;
  return { search: { state, ...toFilter(filter, world) }, page: { limit, cursor } };
}

type Filter = v.InferOutput<v.StrictObjectSchema<typeof FILTER, undefined>>;

/** What is filtered by, with all that was left out, and with times as they are in rows. */
export function toFilter(filter: Filter, world: SearchWorld): Omit<Search, "state"> {
  const { destination = null, source = null, type = null, user = null, since, until } = filter;
  return { destination, source, type, user, since: toTime(since, world), until: toTime(until, world) };
}

/** Without its zone, it would be read in that of the machine. */
const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

function isTime(text: string): boolean {
  return parseDuration(text) !== null || (ISO.test(text) && isCalendarDay(text) && !Number.isNaN(Date.parse(text)));
}

function toTime(text: string | undefined, { clock, timeline }: SearchWorld): At | null {
  if (text === undefined) return null;
  const ago = parseDuration(text);
  return ago === null ? timeline.fromWall(Date.parse(text)) : clock.now() - ago;
}
