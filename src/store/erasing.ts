/** Which events are about users who are deleted, and what is left of an event that was erased. */
import type { TheirEvents } from "../model/deletion.ts";
import type { ListedDelivery } from "../model/lookup.ts";
import { specifiedBody } from "../model/payload.ts";
import { type About, checksum, packBodies } from "./segment.ts";

/** What a request erases. `prefix`: of the messageIds of its own notices. */
export type EraseWish = { readonly of: TheirEvents; readonly prefix: string };

/** The messageIds of a request's notices begin like this (`deletion/request.ts`). */
export function noticePrefix(id: string): string {
  return id.replace(/^del-/, "delete-");
}

type Event = Pick<ListedDelivery, "source" | "type" | "userId">;

/** Whether an event must be erased. `body` is read only if nothing else decides. */
export function isToErase(
  event: Event & Pick<ListedDelivery, "id" | "messageId">,
  body: () => string,
  { of, prefix }: EraseWish,
): boolean {
  if (isErased(event.messageId)) return false;
  return event.messageId.startsWith(prefix) || (event.id <= of.upTo && theirsIn(event, body, of) !== null);
}

/** The indexes of a segment's events that must be erased. `bodies` is called if one is needed. */
export function findToErase(
  first: number,
  about: readonly About[],
  { bodies, wish }: { readonly bodies: () => readonly string[]; readonly wish: EraseWish },
): readonly number[] {
  return about.flatMap(([source, type, messageId, userId], nth) => {
    const event = { id: first + nth, source, type, messageId, userId };
    return isToErase(event, () => bodies()[nth] ?? "{}", wish) ? [nth] : [];
  });
}

/**
 * Which of these users an event is about, whose delivery waits; null if none, or if it is a deletion notice: receivers are to
 * get those.
 */
export function whoseWaits(
  event: Event & Pick<ListedDelivery, "id">,
  body: () => string,
  of: TheirEvents,
): string | null {
  return event.type === "delete" || event.id > of.upTo ? null : theirsIn(event, body, of);
}

/** The previous id of an alias is in its body only. */
function theirsIn(
  { source, type, userId }: Event,
  body: () => string,
  { users, sources }: Omit<TheirEvents, "upTo">,
): string | null {
  if (sources !== null && !sources.includes(source)) return null;
  if (userId !== null && users.has(userId)) return userId;
  if (type !== "alias") return null;
  const previous = previousIn(body());
  return previous !== null && users.has(previous) ? previous : null;
}

export function previousIn(body: string): string | null {
  const previous: unknown = JSON.parse(specifiedBody(body))["Previous ID"];
  return typeof previous === "string" ? previous : null;
}

type Contents = { readonly about: readonly About[]; readonly bodies: readonly string[] };
type Packed = { readonly about: string; readonly bodies: string | Buffer; readonly sum: number };

/** A segment as it is stored once these of its events, by their index, are erased. */
export function packWithout({ about, bodies }: Contents, erased: ReadonlySet<number>): Packed {
  const left = JSON.stringify(about.map((one, nth) => (erased.has(nth) ? erasedAbout(one) : one)));
  const packed = packBodies(bodies.map((body, nth) => (erased.has(nth) ? erasedBody(about[nth]) : body)));
  return { about: left, bodies: packed, sum: checksum(left, packed) };
}

/** What stays in `about` of an erased event: its source, its type, and who did not get it. */
function erasedAbout([source, type, , , skipped]: About): About {
  return skipped !== undefined ? [source, type, ERASED, null, skipped] : [source, type, ERASED, null];
}

/** JSON like any other body, for people who read the table. */
function erasedBody(about: About | undefined): string {
  return JSON.stringify({ type: about?.[1], erased: true });
}

/** No event has an empty messageId: calls without one get one. */
const ERASED = "";

export function isErased(messageId: string): boolean {
  return messageId === ERASED;
}
