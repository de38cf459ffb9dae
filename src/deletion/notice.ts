import type { Deletion, Unnoticed } from "../model/deletion.ts";
import type { Event } from "../model/event.ts";
import { formatTime } from "../model/units.ts";

/**
 * The notification that a user is to be deleted (SPEC.md 6). Its messageId is the same whenever it is made: it begins as all
 * ids of this server do, with the time, so that they sort as they came.
 */
export function makeNotice({ nth, userId }: Unnoticed, source: string, { id, sources, requestedAt }: Deletion): Event {
  const place = `${toHex(nth)}${toHex(sources.indexOf(source))}`;
  return {
    type: "delete",
    messageId: `${id.replace(/^del-/, "delete-")}${place}`,
    ownId: true,
    userId,
    anonymousId: undefined,
    previousId: undefined,
    groupId: undefined,
    event: undefined,
    name: undefined,
    category: undefined,
    channel: undefined,
    properties: undefined,
    traits: undefined,
    context: undefined,
    integrations: undefined,
    timestamp: formatTime(requestedAt),
    originalTimestamp: undefined,
    sentAt: undefined,
    receivedAt: requestedAt,
  };
}

/** In four digits: a request has a thousand users at most. */
function toHex(nth: number): string {
  return nth.toString(16).padStart(4, "0");
}
