import * as v from "valibot";
import { respondFault } from "../http/respond.ts";
import type { Attempt } from "../model/attempt.ts";
import { formatId } from "../model/delivery.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { DeliveryDetail, FoundEvent, ListedDelivery, Lookup } from "../model/lookup.ts";
import type { Pauses } from "../model/pause.ts";
import type { Rejections } from "../model/refusal.ts";
import type { Source } from "../model/source.ts";
import type { Timeline } from "../model/timeline.ts";
import type { At } from "../model/units.ts";
import { withoutQuery } from "../model/url.ts";
import { type Sending, shownHeaders } from "../webhook/headers.ts";
import { detail, listed, troubledWebhooks } from "./answers/delivery.ts";
import { type event, trail } from "./answers/event.ts";
import { about, wallTime, wallTimeOf } from "./answers/fields.ts";
import { describeRejection } from "./rejected.ts";
import { answer, type Like, route, type Said } from "./route.ts";
import { type FilterWorld, readSearch, refuseFilter, searchQuery } from "./search.ts";
import { type TroubleWorld, troubleOf } from "./status.ts";

export type DeliveriesWorld = TroubleWorld & FilterWorld & { readonly lookup: Lookup };

export const deliveriesRoute = route({
  id: "listDeliveries",
  method: "get",
  path: "/api/deliveries",
  summary: "List deliveries, the newest first",
  description:
    "Failed and expired ones by when they became so, all others by when their event came. Each request looks at so many " +
    "only: a page may have fewer than `limit`, or none, although there is another one behind its cursor.",
  query: searchQuery,
  answers: {
    200: about(
      "A page. `cursor` leads to the next one, and is null after the last.",
      v.strictObject({ deliveries: v.array(listed), cursor: v.nullable(v.string()), troubled: troubledWebhooks }),
    ),
  },
  faults: ["unknown_destination", "unknown_source"],
});

export const deliveryRoute = route({
  id: "getDelivery",
  method: "get",
  path: "/api/deliveries/:id",
  summary: "Tell all there is to know of a delivery",
  params: { id: "The number of its event, a hyphen, and its destination: `42-crm`." },
  answers: { 200: about("The delivery, with its body and its attempts.", detail) },
  faults: ["unknown_delivery"],
});

/**
 * `GET /api/deliveries?state=&destination=&source=&type=&user=&since=&until=&limit=&cursor=`: the deliveries that are
 * wanted, the newest first, as `{deliveries, cursor}`. A cursor leads to the next page, null after the last one; a page
 * may have fewer than `limit` although there is another, as each request looks at so many only.
 */
export async function getDeliveries(
  given: Readonly<Record<string, string>>,
  world: DeliveriesWorld,
): Promise<Response> {
  const ask = readSearch(given, world);
  if (isFault(ask)) return respondFault(ask);
  // Behind a cursor the names were known, whatever the config says by now.
  const refusal = ask.page.cursor === null ? await refuseFilter(ask.search, world) : null;
  if (refusal) return respondFault(refusal);
  const page = await world.lookup.deliveries(ask.search, ask.page);
  if (page === "bad_cursor") return respondFault(fault("invalid_request", BAD_CURSOR));
  return answer(deliveriesRoute, {
    deliveries: page.deliveries.map((one) => describeListed(one, world.timeline)),
    cursor: page.cursor,
    troubled: troubleFor(page.deliveries, world),
  });
}

const BAD_CURSOR = "cursor must be the one of an answer to the same question; leave it out for the first page";

/** `GET /api/deliveries/:id`: all there is to know of one; its id is `<number of the event>-<destination>`. */
export async function getDelivery(id: string, world: DeliveriesWorld): Promise<Response> {
  const { lookup, destinations, clock, timeline } = world;
  const place = parseId(id);
  const found = place && (await lookup.delivery(place));
  if (!found) return respondFault(unknownDelivery(id));
  const destination = destinations().find(({ name }) => name === found.destination);
  const { body, firstAttemptAt, finals, log, ...listed } = found;
  return answer(deliveryRoute, {
    ...describeListed(listed, timeline),
    firstAttemptAt: wallTimeOf(firstAttemptAt, timeline),
    finals: finals.map(({ url, reason }) => ({ url, reason })),
    body,
    requests: destination ? requestsOf(found, { destination, at: clock.wall() }) : [],
    troubled: troubleFor([found], world),
    log: { first: log.first.map(describeAttempt), omitted: log.omitted, last: log.last.map(describeAttempt) },
  });

  function describeAttempt({ at, ...attempt }: Attempt): Detail["log"]["first"][number] {
    return { at: wallTime(at, timeline), ...attempt };
  }
}

/** What keeps back those of them that wait. */
function troubleFor(
  deliveries: readonly Pick<ListedDelivery, "destination" | "state">[],
  world: TroubleWorld,
): ReturnType<typeof troubleOf> {
  const waiting = deliveries.filter(({ state }) => state === "waiting");
  return troubleOf(new Set(waiting.map(({ destination }) => destination)), world);
}

/** The name of a destination may have a hyphen, the number of an event has none. */
export function parseId(id: string): { readonly id: number; readonly destination: string } | null {
  const [, event, destination] = /^(\d{1,15})-(.+)$/s.exec(id) ?? [];
  return event === undefined || destination === undefined ? null : { id: Number(event), destination };
}

/** The fault of an id that nothing has, or nothing any more. */
export function unknownDelivery(id: string): Fault {
  const kept = "delivered ones are kept for outbox.keepDelivered, failed and expired ones for outbox.keepFailed";
  const form = "an id is the number of an event and a destination, as 42-crm";
  return fault("unknown_delivery", `there is no delivery ${JSON.stringify(id.slice(0, 100))}; ${form}, and ${kept}`);
}

function describeListed({ id, ...one }: ListedDelivery, timeline: Timeline): Like<typeof listed> {
  const { destination, state, source, type, messageId, userId, acceptedAt, attempts } = one;
  return {
    ...{ id: formatId({ id, destination }), destination, state, source, type, messageId, userId },
    ...{ acceptedAt: wallTime(acceptedAt, timeline), attempts, dueAt: wallTimeOf(one.dueAt, timeline) },
    settledAt: wallTimeOf(one.settledAt, timeline),
    replayedAt: wallTimeOf(one.replayedAt, timeline),
    ...{ url: one.url, status: one.status, reason: one.reason },
  };
}

type Detail = Said<typeof deliveryRoute>;

/** What goes out, by the config as it is now: that of the past is not kept. */
function requestsOf(detail: DeliveryDetail, sending: Sending): Detail["requests"] {
  return sending.destination.webhooks.map((webhook) => ({
    url: withoutQuery(webhook.url),
    headers: shownHeaders(webhook, detail, sending),
  }));
}

export type EventsWorld = TroubleWorld & {
  readonly lookup: Lookup;
  readonly rejections: Rejections;
  /** As the config in force has them. */
  readonly sources: () => readonly Pick<Source, "name">[];
  readonly pauses: Pick<Pauses, "since">;
  readonly timeline: Timeline;
  /** Since when refusals are remembered, by `clock.now()`. */
  readonly startedAt: At;
};

export const eventRoute = route({
  id: "explainEvent",
  method: "get",
  path: "/api/events/:messageId",
  summary: "Tell what became of a call",
  params: { messageId: "Its messageId, which the client chose, or else the server." },
  answers: { 200: trail },
});

/**
 * `GET /api/events/:messageId`: what is known of the calls with this messageId. `rejected`: those of the last refusals;
 * `events`: what was taken, with its deliveries; `seen`: when it came from which source in the last 24 hours; `complete`:
 * false if nothing was found, and not all that is kept was looked through.
 */
export async function getEvent(messageId: string, world: EventsWorld): Promise<Response> {
  const { lookup, rejections, sources, startedAt, timeline } = world;
  const rejected = rejections.newest(Number.POSITIVE_INFINITY).filter((one) => one.messageId === messageId);
  const names = sources().map(({ name }) => name);
  const { events, seen, complete } = await lookup.event(messageId, names);
  return answer(eventRoute, {
    messageId,
    rejected: rejected.map(describeRejection),
    rejectedSince: wallTime(startedAt, timeline),
    events: events.map((event) => describeEvent(event, world)),
    seen: seen
      .toSorted((one, other) => other.at - one.at)
      .map(({ source, at }) => ({ source, at: wallTime(at, timeline) })),
    troubled: troubleFor(
      events.flatMap(({ deliveries }) => deliveries),
      world,
    ),
    complete,
  });
}

function describeEvent(found: FoundEvent, world: EventsWorld): Like<typeof event> {
  const { id, source, type, messageId, userId, acceptedAt, skipped, deliveries, forgotten, whole } = found;
  return {
    ...{ event: id, source, type, messageId, userId, acceptedAt: wallTime(acceptedAt, world.timeline), skipped },
    deliveries: deliveries.map((one) => ({ ...describeListed(one, world.timeline), served: servedAs(one, world) })),
    ...{ forgotten, whole },
  };
}

type ServedAs = Like<typeof event>["deliveries"][number]["served"];

/** Whether anybody delivers to it now. */
function servedAs({ destination }: ListedDelivery, { destinations, pauses }: EventsWorld): ServedAs {
  const found = destinations().find(({ name }) => name === destination);
  if (!found) return "removed";
  if (!found.enabled) return "disabled";
  return pauses.since(destination) === null ? "yes" : "paused";
}
