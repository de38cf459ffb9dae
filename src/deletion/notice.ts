import type { Deletion, Unnoticed } from "../model/deletion.ts";
import { type Event, ownEvent } from "../model/event.ts";

/**
 * The notification that a user is to be deleted (SPEC.md 6). Its messageId is the same whenever it is made: it begins as all
 * ids of this server do, with the time, so that they sort as they came.
 */
export function makeNotice({ nth, userId }: Unnoticed, source: string, { id, sources, requestedAt }: Deletion): Event {
  const place = `${toHex(nth)}${toHex(sources.indexOf(source))}`;
  const messageId = `${id.replace(/^del-/, "delete-")}${place}`;
  return ownEvent({ type: "delete", messageId, userId, at: requestedAt });
}

/** In four digits: a request has a thousand users at most. */
function toHex(nth: number): string {
  return nth.toString(16).padStart(4, "0");
}
