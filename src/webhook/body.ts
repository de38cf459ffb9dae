import type { CallType, Event } from "../model/event.ts";
import { never } from "../model/never.ts";
import { formatTime } from "../model/units.ts";

/** SPEC.md 9.1. */
const BODY_VERSION = 1;

/**
 * The body that a receiver gets for an event (SPEC.md 2.2): compact JSON, with keys in a fixed order. It is built once,
 * stored, signed, and sent as the same bytes at every attempt. Parsing and serialising it gives the same text, because
 * receivers often check the signature that way. Integers beyond 2^53, which JavaScript rounds, need a parser that keeps
 * their digits. Keys without a value are left out.
 */
export function writeBody(event: Event): string {
  return JSON.stringify(bodyOf(event));
}

type Body = { [key: string]: unknown };

/** The same before it is JSON. */
export function bodyOf(event: Event): Readonly<Body> {
  if (event.type === "delete") return notice(event);
  const body = ownFields(event, event.type);
  // The call's other fields, so that nothing that the client sent is lost. A key stays where it first stood, and keeps its default.
  body.anonymousId = event.anonymousId;
  body.messageId = event.messageId;
  body.name = event.name;
  body.category = event.category;
  body.properties ??= event.properties;
  body.traits ??= event.traits;
  body.integrations = event.integrations;
  body.originalTimestamp = event.originalTimestamp;
  body.receivedAt = formatTime(event.receivedAt);
  body.sentAt = event.sentAt;
  body.channel = event.channel;
  return body;
}

/** A delete notification has these three keys and nothing else (SPEC.md 2.2). */
function notice({ type, userId, timestamp }: Event): Body {
  return { type, userId, timestamp };
}

/** The keys that SPEC.md 2.2 lists for each type, with an empty object where the call had none. */
function ownFields(event: Event, type: CallType): Body {
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
