import * as v from "valibot";
import { formatId } from "../model/delivery.ts";
import { isFault } from "../model/fault.ts";
import { KB } from "../model/units.ts";
import { replayPage, retriedDelivery, SETTLED_STATES } from "../wire/deliveries.ts";
import { about } from "../wire/fields.ts";
import { parseId, unknownDelivery } from "./deliveries.ts";
import { refuseRemoved } from "./destinations.ts";
import { type Answered, type Asked, keysRule, limitEntry, route, type Serve, wallTimeOf } from "./route.ts";
import { FILTER, FILTER_KEYS, refuseFilter, toFilter } from "./search.ts";
import type { AdminWorld } from "./world.ts";

/** Sending deliveries again. */
export function serveReplay(serve: Serve, world: AdminWorld): void {
  serve(retryRoute, ({ params }) => postRetry(params.id, world));
  serve(replayRoute, ({ body }) => postReplay(body, world));
}

const filter = v.strictObject(
  {
    state: v.optional(
      v.picklist(SETTLED_STATES, `must be one of ${SETTLED_STATES.join(", ")}; waiting deliveries are sent anyway`),
    ),
    ...FILTER,
  },
  keysRule(`state, ${FILTER_KEYS}`),
);

const replayRoute = route({
  id: "replay",
  method: "post",
  path: "/api/replay",
  summary: "Send a page of settled deliveries again",
  description:
    "Failed and expired deliveries, or with `filter.state` delivered ones. Each gets a new cutoff and goes to all of its webhooks. " +
    "Repeat the request while there is a cursor: the caller sets the pace.",
  body: {
    shape: v.strictObject(
      {
        filter,
        limit: limitEntry({ most: 1_000, byDefault: 500 }),
        cursor: about(
          "The cursor of the previous page; null for the first page.",
          v.nullish(v.string("must be the cursor of an answer"), null),
        ),
        dryRun: about("Only counts them.", v.optional(v.boolean("must be true or false"), false)),
      },
      keysRule("filter, limit, cursor and dryRun", "is missing; {} means all"),
    ),
    maxBytes: 4 * KB,
  },
  answers: { 200: replayPage },
  faults: ["unknown_destination", "unknown_source", "store_full", "store_failed"],
});

const retryRoute = route({
  id: "retryDelivery",
  method: "post",
  path: "/api/deliveries/:id/retry",
  summary: "Send one delivery again",
  description: "It may be in any state. A waiting delivery becomes due now and keeps its cutoff.",
  params: { id: "The number of its event, a hyphen, and its destination: `42-crm`." },
  answers: { 200: retriedDelivery },
  faults: ["unknown_delivery", "unknown_destination", "user_deleted", "store_full", "store_failed"],
});

/** `POST /api/replay`: sends a page of settled deliveries again, or only counts it with `dryRun`. */
async function postReplay(
  { filter, limit, cursor, dryRun }: Asked<typeof replayRoute>["body"],
  world: AdminWorld,
): Promise<Answered<typeof replayRoute>> {
  const { destinations, timeline } = world;
  const search = { ...toFilter(filter, world), state: filter.state ?? null };
  const refusal = cursor === null ? await refuseFilter(search, world) : null;
  if (refusal) return refusal;
  const isKnown = (name: string): boolean => destinations().some((one) => one.name === name);
  const page = await world.replay.page({ search, page: { limit, cursor }, dryRun, isKnown });
  if (isFault(page)) return page;
  if (!dryRun) {
    for (const [destination, count] of page.replayed) {
      world.tryNow(destination);
      world.report.replayed(destination, count);
    }
  }
  return {
    success: true,
    replayed: [...page.replayed.values()].reduce((sum, one) => sum + one, 0),
    destinations: Object.fromEntries(page.replayed),
    left: page.left,
    deleted: page.deleted,
    superseded: page.superseded,
    oldest: wallTimeOf(page.oldest, timeline),
    newest: wallTimeOf(page.newest, timeline),
    cursor: page.cursor,
  };
}

/** `POST /api/deliveries/:id/retry`: sends one delivery again, whatever its state. */
async function postRetry(id: string, world: AdminWorld): Promise<Answered<typeof retryRoute>> {
  const place = parseId(id);
  const removed = place && refuseRemoved(place.destination, world);
  if (removed) return removed;
  const did = place && (await world.replay.one(place));
  if (!did) return unknownDelivery(id);
  if (typeof did !== "string") return did;
  world.tryNow(place.destination);
  if (did === "replayed") world.report.replayed(place.destination, 1);
  return { success: true, id: formatId(place), did };
}
