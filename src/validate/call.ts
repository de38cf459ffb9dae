import { CALL_TYPES, type CallType, type Event, type JsonObject } from "../model/event.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { At } from "../model/units.ts";
import { type Caller, completeContext } from "./context.ts";
import { checkEnvelope, checkLimits } from "./limits.ts";
import { type Call, isObject, kindOf, mergeUnder, readShape } from "./shape.ts";
import { correctSkew, formatTimestamp, parseTime, type Time } from "./timestamps.ts";

/** SPEC.md sets no limit; every client library stays far below this. */
const MAX_MESSAGE_ID = 100;

/** What a call needs from its request. */
export type Arrival = {
  /** The type in the path, or null if each call names its own. */
  readonly type: CallType | null;
  /** From the envelope of a batch, merged under those of each call. */
  readonly context: JsonObject | null;
  readonly integrations: JsonObject | null;
  readonly sentAt: string | null;
  /** The number of calls in the request. */
  readonly calls: number;
  /** Wall time. */
  readonly receivedAt: At;
  readonly caller: Caller;
  /** The largest call, in bytes. */
  readonly maxCall: number;
  /** Makes a messageId for a call without one. */
  readonly newId: () => string;
};

/** The event of a call, or why it is refused (SPEC.md 2.3, 4.3, 8). */
export function validateCall(raw: unknown, arrival: Arrival): Event | Fault {
  if (!isObject(raw)) return fault("invalid_call", `a call must be a JSON object (got ${kindOf(raw)})`);
  const envelope = checkEnvelope(arrival);
  if (envelope) return envelope;
  const merged = mergeEnvelope(raw, arrival);
  const limit = checkLimits(merged, arrival);
  if (limit) return limit;
  const call = readShape(merged);
  if (isFault(call)) return call;
  const type = arrival.type ?? call.type;
  if (!isCallType(type)) return unknownType(type);
  const absent = missing(type, call);
  if (absent) return absent;
  const times = readTimes(call, arrival);
  if (isFault(times)) return times;
  return assemble(type, call, { arrival, times });
}

function mergeEnvelope(raw: JsonObject, { context, integrations }: Arrival): JsonObject {
  if (context === null && integrations === null) return raw;
  return {
    ...raw,
    context: mergeUnder(context, raw.context),
    integrations: mergeUnder(integrations, raw.integrations),
  };
}

function isCallType(type: string | undefined): type is CallType {
  return CALL_TYPES.some((known) => known === type);
}

function unknownType(type: string | undefined): Fault {
  const got = type === undefined ? "nothing" : JSON.stringify(type.slice(0, 40));
  return fault("unknown_type", `type must be one of ${CALL_TYPES.join(", ")} (got ${got})`);
}

/** The ids that each type needs. The messages are those of the client libraries. */
function missing(type: CallType, call: Call): Fault | null {
  if (type === "alias" && !call.previousId) return fault("missing_previous_id", "You must pass a 'previousId'.");
  if (type === "alias" && !call.userId) return fault("missing_id", "You must pass a 'userId'.");
  if (type === "group" && !call.groupId) return fault("missing_group_id", "You must pass a 'groupId'.");
  if (type === "track" && !call.event) return fault("missing_event", "You must pass 'event'.");
  if (!call.userId && !call.anonymousId) {
    return fault("missing_id", "You must pass either an 'anonymousId' or 'userId'.");
  }
  if ((call.messageId?.length ?? 0) < MAX_MESSAGE_ID) return null;
  return fault("message_id_too_long", `messageId must be shorter than ${MAX_MESSAGE_ID} characters`);
}

type Times = Pick<Event, "timestamp" | "originalTimestamp" | "sentAt" | "receivedAt">;

function readTimes(call: Call, arrival: Arrival): Times | Fault {
  // In a call with both, `timestamp` is from the user and the other is when the call was made.
  const original = readTime(call.timestamp ?? call.originalTimestamp, "timestamp");
  if (isFault(original)) return original;
  const sent = readTime(call.sentAt ?? arrival.sentAt, "sentAt");
  if (isFault(sent)) return sent;
  const at = correctSkew(original?.at ?? null, sent?.at ?? null, arrival.receivedAt);
  return {
    timestamp: at === original?.at ? original.text : formatTimestamp(at),
    originalTimestamp: original?.text,
    sentAt: sent?.text,
    receivedAt: arrival.receivedAt,
  };
}

function readTime(text: string | null | undefined, field: string): Time | null | Fault {
  if (text === undefined || text === null) return null;
  const time = parseTime(text);
  if (time !== null) return time;
  const got = JSON.stringify(text.slice(0, 40));
  return fault("invalid_timestamp", `${field} must be an ISO 8601 time such as 2009-11-10T23:00:00.000Z (got ${got})`);
}

function assemble(type: CallType, call: Call, { arrival, times }: { arrival: Arrival; times: Times }): Event {
  const page = type === "page";
  return {
    type,
    messageId: call.messageId ?? arrival.newId(),
    ownId: call.messageId === undefined,
    userId: call.userId,
    anonymousId: call.anonymousId,
    previousId: call.previousId,
    groupId: call.groupId,
    event: call.event,
    name: call.name,
    category: call.category,
    channel: call.channel,
    // The Go client sends a page's traits as its properties; other clients may send both.
    properties: page && call.traits ? mergeUnder(call.traits, call.properties) : call.properties,
    traits: page ? undefined : (call.traits ?? traitsInContext(type, call)),
    context: completeContext(call, arrival.caller),
    integrations: call.integrations,
    timestamp: times.timestamp,
    originalTimestamp: times.originalTimestamp,
    sentAt: times.sentAt,
    receivedAt: times.receivedAt,
  };
}

/** Some RudderStack clients put the traits of an identify call only into its context. */
function traitsInContext(type: CallType, { context }: Call): JsonObject | undefined {
  const traits = type === "identify" ? context?.traits : undefined;
  return isObject(traits) ? traits : undefined;
}
