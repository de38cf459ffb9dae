import type { CallType, JsonObject } from "../../model/event.ts";

/**
 * The seven bodies that a receiver gets (SPEC.md 2.2), told apart by `type`. What is inside of `properties`, `traits` and
 * `context` is what programs have sent: check it before you rely on it.
 */
export type ReceivedCall =
  | ReceivedPage
  | ReceivedScreen
  | ReceivedIdentify
  | ReceivedTrack
  | ReceivedAlias
  | ReceivedGroup
  | ReceivedDelete;

export type ReceivedPage = Common<"page"> & OfUser & { readonly properties: JsonObject };

export type ReceivedScreen = Common<"screen"> & OfUser;

export type ReceivedIdentify = Common<"identify"> & OfUser & { readonly traits: JsonObject };

export type ReceivedTrack = Common<"track"> & OfUser & { readonly event: string; readonly properties: JsonObject };

export type ReceivedAlias = Common<"alias"> & { readonly "Previous ID": string; readonly "User ID": string };

export type ReceivedGroup = Common<"group"> & OfUser & { readonly groupId: string; readonly traits: JsonObject };

/** This user wants to be forgotten. */
export type ReceivedDelete = { readonly type: "delete"; readonly userId: string; readonly timestamp: string };

/** Absent on calls of anonymous users. */
type OfUser = { readonly userId?: string };

/** Times are ISO 8601 with milliseconds and `Z`. What the call did not have is absent. */
type Common<Type extends CallType> = {
  readonly version: 1;
  readonly type: Type;
  /** When it happened. */
  readonly timestamp: string;
  readonly context: JsonObject;
  /** The same each time that this call is delivered. */
  readonly messageId: string;
  readonly anonymousId?: string;
  readonly name?: string;
  readonly category?: string;
  readonly properties?: JsonObject;
  readonly traits?: JsonObject;
  readonly integrations?: JsonObject;
  /** When it happened, as the client's clock had it. */
  readonly originalTimestamp?: string;
  /** When Fairlead received it. */
  readonly receivedAt: string;
  readonly sentAt?: string;
  readonly channel?: string;
};

/**
 * The same text each time that a call is delivered, and another one for each other call: what a receiver remembers to
 * recognise one that comes twice.
 */
export function callKey(call: ReceivedCall): string {
  // A client's messageId may be any text. With the type before it, none can pass for a deletion.
  return call.type === "delete" ? `delete:${call.timestamp}:${call.userId}` : `${call.type}:${call.messageId}`;
}
