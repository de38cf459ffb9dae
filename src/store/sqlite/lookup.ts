import { withoutQuery } from "../../model/config.ts";
import type { Delivery, FinalAnswer } from "../../model/delivery.ts";
import { type AttemptLog, NO_ATTEMPTS } from "../../model/delivery.ts";
import type { DeliveryDetail, FoundEvent, ListedDelivery, Lookup, Search } from "../../model/lookup.ts";
import type { Clock } from "../../model/ports.ts";
import type { Timeline } from "../../model/timeline.ts";
import type { At } from "../../model/units.ts";
import { type Hit, isWanted, type Position, readPage, type Walk } from "../listing.ts";
import { damaged, type Letter, skipsOf } from "../segment.ts";
import type { Database } from "./driver.ts";
import { fromRow, type Kept, LISTED, type TriedRow } from "./kept.ts";
import type { Repeats } from "./repeats.ts";
import type { Segment } from "./segment-rows.ts";
import { logOfFirst } from "./settle.ts";
import { createFindTrail } from "./trail.ts";

export type LookupParts = {
  readonly clock: Clock;
  readonly repeats: Repeats;
  readonly kept: Kept;
  readonly timeline: Timeline;
  /** What has happened is shown, also if it was not written yet. */
  readonly caughtUp: () => Promise<void>;
};

export function createLookup(db: Database, parts: LookupParts): Lookup {
  const { clock, kept, caughtUp } = parts;
  const byEvent = createWalkByEvent(kept);
  const bySettled = createWalkBySettled(db);
  const readDetail = createReadDetail(db, kept);
  const findTrail = createFindTrail(parts);
  return {
    async deliveries(search, ask) {
      await caughtUp();
      const walk = search.state === "failed" || search.state === "expired" ? bySettled : byEvent;
      return readPage(search, ask, { walk, clock });
    },
    async delivery(place) {
      await caughtUp();
      return readDetail(place);
    },
    async event(...ask) {
      await caughtUp();
      return findTrail(...ask);
    },
  };
}

type Place = Pick<Delivery, "id" | "destination">;

type DetailRow = TriedRow & { firstAttemptAt: At | null; finals: string | null; log: string | null; body: string };

/** Reads one delivery, wherever it is kept. */
function createReadDetail(db: Database, kept: Kept): (place: Place) => DeliveryDetail | null {
  const readRow = db.prepare<[number, string], DetailRow>(
    `SELECT ${LISTED}, first_attempt_at AS firstAttemptAt, finals, log, body FROM tried
     WHERE event = ? AND destination = ?`,
  );

  return function readDetail({ id, destination }) {
    const row = readRow.get(id, destination);
    if (row) return ofRow(row);
    const segment = kept.segmentOf(id);
    const found = segment && kept.listed(segment, ["w", "d"], { id, destination }).at(0);
    if (!found) return null;
    return { ...found, body: kept.body(found), firstAttemptAt: null, finals: [], log: onlyAttempt(found) };
  };
}

function ofRow({ firstAttemptAt, finals, log, body, ...row }: DetailRow): DeliveryDetail {
  const listed = fromRow(row);
  const refusals: readonly FinalAnswer[] = finals === null ? [] : JSON.parse(finals);
  return {
    ...listed,
    body,
    firstAttemptAt,
    log: log === null ? onlyAttempt(listed) : JSON.parse(log),
    finals: refusals.map(({ url, reason }) => ({ url: withoutQuery(url), reason })),
  };
}

/** The log of a delivery that its first attempt delivered is not stored. */
function onlyAttempt({ state, attempts, settledAt: at, url, status }: ListedDelivery): AttemptLog {
  if (state !== "delivered" || attempts !== 1 || at === null || url === null) return NO_ATTEMPTS;
  return logOfFirst({ at, url, status: status ?? 0 });
}

/** Reads an event from its segment, and from the rows that may have outlived it. */
export function readEvent(kept: Kept, id: number): FoundEvent | null {
  const rows = kept.rowsOf(id);
  const segment = kept.segmentOf(id);
  if (segment) return readInSegment(kept, segment, { id, rows });
  const [first] = rows;
  if (!first) return null;
  const { source, type, messageId, userId, acceptedAt } = first;
  const event = { id, source, type, messageId, userId, acceptedAt, skipped: [] };
  return { ...event, deliveries: rows, forgotten: [], whole: false };
}

type EventRead = { readonly id: number; readonly rows: readonly ListedDelivery[] };

function readInSegment(kept: Kept, segment: Segment, { id, rows }: EventRead): FoundEvent {
  const { first, acceptedAt } = segment;
  const all = kept.about(first);
  const about = all[id - first];
  if (about === undefined) throw damaged(first, `it does not say what event ${id} is`);
  const [source, type, messageId, userId] = about;
  const letters = kept.listed(segment, ["w", "d"], { id });
  const known = new Set(rows.map(({ destination }) => destination));
  const tried = kept.letters(first).filter(({ states }) => states[id - first] === "t");
  const forgotten = tried.map(({ destination }) => destination).filter((destination) => !known.has(destination));
  const event = { id, source, type, messageId, userId, acceptedAt, skipped: skipsOf(all, id - first) };
  return { ...event, deliveries: [...letters, ...rows], forgotten, whole: true };
}

/** Rows of `tried`, and segments, in one step. */
const SEGMENTS_STEP = 1_000;
/** Events of segments opened in one step; the last segment may add a few hundred. */
const STEP_EVENTS = 1_000;
const FROM_THE_START: Position = [Number.MAX_SAFE_INTEGER, ""];

/**
 * All deliveries by the number of their event, the highest first; those of one event by destination, backwards. A step reads a
 * few segments, and all rows of `tried` in the same range of numbers.
 */
function createWalkByEvent(kept: Kept): Walk {
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

  /** Reads some segments from this event downwards: all events with a number of `floor` or above. */
  function readSegments(search: Search, event: number): SegmentsRead {
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

type SegmentsRead = { readonly found: readonly ListedDelivery[]; readonly floor: number; readonly oldestAt: At | null };

/** Whether one of its letters may be wanted, as far as the segment's row alone can tell. */
function mayHold({ acceptedAt, open, settledAt }: Segment, { state, since, until }: Search): boolean {
  if (until !== null && acceptedAt >= until) return false;
  if (state === "waiting") return open > 0;
  if (state === "delivered" && settledAt === null) return false;
  return since === null || open > 0 || (settledAt ?? 0) >= since;
}

/** A delivery waits since its event came, so all that follow an older one are older too. */
function isOver({ state, since }: Search, oldestAt: At | null): boolean {
  return state === "waiting" && since !== null && oldestAt !== null && oldestAt < since;
}

function toHit(delivery: ListedDelivery): Hit {
  return { delivery, position: [delivery.id, delivery.destination] };
}

/** After the one, and not after the other. */
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

/** Failed or expired deliveries by the time they settled: each has a row, with an index by that time. */
function createWalkBySettled(db: Database): Walk {
  // The state is part of the statement, so that its index can be used.
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
