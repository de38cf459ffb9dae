import * as v from "valibot";
import type { Bodies } from "../http/body.ts";
import { respondFault } from "../http/respond.ts";
import { formatId } from "../model/delivery.ts";
import { fault, isFault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { Replay, ReplayPage } from "../model/replay.ts";
import type { Report } from "../model/report.ts";
import type { Timeline } from "../model/timeline.ts";
import { KB } from "../model/units.ts";
import { about, count, success, time, wallTimeOf } from "./answers/fields.ts";
import { parseId, unknownDelivery } from "./deliveries.ts";
import { refuseRemoved } from "./destinations.ts";
import { answer, keysRule, limitEntry, readBody, route, type Said } from "./route.ts";
import { FILTER, FILTER_KEYS, type FilterWorld, refuseFilter, toFilter } from "./search.ts";

const MAX_BODY_BYTES = 4 * KB;
/** Deliveries in one page. */
const MOST_IN_PAGE = 1_000;
const IN_PAGE_BY_DEFAULT = 500;

const STATES = ["delivered", "failed", "expired"] as const;
const WISH_KEYS = "filter, limit, cursor and dryRun";

const filter = v.strictObject(
  {
    state: v.optional(v.picklist(STATES, `must be one of ${STATES.join(", ")}; what waits is sent anyway`)),
    ...FILTER,
  },
  keysRule(`state, ${FILTER_KEYS}`),
);
const wishes = v.strictObject(
  {
    filter,
    limit: limitEntry({ most: MOST_IN_PAGE, byDefault: IN_PAGE_BY_DEFAULT }),
    cursor: about(
      "Of an answer for the same filter; null for the first page.",
      v.nullish(v.string("must be the one of an answer"), null),
    ),
    dryRun: about("Only counts them.", v.optional(v.boolean("must be true or false"), false)),
  },
  keysRule(WISH_KEYS, "is missing; {} stands for all"),
);

export const replayRoute = route({
  id: "replay",
  method: "post",
  path: "/api/replay",
  summary: "Send a page of what was settled again",
  description:
    "What failed or expired, or with `filter.state` what was delivered. Each has a new cutoff, and all of its webhooks are " +
    "asked. Ask again while there is a cursor: the caller paces.",
  body: { shape: wishes, maxBytes: MAX_BODY_BYTES },
  answers: {
    200: about(
      "What was done, or on a dry run what would be. A page may do fewer than `limit`, or none.",
      v.strictObject({
        success,
        replayed: about("How many wait again.", count),
        destinations: about("How many of them for each.", v.record(v.string(), count)),
        left: about(
          "How many were left as they are: their destination is not in the config any more, or they were ended by command.",
          count,
        ),
        deleted: about("How many were left as they are: their user was deleted after their event came.", count),
        superseded: about(
          "How many were left as they are: a newer call about the same user and audience, or trait, has taken their place.",
          count,
        ),
        oldest: about("When the first of their events came.", v.nullable(time)),
        newest: about("When the last one came.", v.nullable(time)),
        cursor: about("Of the next page; null after the last one.", v.nullable(v.string())),
      }),
    ),
  },
  faults: ["unknown_destination", "unknown_source", "store_full", "store_failed"],
});

export const retryRoute = route({
  id: "retryDelivery",
  method: "post",
  path: "/api/deliveries/:id/retry",
  summary: "Send one delivery again",
  description: "Whatever its state: one that waits is due now, and keeps its cutoff.",
  params: { id: "The number of its event, a hyphen, and its destination: `42-crm`." },
  answers: {
    200: about(
      "What was done. `hurried`: it waited, and is due now. `due`: it was already.",
      v.strictObject({ success, id: v.string(), did: v.picklist(["replayed", "hurried", "due"]) }),
    ),
  },
  faults: ["unknown_delivery", "unknown_destination", "user_deleted", "store_full", "store_failed"],
});

export type ReplayWorld = FilterWorld & {
  readonly clock: Pick<Clock, "now">;
  readonly timeline: Timeline;
  readonly bodies: Bodies;
  readonly replay: Replay;
  /** Probes a destination at once. */
  readonly tryNow: (destination: string) => void;
  readonly report: Pick<Report, "replayed">;
};

/**
 * `POST /api/replay {filter, limit?, cursor?, dryRun?}`: a page of what was settled is sent again: what failed or expired, or
 * with `filter.state` what was delivered. Answers `{replayed, left, oldest, newest, cursor}`; on a dry run, what would be. A
 * page may do fewer than `limit`, or none, although there is another behind its cursor. The caller paces.
 */
export async function postReplay(request: Request, world: ReplayWorld): Promise<Response> {
  const read = await readBody(request, replayRoute.body, world.bodies);
  if (isFault(read)) return respondFault(read);
  const { filter, limit, cursor, dryRun } = read.value;
  const { state = null, ...rest } = filter;
  const search = { ...toFilter(rest, world), state };
  const refusal = cursor === null ? await refuseFilter(search, world) : null;
  if (refusal) return respondFault(refusal);
  const isKnown = (name: string): boolean => world.destinations().some((one) => one.name === name);
  const page = await world.replay.page({ search, page: { limit, cursor }, dryRun, isKnown });
  if (page === "bad_cursor") return respondFault(fault("invalid_request", BAD_CURSOR));
  if (isFault(page)) return respondFault(page);
  if (!dryRun) {
    for (const [destination, count] of page.replayed) {
      world.tryNow(destination);
      world.report.replayed(destination, count);
    }
  }
  return answer(replayRoute, { success: true, ...describe(page, world) });
}

const BAD_CURSOR = "cursor: must be the one of an answer for the same filter; leave it out for the first page";

const USER_DELETED =
  "its user was deleted after its event had come: sending it again would bring the user back; receivers get the calls that come from now on";

function describe(page: ReplayPage, { timeline }: ReplayWorld): Omit<Said<typeof replayRoute>, "success"> {
  const { replayed, left, deleted, superseded, cursor } = page;
  const all = [...replayed.values()].reduce((sum, one) => sum + one, 0);
  const destinations = Object.fromEntries(replayed);
  const [oldest, newest] = [wallTimeOf(page.oldest, timeline), wallTimeOf(page.newest, timeline)];
  return { replayed: all, destinations, left, deleted, superseded, oldest, newest, cursor };
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
  if (did === "deleted") return respondFault(fault("user_deleted", USER_DELETED));
  world.tryNow(place.destination);
  if (did === "replayed") world.report.replayed(place.destination, 1);
  return answer(retryRoute, { success: true, id: formatId(place), did });
}
