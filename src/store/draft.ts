import type { Delivery, DeliveryRef, FinalAnswer } from "../model/delivery.ts";
import type { Skip } from "../model/event.ts";
import type { Entry } from "../model/ports.ts";
import type { At } from "../model/units.ts";
import { type About, MOST_EVENTS, storeSkips } from "./segment.ts";

/** Characters of bodies at which a new segment is begun. */
const MOST_BODIES = 256 * 1_024;

/** A segment that a transaction will write. */
export type Draft = {
  readonly first: number;
  readonly acceptedAt: At;
  readonly about: About[];
  readonly bodies: string[];
  /** Of all bodies, in characters. */
  size: number;
  /** By destination: the indexes of its events, from 0. */
  readonly routed: Map<string, number[]>;
  /** Lists of skips: the index of the first event that has it. */
  readonly skips: Map<readonly Skip[], number>;
};

export function newDraft(first: number, acceptedAt: At): Draft {
  return { first, acceptedAt, about: [], bodies: [], size: 0, routed: new Map(), skips: new Map() };
}

/** Whether another event fits. */
export function hasRoom({ bodies, size }: Draft): boolean {
  return bodies.length < MOST_EVENTS && size < MOST_BODIES;
}

/** Adds the event. Answers its number. */
export function addTo(draft: Draft, entry: Entry): number {
  const { first, about, bodies, routed } = draft;
  const index = bodies.length;
  about.push(aboutOf(entry, draft));
  bodies.push(entry.body);
  draft.size += entry.body.length;
  for (const destination of entry.deliverTo) note(routed, destination, index);
  return first + index;
}

/** Events of one source and type have the same list of skips, and hundreds of destinations make it long: it is stored once. */
function aboutOf({ source, event, skipped }: Entry, { skips, bodies }: Draft): About {
  const { type, messageId, userId = null } = event;
  if (skipped.length === 0) return [source, type, messageId, userId];
  const same = skips.get(skipped);
  if (same === undefined) skips.set(skipped, bodies.length);
  return [source, type, messageId, userId, same ?? storeSkips(skipped)];
}

function note(routed: Map<string, number[]>, destination: string, index: number): void {
  const indexes = routed.get(destination);
  if (indexes) indexes.push(index);
  else routed.set(destination, [index]);
}

const NOWHERE: readonly Delivery[] = [];

/** Where an event is. */
export type Spot = { readonly id: number; readonly ref: DeliveryRef; readonly acceptedAt: At };

/** The deliveries of an event that was just accepted. */
export function deliveriesOf(
  { source, event, body, deliverTo }: Entry,
  { id, ref, acceptedAt }: Spot,
): readonly Delivery[] {
  if (deliverTo.length === 0) return NOWHERE;
  const { messageId, type } = event;
  return deliverTo.map((destination) => untried({ id, destination, ref, source, messageId, type, body, acceptedAt }));
}

const NO_FINALS: readonly FinalAnswer[] = [];

/** A delivery before its first attempt. */
export type Untried = Pick<
  Delivery,
  "id" | "destination" | "ref" | "source" | "messageId" | "type" | "body" | "acceptedAt"
>;

/** A delivery before its first attempt, which has been due since it was accepted. */
export function untried({ id, destination, ref, source, messageId, type, body, acceptedAt }: Untried): Delivery {
  return {
    id,
    destination,
    ref,
    source,
    messageId,
    type,
    body,
    acceptedAt,
    attempts: 0,
    firstAttemptAt: null,
    attemptedAt: null,
    replayedAt: null,
    stoodStill: 0,
    dueAt: acceptedAt,
    finals: NO_FINALS,
  };
}
