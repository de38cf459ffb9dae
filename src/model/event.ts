import type { At } from "./units.ts";

/** The six calls that programs and pages make (SPEC.md 1.1). */
export const CALL_TYPES = ["identify", "track", "page", "screen", "group", "alias"] as const;
export type CallType = (typeof CALL_TYPES)[number];

/** What goes out to a receiver: a call, or the notice that a user is to be deleted (SPEC.md 6). */
export type EventType = CallType | "delete";

/** A JSON object as the client sent it. It is checked, carried and written out again, never rebuilt. */
export type JsonObject = { readonly [key: string]: unknown };

/** One valid call, whatever its way in: ids are strings, times are ISO 8601 with milliseconds and `Z`. */
export type Event = {
  readonly type: EventType;
  /** Names the event to its receivers, and recognises a repeat. */
  readonly messageId: string;
  /** True if this server chose the messageId: such an event cannot be a repeat. */
  readonly ownId: boolean;
  readonly userId?: string;
  readonly anonymousId?: string;
  readonly previousId?: string;
  readonly groupId?: string;
  readonly event?: string;
  readonly name?: string;
  readonly category?: string;
  readonly channel?: string;
  readonly properties?: JsonObject;
  readonly traits?: JsonObject;
  readonly context?: JsonObject;
  readonly integrations?: JsonObject;
  /** When it happened, corrected for the client's clock. */
  readonly timestamp: string;
  /** When it happened, as the client said. */
  readonly originalTimestamp?: string;
  readonly sentAt?: string;
  /** When this server received it (wall clock). */
  readonly receivedAt: At;
};
