import * as v from "valibot";
import type { DeliveryState } from "../model/delivery.ts";
import { CALL_TYPES, type EventType } from "../model/event.ts";
import { type Fault, fault } from "../model/fault.ts";
import type { PageAsk, Search } from "../model/lookup.ts";
import { type At, parseDuration } from "../model/units.ts";

/** What one answer lists at most. */
export const MOST_LISTED = 1_000;
const LISTED_BY_DEFAULT = 20;

const STATES = ["waiting", "delivered", "failed", "expired"] as const satisfies readonly DeliveryState[];
const TYPES = [...CALL_TYPES, "delete"] as const satisfies readonly EventType[];

const LIMIT_RULE = `must be a whole number from 1 to ${MOST_LISTED}`;
const TIME_RULE = "must be a time with its zone, as 2009-11-10T23:00:00Z, or how long ago, as 2h";
const text = v.optional(v.pipe(v.string(), v.nonEmpty("must not be empty; leave it out for all")));
const time = v.optional(v.pipe(v.string(), v.check(isTime, TIME_RULE)));

/** What a list and a replay both filter by, beside the state. */
export const FILTER = {
  destination: text,
  source: text,
  type: v.optional(v.picklist(TYPES, `must be one of ${TYPES.join(", ")}`)),
  user: text,
  since: time,
  until: time,
};
export const FILTER_KEYS = "destination, source, type, user, since and until";

const query = v.strictObject(
  {
    state: v.optional(v.picklist(STATES, `must be one of ${STATES.join(", ")}`)),
    ...FILTER,
    limit: v.optional(
      v.pipe(
        v.string(),
        v.regex(/^\d{1,9}$/, LIMIT_RULE),
        v.transform(Number),
        v.minValue(1, LIMIT_RULE),
        v.maxValue(MOST_LISTED, LIMIT_RULE),
      ),
      String(LISTED_BY_DEFAULT),
    ),
    cursor: text,
  },
  "is not known; there are state, destination, source, type, user, since, until, limit and cursor",
);

export type SearchAsk = { readonly search: Search; readonly page: PageAsk };

/** Reads which deliveries are wanted. `now`: of the clock by which deliveries go. */
export function readSearch(given: Readonly<Record<string, string>>, now: At): SearchAsk | Fault {
  const result = v.safeParse(query, given, { abortEarly: true });
  if (!result.success) return invalid(result.issues[0]);
  const { limit, cursor = null, state = null, ...filter } = result.output;
  return { search: { state, ...toFilter(filter, now) }, page: { limit, cursor } };
}

type Filter = v.InferOutput<v.StrictObjectSchema<typeof FILTER, undefined>>;

/** What is filtered by, with all that was left out. `now`: of the clock by which deliveries go. */
export function toFilter(filter: Filter, now: At): Omit<Search, "state"> {
  const { destination = null, source = null, type = null, user = null, since, until } = filter;
  return { destination, source, type, user, since: toTime(since, now), until: toTime(until, now) };
}

function invalid(issue: v.BaseIssue<unknown>): Fault {
  const [item] = issue.path ?? [];
  const got = item?.origin === "value" ? ` (got ${JSON.stringify(String(item.value).slice(0, 100))})` : "";
  return fault("invalid_request", `${String(item?.key).slice(0, 100)} ${issue.message}${got}`);
}

/** Without its zone, it would be read in that of the machine. */
const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

function isTime(text: string): boolean {
  return parseDuration(text) !== null || (ISO.test(text) && !Number.isNaN(Date.parse(text)));
}

function toTime(text: string | undefined, now: At): At | null {
  if (text === undefined) return null;
  const ago = parseDuration(text);
  return ago === null ? Date.parse(text) : now - ago;
}
