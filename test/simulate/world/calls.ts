import { createHmac } from "node:crypto";
import { type At, DAY, MINUTE } from "../../../src/model/units.ts";
import { createChance } from "../random.ts";
import { ALL_TYPES, type DestinationName, type DestinationShape, type Shape, type SourceName } from "./shape.ts";

/**
 * What programs send, and what every receiver should get for it. The expectation is written from the manual, and shares no
 * code with the daemon: two people who misread it in the same way would be needed for a wrong body to pass.
 */

type Call = Readonly<Record<string, unknown>> & { readonly type: string; readonly messageId: string };

export const USERS = ["ann", "bob", "cy", "dee", "eve"] as const;
/** Who may be in an audience. */
export const PEOPLE = [...USERS, "fay", "gus", "hal", "ivy", "jon", "kim", "lee"] as const;

/**
 * The nth call: the same number is the same call, so that it can be sent again. Only in which step it was is another, by which
 * one can tell what was stored and what was a repeat of it.
 */
export function callOf(
  source: SourceName,
  n: number,
  { wall, step }: { readonly wall: At; readonly step: number },
): Call {
  const chance = createChance(n * 2_654_435_761 + 17);
  const type = chance.pick(ALL_TYPES);
  const user = chance.pick(USERS);
  const content = { from: source, n, step, text: noise(sizeOf(chance), n) };
  const age = chance.pick([null, null, null, null, MINUTE, 2 * DAY]);
  return {
    type,
    messageId: `m${n}`,
    ...(type === "alias" ? { previousId: `anonymous-${user}` } : {}),
    ...(type === "group" ? { groupId: "g1" } : {}),
    ...(type === "track" ? { event: `Event ${n % 7}` } : {}),
    ...(type === "screen" ? { name: "Home" } : {}),
    ...(chance.happens(0.9) || type === "alias" ? { userId: user } : { anonymousId: `anonymous-${user}` }),
    ...(type === "identify" || type === "group" ? { traits: content } : { properties: content }),
    ...(chance.happens(0.3) ? { context: { locale: "de", app: { name: "ü 🚀" } } } : {}),
    ...(chance.happens(0.2) ? { integrations: chance.pick(INTEGRATIONS) } : {}),
    ...(age === null ? {} : { timestamp: stamp(wall - age) }),
    ...(age !== null && chance.happens(0.5) ? { sentAt: stamp(wall - age / 2) } : {}),
  };
}

const INTEGRATIONS = [{ All: false }, { All: false, crm: true }, { crm: false }, { Webhooks: false, mail: { a: 1 } }];

function sizeOf(chance: ReturnType<typeof createChance>): number {
  if (chance.happens(0.04)) return 20_000;
  return chance.happens(0.15) ? 4_000 : chance.below(200);
}

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

/** Text that does not get shorter when it is compressed. */
function noise(length: number, seed: number): string {
  const chance = createChance(seed);
  let text = "";
  while (text.length < length) {
    let bits = Math.floor(chance.fraction() * 2 ** 30);
    for (let nth = 0; nth < 5; nth += 1) {
      text += LETTERS[bits & 63];
      bits >>>= 6;
    }
  }
  return text.slice(0, length);
}

/** The keys of each type in their order, and what stands in them. */
const FIRST_KEYS: Readonly<Record<string, readonly string[]>> = {
  page: ["version", "type", "userId", "properties", "timestamp", "context"],
  screen: ["version", "type", "userId", "name", "timestamp", "context"],
  identify: ["version", "type", "userId", "traits", "timestamp", "context"],
  track: ["version", "type", "userId", "event", "properties", "timestamp", "context"],
  alias: ["version", "type", "Previous ID", "User ID", "timestamp", "context"],
  group: ["version", "type", "groupId", "userId", "traits", "timestamp", "context"],
};
const LATER_KEYS =
  "anonymousId messageId name category properties traits integrations originalTimestamp receivedAt sentAt";

function expectedBody(call: Call, source: SourceName, wall: At): string {
  const first = FIRST_KEYS[call.type] ?? [];
  const keys = [...first, ...LATER_KEYS.split(" ").filter((key) => !first.includes(key))];
  const values: Record<string, unknown> = {
    ...call,
    version: 1,
    "Previous ID": call.previousId,
    "User ID": call.userId,
    timestamp: timestampOf(call, wall),
    context: source === "website" ? { ...(call.context ?? {}), ip: "127.0.0.1" } : (call.context ?? {}),
    originalTimestamp: call.timestamp,
    receivedAt: stamp(wall),
  };
  const parts = keys.flatMap((key) => {
    const value =
      key === "properties" || key === "traits" ? (values[key] ?? (first.includes(key) ? {} : undefined)) : values[key];
    return value === undefined ? [] : [`${JSON.stringify(key)}:${JSON.stringify(value)}`];
  });
  return `{${parts.join(",")}}`;
}

/** When it happened: as the client says; less what its clock is ahead of ours, where that is more than a minute on the way. */
function timestampOf({ timestamp, sentAt }: Call, wall: At): string {
  if (timestamp === undefined) return stamp(wall);
  const at = Date.parse(String(timestamp));
  const transit = sentAt === undefined ? 0 : wall - Date.parse(String(sentAt));
  return stamp(transit >= -1_000 && transit <= 60_000 ? at : at + transit);
}

function stamp(at: At): string {
  return new Date(at).toISOString();
}

/** Who is to get it, by the manual. */
function takersOf(
  call: Call,
  source: SourceName,
  { shape, wall }: { shape: Shape; wall: At },
): readonly DestinationName[] {
  const all = Object.entries(shape.destinations) as [DestinationName, DestinationShape][];
  return all.filter(([name, one]) => takes(call, source, { name, one, wall })).map(([name]) => name);
}

type Taker = { readonly name: DestinationName; readonly one: DestinationShape; readonly wall: At };

function takes(call: Call, source: SourceName, { name, one, wall }: Taker): boolean {
  if (!one.listed || !one.enabled) return false;
  if (one.sources && !one.sources.includes(source)) return false;
  if (one.types && !one.types.includes(call.type)) return false;
  const wishes = (call.integrations ?? {}) as Record<string, unknown>;
  const wish = wishes[name] ?? wishes.Webhooks ?? wishes.All ?? true;
  if (wish === false) return false;
  const age = wall - Date.parse(timestampOf(call, wall));
  return one.historical === "accept" || age <= DAY;
}

export function signatureOf(body: string, secret: string): string {
  return createHmac("sha1", secret).update(body, "utf8").digest("hex");
}

export function standardSignatureOf(text: string, secret: string): string {
  return `v1,${createHmac("sha256", secret).update(text, "utf8").digest("base64")}`;
}

/** A call that was sent, and what is owed for it. */
export type Entry = {
  readonly source: SourceName;
  readonly messageId: string;
  readonly userId: string | null;
  /** What every receiver is to get. */
  readonly body: string;
  /** By the clock of rows, and the step. */
  readonly at: At;
  readonly step: number;
  /** Who is owed it. What is moved is owed to another one. */
  readonly takers: Set<DestinationName>;
  /** Acknowledged as new: from here on it must never be gone. */
  acked: boolean;
  /** Refused, with a fault: it must not go out. */
  refused: boolean;
  /** How often it was sent, and not answered yet. */
  open: number;
  /** It came and went in one step, and was never seen in the outbox. */
  gone: boolean;
  /** The number of its event, once it was seen in the outbox. */
  event: number | null;
  /** When it was answered. Nobody knows when it is stored if that takes time, or if no answer comes. */
  answeredAt: At | null;
};

/** Whether a call that was stored then may be this one. */
export function isStoredAt({ at, answeredAt }: Entry, acceptedAt: At): boolean {
  return at <= acceptedAt && acceptedAt <= (answeredAt ?? Number.MAX_SAFE_INTEGER);
}

/** All that was ever sent. */
export type Ledger = {
  note(call: Call, source: SourceName, moment: SendMoment): Entry;
  byBody(body: string): Entry | undefined;
  /** Of this messageId, in the order in which they were sent. */
  of(source: string, messageId: string): readonly Entry[];
  all(): readonly Entry[];
};

type SendMoment = {
  readonly at: At;
  readonly wall: At;
  readonly step: number;
  readonly shape: Shape;
  /** It is stored in the moment in which it is sent, or not at all. */
  readonly storesAtOnce: boolean;
};

export function createLedger(): Ledger {
  const byBody = new Map<string, Entry>();
  const byId = new Map<string, Entry[]>();
  return {
    note(call, source, { at, wall, step, shape, storesAtOnce }) {
      const body = expectedBody(call, source, wall);
      const known = byBody.get(body);
      const answeredAt = storesAtOnce ? at : null;
      // Sent again in the same moment: this time it may be taken.
      if (known) return Object.assign(known, { refused: false, open: known.open + 1, answeredAt });
      const takers = new Set(takersOf(call, source, { shape, wall }));
      const { messageId } = call;
      const userId = typeof call.userId === "string" ? call.userId : null;
      const state = { acked: false, refused: false, open: 1, gone: false, event: null, answeredAt };
      const entry: Entry = { source, messageId, userId, body, at, step, takers, ...state };
      byBody.set(body, entry);
      byId.set(keyOf(source, messageId), [...(byId.get(keyOf(source, messageId)) ?? []), entry]);
      return entry;
    },
    byBody: (body) => byBody.get(body),
    of: (source, messageId) => byId.get(keyOf(source, messageId)) ?? [],
    all: () => [...byBody.values()],
  };
}

function keyOf(source: string, messageId: string): string {
  return `${source} ${messageId}`;
}
