import type { ListedDelivery, Search } from "../../../model/lookup.ts";
import type { At } from "../../../model/units.ts";
import type { Database } from "../driver.ts";
import { createLetters, type SegmentRow } from "./letters.ts";
import { fromRow, isWanted, LISTED, type TriedRow } from "./listed.ts";
import type { Hit, Position, Walk } from "./lookup.ts";

/** Rows of `tried` in one step, and segments that are looked at. */
const STEP = 1_000;
/** Events of segments that are opened in one step; the last segment may bring a few hundred more. */
const STEP_EVENTS = 1_000;
const FROM_THE_START: Position = [Number.MAX_SAFE_INTEGER, ""];

/**
 * All deliveries by the number of their event, the highest first; those of one event by destination, backwards. A step
 * takes a few segments, and the rows of `tried` from there on, whether their own segments are there still or not.
 */
export function createWalkByEvent(db: Database): Walk {
  const segments = db.prepare<[number, number], SegmentRow>(
    `SELECT first, events, accepted_at AS acceptedAt, open, settled_at AS settledAt FROM segments WHERE first <= ?
     ORDER BY first DESC LIMIT ?`,
  );
  const tried = db.prepare<[number, number, string, number], TriedRow>(
    `SELECT ${LISTED} FROM tried WHERE event >= ? AND (event, destination) < (?, ?)
     ORDER BY event DESC, destination DESC LIMIT ?`,
  );
  const letters = createLetters(db);

  return {
    name: "event",
    step(search, after) {
      const [event, destination] = after ?? FROM_THE_START;
      const { found, floor, oldestAt } = readSegments(search, event);
      const rows = tried.all(floor, event, String(destination), STEP);
      const last = rows.length < STEP ? undefined : rows.at(-1);
      const next: Position | null = last ? [last.event, last.destination] : floor > 0 ? [floor, ""] : null;
      const all = [...found, ...rows.map(fromRow)].filter((one) => isWanted(one, search));
      const hits = all.map(toHit).filter(({ position }) => isBetween(position, after ?? FROM_THE_START, next));
      return { hits: hits.sort(newestFirst), next: isOver(search, oldestAt) ? null : next };
    },
  };

  /** The letters of some segments from the event on, downwards: all that have a number of `floor` or above. */
  function readSegments(search: Search, event: number): Read {
    const found: ListedDelivery[] = [];
    const rows = segments.all(event, STEP);
    let opened = 0;
    for (const segment of rows) {
      if (mayHold(segment, search)) {
        opened += segment.events;
        for (const one of letters.read(segment, search)) found.push(one);
      }
      if (opened >= STEP_EVENTS) return { found, floor: segment.first, oldestAt: segment.acceptedAt };
    }
    const last = rows.length < STEP ? undefined : rows.at(-1);
    return { found, floor: last?.first ?? 0, oldestAt: last?.acceptedAt ?? null };
  }
}

type Read = { readonly found: readonly ListedDelivery[]; readonly floor: number; readonly oldestAt: At | null };

/** By its row alone, which costs little: whether one of its letters may be wanted. */
function mayHold({ acceptedAt, open, settledAt }: SegmentRow, { state, since, until }: Search): boolean {
  if (until !== null && acceptedAt >= until) return false;
  if (state === "waiting") return open > 0;
  if (state === "delivered" && settledAt === null) return false;
  return since === null || open > 0 || (settledAt ?? 0) >= since;
}

/** What waits came into that state when its event came: behind an older one nothing is younger. */
function isOver({ state, since }: Search, oldestAt: At | null): boolean {
  return state === "waiting" && since !== null && oldestAt !== null && oldestAt < since;
}

function toHit(delivery: ListedDelivery): Hit {
  return { delivery, position: [delivery.id, delivery.destination] };
}

/** Behind the one, and not behind the other. */
function isBetween(position: Position, after: Position, upTo: Position | null): boolean {
  return compare(position, after) < 0 && (upTo === null || compare(position, upTo) >= 0);
}

function newestFirst(one: Hit, other: Hit): number {
  return compare(other.position, one.position);
}

function compare([event, destination]: Position, [otherEvent, otherDestination]: Position): number {
  if (event !== otherEvent) return event - otherEvent;
  if (destination === otherDestination) return 0;
  return destination < otherDestination ? -1 : 1;
}
