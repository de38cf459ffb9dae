import * as v from "valibot";
import { isCalendarDay } from "../model/calendar.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { Lookup, PageAsk, Search } from "../model/lookup.ts";
import type { Clock } from "../model/ports.ts";
import type { Source } from "../model/source.ts";
import type { Timeline } from "../model/timeline.ts";
import { type At, parseDuration } from "../model/units.ts";
import { about, STATES, TYPES } from "./answers/fields.ts";
import { type KnownWorld, refuseUnknown, unknownName } from "./destinations.ts";
import { limitQuery, readQuery } from "./route.ts";

/** What one answer lists at most. */
export const MOST_LISTED = 1_000;

const TIME_RULE = "must be a time with its zone, as 2009-11-10T23:00:00Z, or how long ago, as 2h";
const filterText = v.optional(v.pipe(v.string(), v.nonEmpty("must not be empty; leave it out for all")));
const filterTime = v.pipe(v.string(), v.check(isTime, TIME_RULE), v.examples(["2h", "2009-11-10T23:00:00Z"]));

/** What a list and a replay both filter by, beside the state. */
export const FILTER = {
  destination: filterText,
  source: filterText,
  type: v.optional(v.picklist(TYPES, `must be one of ${TYPES.join(", ")}`)),
  user: filterText,
  since: about(
    "Those that came into their state since then: a time with its zone, or how long ago.",
    v.optional(filterTime),
  ),
  until: about("Those that came into their state before then.", v.optional(filterTime)),
};
export const FILTER_KEYS = "destination, source, type, user, since and until";

export const searchQuery = v.strictObject(
  {
    state: v.optional(v.picklist(STATES, `must be one of ${STATES.join(", ")}`)),
    ...FILTER,
    limit: limitQuery({ most: MOST_LISTED, byDefault: 20 }),
    cursor: about("Of an answer to the same question; left out for the first page.", filterText),
  },
  "is not known; there are state, destination, source, type, user, since, until, limit and cursor",
);

type SearchAsk = { readonly search: Search; readonly page: PageAsk };

/** What a time in a filter is read by. */
type SearchWorld = { readonly clock: Pick<Clock, "now">; readonly timeline: Pick<Timeline, "fromWall"> };

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

export type FilterWorld = KnownWorld & {
  readonly sources: () => readonly Pick<Source, "name">[];
  readonly lookup: Pick<Lookup, "deliveries">;
};

/**
 * Refuses to filter by a destination or a source that is neither in the config nor in the outbox: a list that is empty for
 * a slip of the keyboard looks as if all were well. Faults: `unknown_destination`, `unknown_source`.
 */
export async function refuseFilter(
  { destination, source }: Pick<Search, "destination" | "source">,
  world: FilterWorld,
): Promise<Fault | null> {
  const refusal = destination === null ? null : refuseUnknown(destination, world);
  if (refusal || source === null) return refusal;
  const known = world.sources().map(({ name }) => name);
  if (known.includes(source)) return null;
  // One that was removed is known by the events that are kept of it, as far as they can be looked through at once.
  const page = await world.lookup.deliveries({ ...ANY, source }, { limit: 1, cursor: null });
  const isKnown = page === "bad_cursor" || page.deliveries.length > 0 || page.cursor !== null;
  return isKnown ? null : unknownName("unknown_source", source, known);
}

const ANY: Search = { state: null, destination: null, source: null, type: null, user: null, since: null, until: null };
