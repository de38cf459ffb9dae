import { withoutQuery } from "../model/config.ts";
import { type AttemptLog, type DeliveryState, type FinalAnswer, NO_ATTEMPTS } from "../model/delivery.ts";
import type { DeliveryDetail, ListedDelivery } from "../model/lookup.ts";
import { payloadFor } from "../model/payload.ts";
import type { At } from "../model/units.ts";
import type { About } from "./segment.ts";
import { type Delivered, logOfFirst } from "./takers.ts";

/** Columns of `tried` that a list needs. The body comes after them in the row, and is not read. */
export const LISTED = `event, destination, state, accepted_at AS "acceptedAt", attempts, due_at AS "dueAt",
  settled_at AS "settledAt", replayed_at AS "replayedAt", url, status, reason, about`;

export type TriedRow = Omit<ListedDelivery, "id" | "source" | "type" | "messageId" | "userId"> & {
  readonly event: number;
  readonly state: DeliveryState;
  readonly about: string;
};

/** A delivery with a row of its own. */
export function fromRow({ event: id, about, url, ...row }: TriedRow): ListedDelivery {
  const [source, type, messageId, userId]: About = JSON.parse(about);
  return { id, source, type, messageId, userId, ...row, url: url === null ? null : withoutQuery(url) };
}

type Name = { readonly id: number; readonly destination: string };
/** `by`: who took it at its first attempt; null if it waits for that. */
type Since = { readonly acceptedAt: At; readonly by: Delivered | null };

/** A delivery that is kept in its segment. */
export function fromSegment(
  name: Name,
  [source, type, messageId, userId]: About,
  { acceptedAt, by }: Since,
): ListedDelivery {
  const event = { ...name, source, type, messageId, userId, acceptedAt };
  const none = { replayedAt: null, url: null, status: null, reason: null };
  if (by === null) return { ...event, state: "waiting", attempts: 0, dueAt: acceptedAt, settledAt: null, ...none };
  const taken = { ...none, url: withoutQuery(by.url), status: by.status };
  return { ...event, state: "delivered", attempts: 1, dueAt: null, settledAt: by.at, ...taken };
}

/** Columns of `tried` that say all of a delivery. */
export const DETAIL = `${LISTED}, first_attempt_at AS "firstAttemptAt", finals, log, body`;

export type DetailRow = TriedRow & {
  readonly firstAttemptAt: At | null;
  readonly finals: string | null;
  readonly log: string | null;
  readonly body: string;
};

export function detailOfRow({ firstAttemptAt, finals, log, body, ...row }: DetailRow): DeliveryDetail {
  const listed = fromRow(row);
  const refusals: readonly FinalAnswer[] = finals === null ? [] : JSON.parse(finals);
  return {
    ...listed,
    body: payloadFor(body, listed.destination),
    firstAttemptAt,
    log: log === null ? onlyAttempt(listed) : JSON.parse(log),
    finals: refusals.map(({ url, reason }) => ({ url: withoutQuery(url), reason })),
  };
}

/** Of one that is kept in its segment. */
export function detailOf(listed: ListedDelivery, body: string): DeliveryDetail {
  return {
    ...listed,
    body: payloadFor(body, listed.destination),
    firstAttemptAt: null,
    finals: [],
    log: onlyAttempt(listed),
  };
}

/** The log of a delivery that its first attempt delivered is not stored. */
export function onlyAttempt({ state, attempts, settledAt: at, url, status }: ListedDelivery): AttemptLog {
  if (state !== "delivered" || attempts !== 1 || at === null || url === null) return NO_ATTEMPTS;
  return logOfFirst({ at, url, status: status ?? 0 });
}
