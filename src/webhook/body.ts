import type { CallType, Event } from "../model/event.ts";
import { never } from "../model/never.ts";
import { formatTime } from "../model/units.ts";

/** SPEC.md 9.1. */
const BODY_VERSION = 1;

/**
 * Writes the body that receivers get for an event (SPEC.md 2.2): compact JSON, in the documented key order. It is written
 * once, then stored, signed and sent as the same bytes at every attempt. Parsing and writing it again gives the same
 * text, because receivers commonly check the signature that way (with all digits of its integers, which JavaScript's own
 * parser rounds beyond 2^53). A key without a value is left out.
 */
export function writeBody(event: Event): string {
  if (event.type === "delete") return JSON.stringify(notice(event));
  const own = ownFields(event, event.type);
  // A key keeps its first position. The second `own` restores the defaults that the other fields have overwritten.
  return JSON.stringify({ ...own, ...otherFields(event), ...own });
}

/** A delete notification has these three keys and nothing else (SPEC.md 2.2). */
function notice({ type, userId, timestamp }: Event): object {
  return { type, userId, timestamp };
}

/** The fields that SPEC.md 2.2 lists for each type, with an empty object where the call had none. */
function ownFields(event: Event, type: CallType): object {
  const { userId, name, properties = {}, traits = {}, timestamp, context = {} } = event;
  const version = BODY_VERSION;
  switch (type) {
    case "page":
      return { version, type, userId, properties, timestamp, context };
    case "screen":
      return { version, type, userId, name, timestamp, context };
    case "identify":
      return { version, type, userId, traits, timestamp, context };
    case "track":
      return { version, type, userId, event: event.event, properties, timestamp, context };
    case "alias":
      return { version, type, "Previous ID": event.previousId, "User ID": userId, timestamp, context };
    case "group":
      return { version, type, groupId: event.groupId, userId, traits, timestamp, context };
    default:
      return never(type);
  }
}

/** The fields beyond those of the type: nothing that the client sent is lost. */
function otherFields(event: Event): object {
  return {
    anonymousId: event.anonymousId,
    messageId: event.messageId,
    name: event.name,
    category: event.category,
    properties: event.properties,
    traits: event.traits,
    integrations: event.integrations,
    originalTimestamp: event.originalTimestamp,
    receivedAt: formatTime(event.receivedAt),
    sentAt: event.sentAt,
    channel: event.channel,
  };
}
