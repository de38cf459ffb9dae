import type { DeliveryState } from "../../../model/delivery.ts";
import type { ListedDelivery, Search } from "../../../model/lookup.ts";
import type { At } from "../../../model/units.ts";
import { withoutQuery } from "../../../model/url.ts";
import { damaged } from "../bodies.ts";
import type { About } from "../letters.ts";
import type { Delivered } from "../progress.ts";

/** Columns of `tried` that a list needs; what comes behind them in a row, its body, is not read. */
export const LISTED = `event, destination, state, accepted_at AS acceptedAt, attempts, due_at AS dueAt,
  settled_at AS settledAt, replayed_at AS replayedAt, url, status, reason, about`;

export type TriedRow = {
  event: number;
  destination: string;
  state: DeliveryState;
  acceptedAt: At;
  attempts: number;
  dueAt: At | null;
  settledAt: At | null;
  replayedAt: At | null;
  url: string | null;
  status: number | null;
  reason: string | null;
  about: string;
};

export function fromRow({ event: id, about, url, ...row }: TriedRow): ListedDelivery {
  const [source, type, messageId, userId]: About = JSON.parse(about);
  const { destination, state, acceptedAt, attempts, dueAt, settledAt, replayedAt, status, reason } = row;
  return {
    ...{ id, destination, state, source, type, messageId, userId, acceptedAt, attempts, dueAt, settledAt },
    ...{ replayedAt, url: url === null ? null : withoutQuery(url), status, reason },
  };
}

/** A delivery that is a letter in its segment: it waits for its first attempt, or was delivered `by` it. */
export type LetterRow = {
  readonly id: number;
  readonly destination: string;
  readonly about: About;
  readonly acceptedAt: At;
  readonly by: Delivered | null;
};

export function fromLetter({ id, destination, about, acceptedAt, by }: LetterRow): ListedDelivery {
  const [source, type, messageId, userId] = about;
  const event = { id, destination, source, type, messageId, userId, acceptedAt };
  const none = { replayedAt: null, url: null, status: null, reason: null };
  if (by === null) return { ...event, state: "waiting", attempts: 0, dueAt: acceptedAt, settledAt: null, ...none };
  const { at: settledAt, url, status } = by;
  const delivered = { ...none, url: withoutQuery(url), status };
  return { ...event, state: "delivered", attempts: 1, dueAt: null, settledAt, ...delivered };
}

/** Who took the deliveries of a row of `progress`, by the number of the event. */
export function readSettled(segment: number, settled: string): ReadonlyMap<number, Delivered> {
  const lines = settled.split("\n").filter((line) => line !== "");
  try {
    return new Map(
      lines.flatMap((line) => {
        const { events, ...by }: Delivered & { readonly events: readonly number[] } = JSON.parse(line);
        return events.map((event) => [event, by] as const);
      }),
    );
  } catch (cause) {
    throw damaged(segment, "what it says of delivered events cannot be read", cause);
  }
}

/** Whether a delivery is what is searched for. */
export function isWanted(one: ListedDelivery, search: Search): boolean {
  const { state, destination, source, type, user, since, until } = search;
  if (state !== null && one.state !== state) return false;
  if (destination !== null && one.destination !== destination) return false;
  if (source !== null && one.source !== source) return false;
  if (type !== null && one.type !== type) return false;
  if (user !== null && one.userId !== user) return false;
  const at = one.settledAt ?? one.acceptedAt;
  return (since === null || at >= since) && (until === null || at < until);
}
