import type { SkipRule } from "./rules.ts";
import { type At, formatTime } from "./units.ts";

/** The six calls that programs and pages make (SPEC.md 1.1). */
export const CALL_TYPES = ["identify", "track", "page", "screen", "group", "alias"] as const;
export type CallType = (typeof CALL_TYPES)[number];

/** What is sent to a receiver: a call, or a delete notification (SPEC.md 6). */
export type EventType = CallType | "delete";

/** A JSON object as the client sent it. It is checked, passed on and serialised, never rebuilt. */
export type JsonObject = { readonly [key: string]: unknown };

/**
 * One valid call from any entry point. Ids are strings, times are ISO 8601 with milliseconds and `Z`. Every key is always
 * present, so that all events have one shape.
 */
export type Event = {
  readonly type: EventType;
  /** Identifies the event for its receivers, and recognises repeats. */
  readonly messageId: string;
  /** True if this server chose the messageId: such an event cannot be a repeat. */
  readonly ownId: boolean;
  readonly userId: string | undefined;
  readonly anonymousId: string | undefined;
  readonly previousId: string | undefined;
  readonly groupId: string | undefined;
  readonly event: string | undefined;
  readonly name: string | undefined;
  readonly category: string | undefined;
  readonly channel: string | undefined;
  readonly properties: JsonObject | undefined;
  readonly traits: JsonObject | undefined;
  readonly context: JsonObject | undefined;
  readonly integrations: JsonObject | undefined;
  /** When it happened, corrected for the client's clock. */
  readonly timestamp: string;
  /** When it happened, as the client said. */
  readonly originalTimestamp: string | undefined;
  readonly sentAt: string | undefined;
  /** When this server received it (wall clock). */
  readonly receivedAt: At;
};

/** The fields of an event that this server creates. `at`: by the wall clock. */
export type OwnWords = Pick<Event, "type" | "messageId" | "userId"> &
  Partial<Pick<Event, "event" | "properties" | "traits" | "context">> & { readonly at: At };

/** An event that this server creates. */
export function ownEvent({ type, messageId, userId, event, properties, traits, context, at }: OwnWords): Event {
  return {
    type,
    messageId,
    ownId: true,
    userId,
    anonymousId: undefined,
    previousId: undefined,
    groupId: undefined,
    event,
    name: undefined,
    category: undefined,
    channel: undefined,
    properties,
    traits,
    context,
    integrations: undefined,
    timestamp: formatTime(at),
    originalTimestamp: undefined,
    sentAt: undefined,
    receivedAt: at,
  };
}

export type Skip = { readonly destination: string; readonly rule: SkipRule };

/** What routing decides about an event: the names of the destinations that get it, and why the others do not. */
export type Routed = { readonly deliverTo: readonly string[]; readonly skipped: readonly Skip[] };

/** What routing would decide about an example call for one destination. */
export type Preview = {
  readonly destination: string;
  readonly gets: boolean;
  /** The rule that excludes it; null if it gets the call. */
  readonly rule: SkipRule | null;
  /** The reason as text, with what was found in the call. */
  readonly why: string;
  /** The payload that it would get by its template; null if it has none, or does not get the call. */
  readonly body: string | null;
};
