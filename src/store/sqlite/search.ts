import type { ListedDelivery, Search } from "../../model/lookup.ts";
import type { At } from "../../model/units.ts";
import type { Database } from "./driver.ts";
import { fromRow, type Kept, LISTED, type Segment, type TriedRow } from "./kept.ts";
import { type Hit, isWanted, type Position, type Walk } from "./lookup.ts";
import type { Letter } from "./segment.ts";

/** Rows of `tried` in one step, and segments that are looked at. */
const SEGMENTS_STEP = 1_000;
/** Events of segments that are opened in one step; the last segment may bring a few hundred more. */
const STEP_EVENTS = 1_000;
const FROM_THE_START: Position = [Number.MAX_SAFE_INTEGER, ""];

/**
 * All deliveries by the number of their event, the highest first; those of one event by destination, backwards. A step
 * takes a few segments, and the rows of `tried` from there on, whether their own segments are there still or not.
 */
export function createWalkByEvent(kept: Kept): Walk {
  return {
    name: "event",
    step(search, after) {
      const [event, destination] = after ?? FROM_THE_START;
      const { found, floor, oldestAt } = readSegments(search, event);
      const rows = kept.rowsDown({ id: event, destination: String(destination) }, floor, SEGMENTS_STEP);
      const last = rows.length < SEGMENTS_STEP ? undefined : rows.at(-1);
      const next: Position | null = last ? [last.id, last.destination] : floor > 0 ? [floor, ""] : null;
      const all = [...found, ...rows].filter((one) => isWanted(one, search));
      const hits = all.map(toHit).filter(({ position }) => isBetween(position, after ?? FROM_THE_START, next));
      return { hits: hits.sort(newestFirst), next: isOver(search, oldestAt) ? null : next };
    },
  };

  /** The letters of some segments from the event on, downwards: all that have a number of `floor` or above. */
  function readSegments(search: Search, event: number): Read {
    const found: ListedDelivery[] = [];
    const rows = kept.segmentsDown(event, SEGMENTS_STEP);
    let opened = 0;
    for (const segment of rows) {
      if (mayHold(segment, search)) {
        opened += segment.events;
        for (const one of kept.listed(segment, lettersOf(search.state), search)) found.push(one);
      }
      if (opened >= STEP_EVENTS) return { found, floor: segment.first, oldestAt: segment.acceptedAt };
    }
    const last = rows.length < SEGMENTS_STEP ? undefined : rows.at(-1);
    return { found, floor: last?.first ?? 0, oldestAt: last?.acceptedAt ?? null };
  }
}

type Read = { readonly found: readonly ListedDelivery[]; readonly floor: number; readonly oldestAt: At | null };

/** By its row alone, which costs little: whether one of its letters may be wanted. */
function mayHold({ acceptedAt, open, settledAt }: Segment, { state, since, until }: Search): boolean {
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

/** Rows in one step. */
const ENDED_STEP = 500;
const NO_END: At = Number.MAX_SAFE_INTEGER;

type Row = TriedRow & { rowid: number };

/** What failed or expired, by when it did so: each has a row of its own, and an index by that time. */
export function createWalkBySettled(db: Database): Walk {
  // The state stands in the statement, so that its index can be used.
  const settledIn = (state: "failed" | "expired") =>
    db.prepare<[At, At, number, number], Row>(
      `SELECT rowid, ${LISTED} FROM tried WHERE state = '${state}' AND settled_at >= ? AND (settled_at, rowid) < (?, ?)
       ORDER BY settled_at DESC, rowid DESC LIMIT ?`,
    );
  const read = { failed: settledIn("failed"), expired: settledIn("expired") };

  return {
    name: "settled",
    step(search, after) {
      const state = search.state === "failed" ? "failed" : "expired";
      const [at, rowid] = after ?? [search.until ?? NO_END, 0];
      const rows = read[state].all(search.since ?? 0, at, Number(rowid), ENDED_STEP);
      const hits = rows.flatMap(({ rowid, ...row }) => {
        const delivery = fromRow(row);
        return isWanted(delivery, search) ? [{ delivery, position: [row.settledAt ?? 0, rowid] as const }] : [];
      });
      const last = rows.length < ENDED_STEP ? undefined : rows.at(-1);
      return { hits, next: last ? [last.settledAt ?? 0, last.rowid] : null };
    },
  };
}

function lettersOf(state: Search["state"]): readonly Letter[] {
  if (state === "waiting") return ["w"];
  return state === "delivered" ? ["d"] : ["w", "d"];
}
