import type { CallType, JsonObject } from "../../model/event.ts";
import { readObject } from "../input.ts";

/** The options of `fairlead send` that describe a call. */
export type CallOptions = { readonly [Name in keyof typeof FIELDS]?: string };

export type CallParts = {
  readonly options: CallOptions;
  /** A whole call, whose fields the options replace, and its source. */
  readonly data: { readonly text: string; readonly from: string } | null;
  /** Creates a messageId for a call without one, so that the call can be looked up. */
  readonly newId: () => string;
};

/** The userId of default calls. */
export const TEST_USER = "fairlead-test";

/** Defaults for the required fields of each call, besides the user. */
export const TEST_CALLS = {
  identify: {},
  track: { event: "Test Event" },
  page: { name: "Test Page" },
  screen: { name: "Test Screen" },
  group: { groupId: "fairlead-test-group" },
  alias: { previousId: "fairlead-test-before" },
} as const satisfies Readonly<Record<CallType, JsonObject>>;

type Field = {
  readonly option: string;
  /** Its key in the call. */
  readonly key: string;
  readonly json?: boolean;
  /** The calls that have it; all six when left out. */
  readonly of?: readonly CallType[];
};

const FIELDS = {
  user: { option: "--user", key: "userId" },
  anonymous: { option: "--anonymous", key: "anonymousId", of: ["identify", "track", "page", "screen", "group"] },
  previous: { option: "--previous", key: "previousId", of: ["alias"] },
  group: { option: "--group", key: "groupId", of: ["group"] },
  event: { option: "--event", key: "event", of: ["track"] },
  name: { option: "--name", key: "name", of: ["page", "screen"] },
  category: { option: "--category", key: "category", of: ["page", "screen"] },
  properties: { option: "--properties", key: "properties", json: true, of: ["track", "page", "screen"] },
  traits: { option: "--traits", key: "traits", json: true, of: ["identify", "group"] },
  context: { option: "--context", key: "context", json: true },
  integrations: { option: "--integrations", key: "integrations", json: true },
  timestamp: { option: "--timestamp", key: "timestamp" },
  messageId: { option: "--message-id", key: "messageId" },
} as const satisfies Readonly<Record<string, Field>>;

/**
 * Builds the call (SPEC.md 2.3). Missing fields get defaults, except in a call that was given whole: the daemon should judge
 * that one. An error in the options is returned as text.
 */
export function buildCall(type: CallType, { options, data, newId }: CallParts): JsonObject | string {
  const given = readOptions(type, options);
  if (typeof given === "string") return given;
  const whole = data === null ? defaults(type, given) : readWhole(type, data);
  if (typeof whole === "string") return whole;
  const call: JsonObject = { ...whole, ...given };
  const { messageId } = call;
  return {
    ...call,
    messageId: messageId === undefined || messageId === null || messageId === "" ? newId() : messageId,
  };
}

/** The first option that describes a single call; undefined if there is none. */
export function optionOfOneCall(options: CallOptions & { readonly data?: string }): string | undefined {
  if (options.data !== undefined) return "--data";
  return Object.entries(FIELDS).find(([name]) => options[name as keyof CallOptions] !== undefined)?.[1].option;
}

function readOptions(type: CallType, options: CallOptions): JsonObject | string {
  const given: Record<string, unknown> = {};
  for (const [name, field] of Object.entries<Field>(FIELDS)) {
    const text = options[name as keyof CallOptions];
    if (text === undefined) continue;
    if (field.of && !field.of.includes(type)) return misplaced(type, field.option, field.of);
    const value = field.json ? readObject(text, field.option) : text;
    // An error message.
    if (field.json && typeof value === "string") return value;
    given[field.key] = value;
  }
  return given;
}

function misplaced(type: CallType, option: string, of: readonly CallType[]): string {
  return `${option} is for ${of.join(", ")}, not for ${type}`;
}

function defaults(type: CallType, given: JsonObject): JsonObject {
  return given.anonymousId !== undefined ? TEST_CALLS[type] : { userId: TEST_USER, ...TEST_CALLS[type] };
}

function readWhole(type: CallType, { text, from }: { text: string; from: string }): JsonObject | string {
  const call = readObject(text, from);
  if (typeof call === "string" || call.type === undefined || call.type === type) return call;
  return `${from} has a call of type ${JSON.stringify(call.type)}, not ${type}`;
}
