import type { CallType } from "../model/event.ts";
import { InvalidCallError } from "./errors.ts";
import { readId, readObject, readText } from "./fields.ts";
import { showCauses } from "./show.ts";
import { readTimestamp } from "./timestamp.ts";

/** A call as JSON. `ownTime`: its caller said when it happened. */
export type Written = { readonly messageId: string; readonly text: string; readonly ownTime: boolean };

export type WriteWorld = { wall(): number; uuid(): string };

type Fields = { readonly [name: string]: unknown };

/** The daemon's bound. */
const MAX_MESSAGE_ID = 100;

/**
 * Checks a call and writes it down as it goes out (SPEC.md 2.3). Dates become ISO 8601; else all is as JSON.stringify
 * writes it. Throws an InvalidCallError.
 */
export function write(type: CallType, call: unknown, world: WriteWorld): Written {
  const given = readObject({ [type]: call }, type);
  if (!given) throw new InvalidCallError("invalid_call", `${type} needs an object, as { userId: "user-42" }`);
  const own = OWN_FIELDS[type](given);
  checkRequired(type, own);
  const messageId = readMessageId(given) ?? world.uuid();
  const timestamp = readTimestamp(given);
  const fields = {
    type,
    messageId,
    timestamp: timestamp ?? new Date(world.wall()).toISOString(),
    ...own,
    context: readObject(given, "context"),
    integrations: readObject(given, "integrations"),
  };
  return { messageId, text: stringify(type, fields), ownTime: timestamp !== undefined };
}

/** What each call has beside what all have, in the order in which it is written. */
const OWN_FIELDS: Readonly<Record<CallType, (call: Fields) => Fields>> = {
  identify: (call) => ({ ...who(call), traits: readObject(call, "traits") }),
  track: (call) => ({ ...who(call), event: readText(call, "event"), properties: readObject(call, "properties") }),
  page: (call) => ({ ...who(call), ...view(call), properties: propertiesOfPage(call) }),
  screen: (call) => ({ ...who(call), ...view(call), properties: readObject(call, "properties") }),
  group: (call) => ({ ...who(call), groupId: readId(call, "groupId"), traits: readObject(call, "traits") }),
  alias: (call) => ({ userId: readId(call, "userId"), previousId: readId(call, "previousId") }),
};

function who(call: Fields): Fields {
  return { userId: readId(call, "userId"), anonymousId: readId(call, "anonymousId") };
}

function view(call: Fields): Fields {
  return { category: readText(call, "category"), name: readText(call, "name") };
}

/** The Go client has them as traits, and sends them as properties. */
function propertiesOfPage(call: Fields): Fields | undefined {
  const traits = readObject(call, "traits");
  const properties = readObject(call, "properties");
  return traits && properties ? { ...traits, ...properties } : (properties ?? traits);
}

/** In the order of the Go client, with its sentences. */
function checkRequired(type: CallType, { userId, anonymousId, previousId, groupId, event }: Fields): void {
  if (type === "alias" && !userId) throw new InvalidCallError("missing_id", "You must pass a 'userId'.");
  if (type === "alias" && !previousId) {
    throw new InvalidCallError("missing_previous_id", "You must pass a 'previousId'.");
  }
  if (type === "group" && !groupId) throw new InvalidCallError("missing_group_id", "You must pass a 'groupId'.");
  if (type === "track" && !event) throw new InvalidCallError("missing_event", "You must pass 'event'.");
  if (userId || anonymousId) return;
  throw new InvalidCallError("missing_id", "You must pass either an 'anonymousId' or 'userId'.");
}

function readMessageId(call: Fields): string | undefined {
  const messageId = readText(call, "messageId");
  if (messageId === undefined || messageId.length < MAX_MESSAGE_ID) return messageId;
  throw new InvalidCallError("message_id_too_long", `messageId must be below ${MAX_MESSAGE_ID} characters`);
}

function stringify(type: CallType, fields: Fields): string {
  try {
    return JSON.stringify(fields);
  } catch (cause) {
    const why = `the ${type} call cannot be written as JSON: ${showCauses(cause)}`;
    throw new InvalidCallError("not_serialisable", why, { cause });
  }
}
