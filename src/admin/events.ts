import type { FoundEvent, ListedDelivery, Lookup } from "../model/lookup.ts";
import type { Pauses } from "../model/pause.ts";
import type { Rejections } from "../model/refusal.ts";
import type { Source } from "../model/source.ts";
import type { Timeline } from "../model/timeline.ts";
import type { At } from "../model/units.ts";
import { type event, trail } from "./answers/event.ts";
import { wallTime } from "./answers/fields.ts";
import { describeListed, troubleFor } from "./deliveries.ts";
import { describeRejection } from "./rejected.ts";
import { answer, type Like, route } from "./route.ts";
import type { TroubleWorld } from "./status.ts";

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
