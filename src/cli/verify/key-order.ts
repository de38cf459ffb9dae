import { CALL_TYPES, type Event, type EventType } from "../../model/event.ts";
import { writeBody } from "../../webhook/body.ts";

/**
 * The same JSON with its keys in the order in which Fairlead writes them; those inside of its values stay, as theirs is
 * the client's. Null if they are in that order, and if it is no body of Fairlead's at all.
 */
export function inWrittenOrder(value: unknown): string | null {
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : null;
  const known = TYPES.find((one) => one === type);
  if (known === undefined) return null;
  const order = Object.keys(JSON.parse(writeBody(fullEvent(known))));
  const rank = ([name]: Entry): number => (order.includes(name) ? order.indexOf(name) : order.length);
  const entries: readonly Entry[] = Object.entries(Object(value));
  const ordered = entries.toSorted((one, other) => rank(one) - rank(other));
  return ordered.every((entry, index) => entry === entries[index]) ? null : JSON.stringify(Object.fromEntries(ordered));
}

type Entry = readonly [name: string, value: unknown];

const TYPES: readonly EventType[] = [...CALL_TYPES, "delete"];

/** An event that has all that one can have, so that its body has every key. */
function fullEvent(type: EventType): Event {
  const ids = { messageId: "-", ownId: false, userId: "-", anonymousId: "-", previousId: "-", groupId: "-" };
  const words = { event: "-", name: "-", category: "-", channel: "-" };
  const objects = { properties: {}, traits: {}, context: {}, integrations: {} };
  return { type, ...ids, ...words, ...objects, timestamp: "-", originalTimestamp: "-", sentAt: "-", receivedAt: 0 };
}
