import { withoutQuery } from "../model/config.ts";
import { type Delivery, formatId, type Outcome } from "../model/delivery.ts";
import type { LiveFilter, LiveKind } from "../model/live.ts";
import type { Accepted, Observer } from "../model/observer.ts";
import { specifiedBody } from "../model/payload.ts";
import { describeAnswer } from "../settle/judge.ts";
import { isSuccess } from "../settle/settle.ts";

/** Something that happened to an event: what a filter asks for, and how it is shown. */
export type Happening = {
  readonly kind: LiveKind;
  readonly source: string | null;
  readonly type: string | null;
  readonly destinations: readonly string[];
  /** Called only if a filter asks for it. */
  isOf(user: string): boolean;
  describe(): object;
};

export function matches(happening: Happening, { kinds, source, destination, type, user }: LiveFilter): boolean {
  if (kinds !== undefined && !kinds.includes(happening.kind)) return false;
  if (source !== undefined && happening.source !== source) return false;
  if (type !== undefined && happening.type !== type) return false;
  if (destination !== undefined && !happening.destinations.includes(destination)) return false;
  return user === undefined || happening.isOf(user);
}

/** Names in one event, and characters of a text in it: callers choose how long these are. */
const MOST_DESTINATIONS = 50;
const LONGEST = 200;

/** Repeats and calls of deleted users are left out: they go nowhere. */
export function* acceptedEvents(source: string, { entries, receipts }: Accepted): Iterable<Happening> {
  for (const [nth, { event, deliverTo }] of entries.entries()) {
    if (receipts[nth]?.kind !== "accepted") continue;
    const { type, messageId, userId } = event;
    yield {
      kind: "accepted",
      source,
      type,
      destinations: deliverTo,
      isOf: (user) => userId === user,
      describe: () => ({
        source,
        type,
        event: cut(event.event ?? event.name),
        messageId,
        userId: cut(userId),
        destinations: deliverTo.slice(0, MOST_DESTINATIONS),
      }),
    };
  }
}

export function refusedEvent({ source, type, messageId, fault, what }: Parameters<Observer["refused"]>[0]): Happening {
  return {
    kind: "refused",
    source,
    type,
    destinations: [],
    isOf: (user) => isObject(what) && String(what.userId) === user,
    describe: () => ({ source, type, messageId: cut(messageId), code: fault.code, message: fault.message }),
  };
}

export function attemptedEvent(delivery: Delivery, outcome: Outcome): Happening {
  const { destination, source, type, messageId, body } = delivery;
  return {
    kind: "attempted",
    source,
    type,
    destinations: [destination],
    isOf: (user) => userOf(body, user) === user,
    describe: () => ({
      destination,
      delivery: formatId(delivery),
      url: withoutQuery(outcome.url),
      source,
      type,
      messageId,
      attempt: delivery.attempts + 1,
      status: outcome.kind === "answered" ? outcome.status : null,
      reason: isSuccess(outcome) ? null : cut(describeAnswer(outcome)),
      duration: outcome.duration,
    }),
  };
}

/** The user of a body. It is parsed only if it can be this one. */
function userOf(body: string, user: string): unknown {
  if (!body.includes(JSON.stringify(user))) return null;
  const call = JSON.parse(specifiedBody(body));
  return call.userId ?? call["User ID"];
}

function cut(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null;
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null;
}
