import { respond, respondFault } from "../http/respond.ts";
import type { Attempt } from "../model/attempt.ts";
import type { Destination } from "../model/destination.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { DeliveryDetail, ListedDelivery, Lookup } from "../model/lookup.ts";
import type { Clock } from "../model/ports.ts";
import { type At, formatTime } from "../model/units.ts";
import { withoutQuery } from "../model/url.ts";
import { type Sending, shownHeaders } from "../webhook/headers.ts";
import { readSearch } from "./search.ts";

export type DeliveriesWorld = {
  readonly clock: Pick<Clock, "now" | "wall">;
  readonly lookup: Lookup;
  /** As the config in force has them. */
  readonly destinations: () => readonly Destination[];
};

/**
 * `GET /api/deliveries?state=&destination=&source=&type=&user=&since=&until=&limit=&cursor=`: the deliveries that are
 * wanted, the newest first, as `{deliveries, cursor}`. A cursor leads to the next page, null after the last one; a page
 * may have fewer than `limit` although there is another, as each request looks at so many only.
 */
export async function getDeliveries(
  given: Readonly<Record<string, string>>,
  { clock, lookup }: DeliveriesWorld,
): Promise<Response> {
  const ask = readSearch(given, clock.now());
  if (isFault(ask)) return respondFault(ask);
  const page = await lookup.deliveries(ask.search, ask.page);
  if (page === "bad_cursor") return respondFault(fault("invalid_request", BAD_CURSOR));
  return respond(200, { deliveries: page.deliveries.map(describeListed), cursor: page.cursor });
}

const BAD_CURSOR = "cursor must be the one of an answer to the same question; leave it out for the first page";

/** `GET /api/deliveries/:id`: all there is to know of one; its id is `<number of the event>-<destination>`. */
export async function getDelivery(id: string, { lookup, destinations, clock }: DeliveriesWorld): Promise<Response> {
  const place = parseId(id);
  const found = place && (await lookup.delivery(place));
  if (!found) return respondFault(unknownDelivery(id));
  const destination = destinations().find(({ name }) => name === found.destination);
  const { body, firstAttemptAt, finals, log, ...listed } = found;
  return respond(200, {
    ...describeListed(listed),
    firstAttemptAt: timeOf(firstAttemptAt),
    finals,
    body,
    requests: destination ? requestsOf(found, { destination, at: clock.wall() }) : [],
    log: { first: log.first.map(describeAttempt), omitted: log.omitted, last: log.last.map(describeAttempt) },
  });
}

/** The name of a destination may have a hyphen, the number of an event has none. */
export function parseId(id: string): { readonly id: number; readonly destination: string } | null {
  const [, event, destination] = /^(\d{1,15})-(.+)$/s.exec(id) ?? [];
  return event === undefined || destination === undefined ? null : { id: Number(event), destination };
}

export function formatId({ id, destination }: Pick<ListedDelivery, "id" | "destination">): string {
  return `${id}-${destination}`;
}

/** The fault of an id that nothing has, or nothing any more. */
export function unknownDelivery(id: string): Fault {
  const kept = "delivered ones are kept for outbox.keepDelivered, failed and expired ones for outbox.keepFailed";
  const form = "an id is the number of an event and a destination, as 42-crm";
  return fault("unknown_delivery", `there is no delivery ${JSON.stringify(id.slice(0, 100))}; ${form}, and ${kept}`);
}

export function describeListed({ id, ...one }: ListedDelivery): object {
  const { destination, state, source, type, messageId, userId, acceptedAt, attempts } = one;
  return {
    ...{ id: formatId({ id, destination }), destination, state, source, type, messageId, userId },
    ...{ acceptedAt: formatTime(acceptedAt), attempts, dueAt: timeOf(one.dueAt), settledAt: timeOf(one.settledAt) },
    replayedAt: timeOf(one.replayedAt),
    ...{ url: one.url, status: one.status, reason: one.reason },
  };
}

/** What goes out, by the config as it is now: that of the past is not kept. */
function requestsOf(detail: DeliveryDetail, sending: Sending): readonly object[] {
  return sending.destination.webhooks.map((webhook) => ({
    url: withoutQuery(webhook.url),
    headers: shownHeaders(webhook, detail, sending),
  }));
}

function describeAttempt({ at, ...attempt }: Attempt): object {
  return { at: formatTime(at), ...attempt };
}

function timeOf(at: At | null): string | null {
  return at === null ? null : formatTime(at);
}
