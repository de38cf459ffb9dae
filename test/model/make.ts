import { hash } from "node:crypto";
import fc from "fast-check";
import { CALL_TYPES, type Event, type JsonObject } from "../../src/model/event.ts";

/** When the server received the events of these tests. */
export const RECEIVED_AT = Date.UTC(2026, 10, 20, 12, 0, 0);
const TIME = "2026-11-20T12:00:00.000Z";

/** Text of so many characters that no store can make much smaller: of each seed another, and always the same. */
export function noise(length: number, seed: number | string = 0): string {
  let text = "";
  for (let n = 0; text.length < length; n += 1) text += hash("sha512", `${seed} ${n}`, "base64url");
  return text.slice(0, length);
}

/** An event with only what every event has, and what its type must have. */
export function makeEvent(event: Partial<Event> = {}): Event {
  return {
    type: "track",
    messageId: "m1",
    ownId: false,
    userId: "u1",
    anonymousId: undefined,
    previousId: undefined,
    groupId: undefined,
    event: event.type === undefined || event.type === "track" ? "Signed Up" : undefined,
    name: undefined,
    category: undefined,
    channel: undefined,
    properties: undefined,
    traits: undefined,
    context: undefined,
    integrations: undefined,
    timestamp: TIME,
    originalTimestamp: undefined,
    sentAt: undefined,
    receivedAt: RECEIVED_AT,
    ...event,
  };
}

/** Text of any UTF-16 units, halves of pairs included, and often of what has a meaning somewhere. */
export const anyText = fc.oneof(
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)), maxLength: 20 }),
  fc.constantFrom("", "__proto__", "constructor", "toJSON", "0", "-1", "\u2028", '"', "\\", "\ud800", "🙂", "1e999"),
);

/**
 * V8 15.0, which Deno 2.9 runs on, reads a key of one escaped character as a backslash once it has met such an object.
 * That is not ours to mend, and would fail on Deno what holds for what was read.
 */
const MISREAD = /"\\(?:[^u]|u[0-9a-f]{4})":/;

/** A JSON object as a parser gives it: keys such as `__proto__` are data. */
export const anyObject: fc.Arbitrary<JsonObject> = fc
  .array(fc.tuple(anyText, fc.oneof(fc.jsonValue({ maxDepth: 3 }), anyText)), { maxLength: 6 })
  .map((pairs) => pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`))
  .map((members) => `{${members.join(",")}}`)
  .filter((text) => !MISREAD.test(text))
  .map((text) => JSON.parse(text));

const maybeText = fc.option(anyText, { nil: undefined });
const maybeObject = fc.option(anyObject, { nil: undefined });
const maybeTime = fc.constantFrom(undefined, TIME);

export const anyEvent: fc.Arbitrary<Event> = fc.record({
  type: fc.constantFrom(...CALL_TYPES, "delete" as const),
  messageId: anyText,
  ownId: fc.boolean(),
  userId: maybeText,
  anonymousId: maybeText,
  previousId: maybeText,
  groupId: maybeText,
  event: maybeText,
  name: maybeText,
  category: maybeText,
  channel: maybeText,
  properties: maybeObject,
  traits: maybeObject,
  context: maybeObject,
  integrations: maybeObject,
  timestamp: fc.constant(TIME),
  originalTimestamp: maybeTime,
  sentAt: maybeTime,
  receivedAt: fc.constant(RECEIVED_AT),
});
