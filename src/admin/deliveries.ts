import { withoutQuery } from "../model/config.ts";
import type { Attempt } from "../model/delivery.ts";
import { formatId } from "../model/delivery.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { DeliveryDetail, FoundEvent, ListedDelivery } from "../model/lookup.ts";
import type { Timeline } from "../model/timeline.ts";
import { type Sending, shownHeaders } from "../webhook/headers.ts";
import { type delivery, deliveryDetail, deliveryList, type event, trail } from "../wire/deliveries.ts";
import { type Answer, about } from "../wire/fields.ts";
import { heldBackOf } from "./held-back.ts";
import { describeRejection } from "./rejected.ts";
import { type Answered, type Asked, route, type Serve, wallTime, wallTimeOf } from "./route.ts";
import { refuseFilter, searchQuery, toFilter } from "./search.ts";
import { troubleOf } from "./status.ts";
import type { AdminWorld } from "./world.ts";

/** Deliveries, and the calls that they come from. */
export function serveDeliveries(serve: Serve, world: AdminWorld): void {
  serve(deliveriesRoute, ({ query }) => getDeliveries(query, world));
  serve(deliveryRoute, ({ params }) => getDelivery(params.id, world));
  serve(eventRoute, ({ params }) => getEvent(params.messageId, world));
}

const deliveriesRoute = route({
  id: "listDeliveries",
  method: "get",
  path: "/api/deliveries",
  summary: "List deliveries, the newest first",
  description:
    "Failed and expired deliveries are ordered by when they ended, all others by when their event was accepted. Each request " +
    "looks at a bounded number of them: a page may have fewer than `limit`, or none, although more follow after its cursor.",
  query: searchQuery,
  answers: { 200: deliveryList },
  faults: ["unknown_destination", "unknown_source"],
});

const DELIVERY_ID = "The number of its event, a hyphen, and its destination: `42-crm`.";

const deliveryRoute = route({
  id: "getDelivery",
  method: "get",
  path: "/api/deliveries/:id",
  summary: "Show a delivery in full",
  params: { id: DELIVERY_ID },
  answers: { 200: about("The delivery, with its body and its attempts.", deliveryDetail) },
  faults: ["unknown_delivery"],
});

const eventRoute = route({
  id: "explainEvent",
  method: "get",
  path: "/api/events/:messageId",
  summary: "Show what happened to a call",
  params: { messageId: "Its messageId, which the client chose, or the server if the client did not." },
  answers: { 200: trail },
});

/** `GET /api/deliveries`: a page of matching deliveries. */
async function getDeliveries(
  query: Asked<typeof deliveriesRoute>["query"],
  world: AdminWorld,
): Promise<Answered<typeof deliveriesRoute>> {
  const { limit, cursor = null, state = null, ...filter } = query;
  const search = { state, ...toFilter(filter, world) };
  // The names were checked for the first page; the config may have changed since.
  const refusal = cursor === null ? await refuseFilter(search, world) : null;
  if (refusal) return refusal;
  const page = await world.lookup.deliveries(search, { limit, cursor });
  if (isFault(page)) return page;
  return {
    deliveries: describeAll(page.deliveries, world),
    cursor: page.cursor,
    troubled: troubleFor(page.deliveries, world),
  };
}

/** `GET /api/deliveries/:id`: everything known about one delivery. */
async function getDelivery(id: string, world: AdminWorld): Promise<Answered<typeof deliveryRoute>> {
  const { lookup, destinations, clock, timeline } = world;
  const place = parseId(id);
  const found = place && (await lookup.delivery(place));
  if (!found) return unknownDelivery(id);
  const destination = destinations().find(({ name }) => name === found.destination);
  const describeAttempt = ({ at, ...attempt }: Attempt) => ({ at: wallTime(at, timeline), ...attempt });
  const { body, firstAttemptAt, finals, log, ...listed } = found;
  return {
    ...describeListed(listed, heldBackOf([found], world).get(found) ?? null, timeline),
    firstAttemptAt: wallTimeOf(firstAttemptAt, timeline),
    finals: finals.map(({ url, reason }) => ({ url, reason })),
    body,
    requests: destination ? requestsOf(found, { destination, at: clock.wall() }) : [],
    troubled: troubleFor([found], world),
    log: { first: log.first.map(describeAttempt), omitted: log.omitted, last: log.last.map(describeAttempt) },
  };
}

/** The requests by the current config: earlier configs are not stored. */
function requestsOf(detail: DeliveryDetail, sending: Sending) {
  return sending.destination.webhooks.map((webhook) => ({
    url: withoutQuery(webhook.url),
    headers: shownHeaders(webhook, detail, sending),
  }));
}

/** The failing webhooks that some of these deliveries are waiting for. */
function troubleFor(deliveries: readonly Pick<ListedDelivery, "destination" | "state">[], world: AdminWorld) {
  const waiting = deliveries.filter(({ state }) => state === "waiting");
  return troubleOf(
    waiting.map(({ destination }) => destination),
    world,
  );
}

/** The event's number comes first and has no hyphen; the destination's name may have some. */
export function parseId(id: string): { readonly id: number; readonly destination: string } | null {
  const [, event, destination] = /^(\d{1,15})-(.+)$/s.exec(id) ?? [];
  return event === undefined || destination === undefined ? null : { id: Number(event), destination };
}

/** The fault for an unknown or pruned delivery. */
export function unknownDelivery(id: string): Fault {
  const kept = "delivered ones are kept for outbox.keepDelivered, failed and expired ones for outbox.keepFailed";
  const form = "an id is the number of an event, a hyphen and a destination, such as 42-crm";
  return fault("unknown_delivery", `there is no delivery ${JSON.stringify(id.slice(0, 100))}; ${form}, and ${kept}`);
}

function describeAll(deliveries: readonly ListedDelivery[], world: AdminWorld): readonly Answer<typeof delivery>[] {
  const held = heldBackOf(deliveries, world);
  return deliveries.map((one) => describeListed(one, held.get(one) ?? null, world.timeline));
}

function describeListed(
  { id, ...one }: ListedDelivery,
  heldBack: Answer<typeof delivery>["heldBack"],
  timeline: Timeline,
): Answer<typeof delivery> {
  return {
    id: formatId({ id, destination: one.destination }),
    destination: one.destination,
    state: one.state,
    source: one.source,
    type: one.type,
    messageId: one.messageId,
    userId: one.userId,
    acceptedAt: wallTime(one.acceptedAt, timeline),
    attempts: one.attempts,
    dueAt: wallTimeOf(one.dueAt, timeline),
    heldBack,
    settledAt: wallTimeOf(one.settledAt, timeline),
    replayedAt: wallTimeOf(one.replayedAt, timeline),
    url: one.url,
    status: one.status,
    reason: one.reason,
  };
}

/** `GET /api/events/:messageId`: what is known about the calls with this messageId. */
async function getEvent(messageId: string, world: AdminWorld): Promise<Answered<typeof eventRoute>> {
  const { lookup, limits, rejections, sources, startedAt, timeline } = world;
  const rejected = rejections.newest(Number.POSITIVE_INFINITY).filter((one) => one.messageId === messageId);
  const names = sources().map(({ name }) => name);
  const { events, seen, complete } = await lookup.event(messageId, names);
  const deliveries = events.flatMap((event) => event.deliveries);
  return {
    messageId,
    rejected: rejected.map(describeRejection),
    rejectedSince: wallTime(startedAt, timeline),
    limited: limits.refusals().map(({ source, code, since, lastAt, requests }) => {
      return { source, code, since: wallTime(since, timeline), until: wallTime(lastAt, timeline), requests };
    }),
    events: events.map((event) => describeEvent(event, world)),
    seen: seen
      .toSorted((one, other) => other.at - one.at)
      .map(({ source, at }) => ({ source, at: wallTime(at, timeline) })),
    troubled: troubleFor(deliveries, world),
    complete,
  };
}

function describeEvent({ id, acceptedAt, deliveries, ...found }: FoundEvent, world: AdminWorld): Answer<typeof event> {
  const { source, type, messageId, userId, skipped, forgotten, whole } = found;
  return {
    event: id,
    source,
    type,
    messageId,
    userId,
    acceptedAt: wallTime(acceptedAt, world.timeline),
    skipped,
    deliveries: describeAll(deliveries, world).map((one) => ({ ...one, served: servedAs(one, world) })),
    forgotten,
    whole,
  };
}

/** Whether its destination receives deliveries now. */
function servedAs({ destination }: Pick<ListedDelivery, "destination">, { destinations, pauses }: AdminWorld) {
  const found = destinations().find(({ name }) => name === destination);
  if (!found) return "removed";
  if (!found.enabled) return "disabled";
  return pauses.since(destination) === null ? "yes" : "paused";
}
