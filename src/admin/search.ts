import * as v from "valibot";
import type { Fault } from "../model/fault.ts";
import { isFault } from "../model/fault.ts";
import type { Search } from "../model/lookup.ts";
import { type At, isCalendarDay, parseDuration } from "../model/units.ts";
import { STATES, TYPES } from "../wire/deliveries.ts";
import { about, MOST_LISTED } from "../wire/fields.ts";
import { refuseUnknown, unknownName } from "./destinations.ts";
import { limitQuery, textQuery } from "./route.ts";
import type { AdminWorld } from "./world.ts";

const TIME_RULE = "must be a time with its zone, such as 2009-11-10T23:00:00Z, or how long ago, such as 2h";
const time = v.pipe(v.string(), v.check(isTime, TIME_RULE), v.examples(["2h", "2009-11-10T23:00:00Z"]));

/** The filter that lists and replays share, besides the state. */
export const FILTER = {
  destination: textQuery,
  source: textQuery,
  type: v.optional(v.picklist(TYPES, `must be one of ${TYPES.join(", ")}`)),
  user: textQuery,
  since: about(
    "Only deliveries that reached their state since then: a time with its zone, or how long ago.",
    v.optional(time),
  ),
  until: about("Only deliveries that reached their state before then.", v.optional(time)),
};
export const FILTER_KEYS = "destination, source, type, user, since and until";

export const searchQuery = v.strictObject(
  {
    state: v.optional(v.picklist(STATES, `must be one of ${STATES.join(", ")}`)),
    ...FILTER,
    limit: limitQuery({ most: MOST_LISTED.deliveries, byDefault: 20 }),
    cursor: about("The cursor of the previous page; left out for the first page.", textQuery),
  },
  "is unknown; known are state, destination, source, type, user, since, until, limit and cursor",
);

type Filter = v.InferOutput<v.StrictObjectSchema<typeof FILTER, undefined>>;

/** The filter with null for omitted parts, and with times of `clock.now()`. */
export function toFilter(filter: Filter, world: Pick<AdminWorld, "clock" | "timeline">): Omit<Search, "state"> {
  const { destination = null, source = null, type = null, user = null, since, until } = filter;
  return { destination, source, type, user, since: toTime(since, world), until: toTime(until, world) };
}

/** A time without a zone would be taken in the machine's zone. */
const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

function isTime(text: string): boolean {
  return parseDuration(text) !== null || (ISO.test(text) && isCalendarDay(text) && !Number.isNaN(Date.parse(text)));
}

function toTime(text: string | undefined, { clock, timeline }: Pick<AdminWorld, "clock" | "timeline">): At | null {
  if (text === undefined) return null;
  const ago = parseDuration(text);
  return ago === null ? timeline.fromWall(Date.parse(text)) : clock.now() - ago;
}

/**
 * Refuses a filter by a name that is neither in the config nor in the outbox: after a typo, an empty list would look as if
 * all were well. Faults: `unknown_destination`, `unknown_source`.
 */
export async function refuseFilter(
  { destination, source }: Pick<Search, "destination" | "source">,
  world: AdminWorld,
): Promise<Fault | null> {
  const refusal = destination === null ? null : await refuseUnknown(destination, world);
  if (refusal || source === null) return refusal;
  const known = world.sources().map(({ name }) => name);
  if (known.includes(source)) return null;
  // A removed source is known by its events, as far as one page of them can be searched.
  const page = await world.lookup.deliveries({ ...ANY, source }, { limit: 1, cursor: null });
  const isKnown = isFault(page) || page.deliveries.length > 0 || page.cursor !== null;
  return isKnown ? null : unknownName("unknown_source", source, known);
}

const ANY: Search = { state: null, destination: null, source: null, type: null, user: null, since: null, until: null };
