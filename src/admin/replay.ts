import * as v from "valibot";
import type { Bodies } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { respond, respondFault } from "../http/respond.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { Replay, ReplayPage } from "../model/replay.ts";
import type { Report } from "../model/report.ts";
import { type At, formatTime, KB } from "../model/units.ts";
import { formatId, parseId, unknownDelivery } from "./deliveries.ts";
import { FILTER, FILTER_KEYS, toFilter } from "./search.ts";
import { type KnownWorld, refuseRemoved } from "./unserved.ts";

const MAX_BODY_BYTES = 4 * KB;
/** Deliveries in one page. */
const MOST_IN_PAGE = 1_000;
const IN_PAGE_BY_DEFAULT = 500;

const LIMIT_RULE = `must be a whole number from 1 to ${MOST_IN_PAGE}`;
const STATES = ["delivered", "failed", "expired"] as const;
const WISH_KEYS = "filter, limit, cursor and dryRun";

const filter = v.strictObject(
  {
    state: v.optional(v.picklist(STATES, `must be one of ${STATES.join(", ")}; what waits is sent anyway`)),
    ...FILTER,
  },
  shape(`state, ${FILTER_KEYS}`),
);
const wishes = v.strictObject(
  {
    filter,
    limit: v.optional(
      v.pipe(
        v.number(LIMIT_RULE),
        v.integer(LIMIT_RULE),
        v.minValue(1, LIMIT_RULE),
        v.maxValue(MOST_IN_PAGE, LIMIT_RULE),
      ),
      IN_PAGE_BY_DEFAULT,
    ),
    cursor: v.nullish(v.string("must be the one of an answer"), null),
    dryRun: v.optional(v.boolean("must be true or false"), false),
  },
  shape(WISH_KEYS),
);

function shape(keys: string): (issue: v.StrictObjectIssue) => string {
  return ({ path, expected, received }) => {
    if (!path) return `must be an object with ${keys}`;
    if (expected === "never") return `is not known; there are ${keys}`;
    return received === "undefined" ? "is missing; {} stands for all" : `must be an object with ${keys}`;
  };
}

export type ReplayWorld = KnownWorld & {
  readonly clock: Pick<Clock, "now">;
  readonly bodies: Bodies;
  readonly replay: Replay;
  readonly report: Pick<Report, "replayed">;
};

/**
 * `POST /api/replay {filter, limit?, cursor?, dryRun?}`: a page of what was settled is sent again: what failed or expired, or
 * with `filter.state` what was delivered. Answers `{replayed, left, oldest, newest, cursor}`; on a dry run, what would be. A
 * page may do fewer than `limit`, or none, although there is another behind its cursor. The caller paces.
 */
export async function postReplay(request: Request, world: ReplayWorld): Promise<Response> {
  const wish = await readWish(request, world);
  if (isFault(wish)) return respondFault(wish);
  const { filter, limit, cursor, dryRun } = wish;
  const { state = null, ...rest } = filter;
  const search = { ...toFilter(rest, world.clock.now()), state };
  const isKnown = (name: string): boolean => world.destinations().some((one) => one.name === name);
  const page = await world.replay.page({ search, page: { limit, cursor }, dryRun, isKnown });
  if (page === "bad_cursor") return respondFault(fault("invalid_request", BAD_CURSOR));
  if (isFault(page)) return respondFault(page);
  if (!dryRun) for (const [destination, count] of page.replayed) world.report.replayed(destination, count);
  return respond(200, { success: true, ...describe(page) });
}

const BAD_CURSOR = "cursor: must be the one of an answer for the same filter; leave it out for the first page";

async function readWish(request: Request, { bodies }: ReplayWorld): Promise<v.InferOutput<typeof wishes> | Fault> {
  const text = await bodies.read(request, MAX_BODY_BYTES);
  if (typeof text !== "string") return text;
  const parsed = parseJson(text);
  if (isFault(parsed)) return parsed;
  const result = v.safeParse(wishes, withoutLists(parsed.value), { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  return fault("invalid_request", `${v.getDotPath(issue) ?? "the body"}: ${issue.message}`);
}

/** Valibot takes an empty list for an object without keys, which here would stand for all there is. */
function withoutLists(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("filter" in value)) return value;
  return Array.isArray(value.filter) ? { ...value, filter: null } : value;
}

function describe({ replayed, left, oldest, newest, cursor }: ReplayPage): object {
  const count = [...replayed.values()].reduce((sum, one) => sum + one, 0);
  const destinations = Object.fromEntries(replayed);
  return { replayed: count, destinations, left, oldest: timeOf(oldest), newest: timeOf(newest), cursor };
}

function timeOf(at: At | null): string | null {
  return at === null ? null : formatTime(at);
}

/**
 * `POST /api/deliveries/:id/retry`: sends one delivery again, whatever its state: `{id, did}`, where `did` is `replayed`, or
 * of one that waits `hurried` or `due`. Faults: `unknown_delivery`, and `unknown_destination` if it was removed.
 */
export async function postRetry(id: string, world: ReplayWorld): Promise<Response> {
  const place = parseId(id);
  const removed = place && refuseRemoved(place.destination, world);
  if (removed) return respondFault(removed);
  const did = place && (await world.replay.one(place));
  if (!did) return respondFault(unknownDelivery(id));
  if (typeof did !== "string") return respondFault(did);
  if (did === "replayed") world.report.replayed(place.destination, 1);
  return respond(200, { success: true, id: formatId(place), did });
}
