import type { Delivery, Progress, Settlement } from "../../src/model/delivery.ts";
import type { Event } from "../../src/model/event.ts";
import type { Entry } from "../../src/model/ports.ts";
import { type At, SECOND } from "../../src/model/units.ts";
import { makeEvent, noise } from "../model/make.ts";

export const URL_A = "https://a.example.com/hook";

type EntryParts = Partial<Omit<Entry, "event">> & Partial<Pick<Event, "messageId" | "ownId" | "type" | "userId">>;

/** An entry for one destination, unless it says otherwise. */
export function makeEntry({ source, body, deliverTo, skipped, ...event }: EntryParts = {}): Entry {
  const made = makeEvent(event);
  return {
    source: source ?? "website",
    event: made,
    body: body ?? JSON.stringify({ messageId: made.messageId }),
    deliverTo: deliverTo ?? ["crm"],
    skipped: skipped ?? [],
  };
}

/** So many entries, `m1`, `m2`, … */
export function makeEntries(count: number, parts: EntryParts = {}): readonly Entry[] {
  return Array.from({ length: count }, (_, n) => makeEntry({ messageId: `m${n + 1}`, ...parts }));
}

/** So many entries whose bodies have this length, and cannot be made much smaller. */
export function makeLargeEntries(count: number, length: number, parts: EntryParts = {}): readonly Entry[] {
  return makeEntries(count, parts).map((entry, n) => ({ ...entry, body: noise(length, n) }));
}

/** What the store should answer: an id is accepted when it comes first. Adds what is new to `seen`. */
export function expectReceipts<Id>(ids: readonly Id[], seen: Set<Id>): readonly string[] {
  return ids.map((id) => {
    if (seen.has(id)) return "duplicate";
    seen.add(id);
    return "accepted";
  });
}

/** What a round at this time adds to a delivery. */
export function makeProgress({ attempts, firstAttemptAt, stoodStill }: Delivery, at: At): Progress {
  return {
    attempts: attempts + 1,
    firstAttemptAt: firstAttemptAt ?? at,
    attemptedAt: at,
    stoodStill,
    finals: [],
  };
}

export function delivered(delivery: Delivery, at: At): Settlement {
  return { ...makeProgress(delivery, at), state: "delivered", url: URL_A, status: 200 };
}

export function failed(delivery: Delivery, at: At): Settlement {
  return { ...makeProgress(delivery, at), state: "failed", reason: "refused: answered 400" };
}

export function expired(delivery: Delivery, at: At): Settlement {
  return { ...makeProgress(delivery, at), state: "expired", reason: "no success within 4h; last answer 503" };
}

/** Tried at this time, to be tried again. */
export function retried(delivery: Delivery, at: At, dueAt: At = at + SECOND): Settlement {
  return { ...makeProgress(delivery, at), state: "waiting", dueAt, reason: "answered 503" };
}

/** A round that never left the machine. */
export function offline(delivery: Delivery, at: At): Settlement {
  const { attempts, firstAttemptAt, stoodStill } = delivery;
  const round = { ...makeProgress(delivery, at), attempts, firstAttemptAt, stoodStill: stoodStill + SECOND };
  return { ...round, state: "waiting", dueAt: at + SECOND, reason: "offline: ENETUNREACH" };
}

/** Tried at this time, with one webhook that has refused it for good; to be tried again with the others. */
export function refused(delivery: Delivery, at: At): Settlement {
  return { ...retried(delivery, at), finals: [{ url: URL_A, reason: "answered 410" }] };
}
