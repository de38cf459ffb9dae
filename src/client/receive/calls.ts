import type { CallType, JsonObject } from "../../model/event.ts";
import { kindOf } from "../show.ts";

/**
 * The seven bodies that a receiver gets (SPEC.md 2.2), told apart by `type`. The content of `properties`, `traits` and
 * `context` comes from programs: check it before you rely on it.
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

/** Asks the receiver to delete this user's data. */
export type ReceivedDelete = { readonly type: "delete"; readonly userId: string; readonly timestamp: string };

/** Absent on calls of anonymous users. */
type OfUser = { readonly userId?: string };

/** Times are ISO 8601 with milliseconds and `Z`. Fields that the call did not have are absent. */
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
  /** When it happened by the client's clock. */
  readonly originalTimestamp?: string;
  /** When Fairlead received it. */
  readonly receivedAt: string;
  readonly sentAt?: string;
  readonly channel?: string;
};

/**
 * A text that is the same each time that a call is delivered, and differs from that of any other call. By it a receiver
 * recognises a call that comes twice.
 */
export function callKey(call: ReceivedCall): string {
  // A messageId may be any text. With the type before it, none can look like a deletion.
  return call.type === "delete" ? `delete:${call.timestamp}:${call.userId}` : `${call.type}:${call.messageId}`;
}

export type Parsed =
  | { readonly kind: "call"; readonly call: ReceivedCall }
  /** What is wrong. Names the key and shows no value. */
  | { readonly kind: "malformed"; readonly message: string };

/**
 * Reads a body whose signature was verified, and checks that it has the shape of one of the seven (SPEC.md 2.2). Unknown
 * keys stay. Never throws.
 */
export function parseCall(body: string | Uint8Array): Parsed {
  const value = parseJson(body);
  if (value === undefined) return malformed("the body is not JSON");
  if (!isObject(value)) return malformed(`the body must be an object (got ${kindOf(value)})`);
  if (!isKnown(value.type)) return malformed("type is not one of the seven types of webhook");
  const shape: Readonly<Record<string, Check>> = SHAPES[value.type];
  for (const [key, check] of Object.entries(shape)) {
    const got = Object.hasOwn(value, key) ? value[key] : undefined;
    const { wanted, fits } = CHECKS[check];
    if (!fits(got)) return malformed(`${key} must be ${wanted} (got ${kindOf(got)})`);
  }
  return { kind: "call", call: value as unknown as ReceivedCall };
}

const CHECKS = {
  version: { wanted: "1", fits: (value: unknown) => value === 1 },
  text: { wanted: "a string", fits: isText },
  object: { wanted: "an object", fits: isObject },
  "text?": { wanted: "a string", fits: (value: unknown) => value === undefined || isText(value) },
  "object?": { wanted: "an object", fits: (value: unknown) => value === undefined || isObject(value) },
} as const;

type Check = keyof typeof CHECKS;

const COMMON = {
  version: "version",
  type: "text",
  timestamp: "text",
  context: "object",
  messageId: "text",
  anonymousId: "text?",
  name: "text?",
  category: "text?",
  properties: "object?",
  traits: "object?",
  integrations: "object?",
  originalTimestamp: "text?",
  receivedAt: "text",
  sentAt: "text?",
  channel: "text?",
} as const;

/** Every key of each type, and no other: a key that is missing here does not compile. */
const SHAPES = {
  page: { ...COMMON, userId: "text?", properties: "object" },
  screen: { ...COMMON, userId: "text?" },
  identify: { ...COMMON, userId: "text?", traits: "object" },
  track: { ...COMMON, userId: "text?", event: "text", properties: "object" },
  alias: { ...COMMON, "Previous ID": "text", "User ID": "text" },
  group: { ...COMMON, userId: "text?", groupId: "text", traits: "object" },
  delete: { type: "text", userId: "text", timestamp: "text" },
} as const satisfies {
  readonly [Type in ReceivedCall["type"]]: ShapeOf<Extract<ReceivedCall, { type: Type }>>;
};

type ShapeOf<Call> = { readonly [Key in keyof Call]-?: CheckOf<Call, Key> };

/** The only check that fits the type of a key. */
type CheckOf<Call, Key extends keyof Call> = Key extends "version"
  ? Key
  : `${Extract<Call[Key], string> extends never ? "object" : "text"}${undefined extends Call[Key] ? "?" : ""}`;

function isKnown(type: unknown): type is keyof typeof SHAPES {
  return typeof type === "string" && Object.hasOwn(SHAPES, type);
}

/** Undefined if it is no JSON. */
function parseJson(body: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof body === "string" ? body : new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function malformed(message: string): Parsed {
  return { kind: "malformed", message };
}
