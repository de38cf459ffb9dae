import type { DeliveryDetail, FoundEvent, ListedDelivery, Lookup, Search } from "../model/lookup.ts";
import type { Clock } from "../model/ports.ts";
import type { Timeline } from "../model/timeline.ts";
import type { At, Ms } from "../model/units.ts";
import { type Hit, isWanted, type Position, readPage, type Walk } from "./listing.ts";
import { type About, damaged, skipsOf } from "./segment.ts";
import { createFindTrail, type TrailReads } from "./trail.ts";

/** What an engine reads at once is a value; what it waits for is a promise. */
export type Awaitable<T> = T | Promise<T>;

type Name = Pick<ListedDelivery, "id" | "destination">;

/** A segment, with what is known about its deliveries that have no row of their own. */
export type ListedSegment = {
  /** The number of its first event. */
  readonly first: number;
  readonly events: number;
  readonly acceptedAt: At;
  /** Deliveries that wait for their first attempt. */
  readonly open: number;
  /** When the last one stopped waiting for it; null if none has. */
  readonly settledAt: At | null;
};

/** Deliveries of segments in one of these states, and of this destination if it is not null. */
export type Listing = {
  readonly states: readonly ("waiting" | "delivered")[];
  readonly destination: string | null;
};

/** What an engine reads for lookups. */
export type Reads = TrailReads & {
  /** Segments up to this event, the newest first. */
  segmentsDown(from: number, limit: number): Awaitable<readonly ListedSegment[]>;
  /** Deliveries of these segments without rows of their own. */
  listedIn(segments: readonly ListedSegment[], wanted: Listing): Awaitable<readonly ListedDelivery[]>;
  /** Those with rows before this one, by event and destination backwards, down to the event `floor`. */
  rowsDown(before: Name, floor: number, limit: number): Awaitable<readonly ListedDelivery[]>;
  /** Those that have failed or expired since then, the last ones first, after this position. */
  endedDown(ended: Ended, after: Position, limit: number): Awaitable<readonly Hit[]>;
  detail(place: Name): Awaitable<DeliveryDetail | null>;
  /** How much later than others with higher numbers an event may have been accepted. */
  readonly disorder: Ms;
};

export type Ended = { readonly state: "failed" | "expired"; readonly since: At };

type LookupParts = {
  readonly reads: Reads;
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** What has happened is shown, also if it was not written yet. */
  readonly caughtUp: () => Promise<void>;
};

export function createLookup({ reads, clock, timeline, caughtUp }: LookupParts): Lookup {
  const byEvent = createWalkByEvent(reads);
  const bySettled = createWalkBySettled(reads);
  const findTrail = createFindTrail({ reads, clock, timeline });
  return {
    async deliveries(search, ask) {
      await caughtUp();
      const walk = search.state === "failed" || search.state === "expired" ? bySettled : byEvent;
      return readPage(search, ask, { walk, clock });
    },
    async delivery(place) {
      await caughtUp();
      return reads.detail(place);
    },
    async event(...ask) {
      await caughtUp();
      return findTrail(...ask);
    },
  };
}

/** What there is of an event: rows of its deliveries, and its segment unless that is pruned. */
export type EventRead = {
  readonly id: number;
  readonly rows: readonly ListedDelivery[];
  readonly segment: {
    readonly first: number;
    readonly acceptedAt: At;
    readonly about: readonly About[];
    /** Its deliveries without rows. */
    readonly listed: readonly ListedDelivery[];
    /** The destinations for which it has a row, or had one. */
    readonly apart: readonly string[];
  } | null;
};

/** Null if nothing is known of the event. */
export function toEvent({ id, rows, segment }: EventRead): FoundEvent | null {
  if (segment === null) {
    const [row] = rows;
    if (!row) return null;
    const { source, type, messageId, userId, acceptedAt } = row;
    const event = { id, source, type, messageId, userId, acceptedAt, skipped: [] };
    return { ...event, deliveries: rows, forgotten: [], whole: false };
  }
  const { first, acceptedAt, about } = segment;
  const described = about[id - first];
  if (described === undefined) throw damaged(first, `it does not say what event ${id} is`);
  const [source, type, messageId, userId] = described;
  const known = new Set(rows.map(({ destination }) => destination));
  // One that has got its row while this was read counts once.
  const listed = segment.listed.filter(({ destination }) => !known.has(destination));
  const forgotten = segment.apart.filter((destination) => !known.has(destination));
  const event = { id, source, type, messageId, userId, acceptedAt, skipped: skipsOf(about, id - first) };
  return { ...event, deliveries: [...listed, ...rows], forgotten, whole: true };
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
function createWalkByEvent(reads: Reads): Walk {
  return {
    name: "event",
    async step(search, after) {
      const [event, destination] = after ?? FROM_THE_START;
      const { found, floor, oldestAt } = await readSegments(search, event);
      // Read last: a delivery can get a row meanwhile, but never loses it for a place in its segment.
      const rows = await reads.rowsDown({ id: event, destination: String(destination) }, floor, SEGMENTS_STEP);
      const last = rows.length < SEGMENTS_STEP ? undefined : rows.at(-1);
      const next: Position | null = last ? [last.id, last.destination] : floor > 0 ? [floor, ""] : null;
      const all = withoutDoubles(found, rows).filter((one) => isWanted(one, search));
      const hits = all.map(toHit).filter(({ position }) => isBetween(position, after ?? FROM_THE_START, next));
      return { hits: hits.sort(newestFirst), next: isOver(search, oldestAt) ? null : next };
    },
  };

  /** Reads some segments from this event downwards: all events with a number of `floor` or above. */
  async function readSegments(search: Search, event: number): Promise<SegmentsRead> {
    const segments = await reads.segmentsDown(event, SEGMENTS_STEP);
    const opened: ListedSegment[] = [];
    let [last, events] = [segments.length < SEGMENTS_STEP ? undefined : segments.at(-1), 0];
    for (const segment of segments) {
      if (!mayHold(segment, search)) continue;
      opened.push(segment);
      events += segment.events;
      if (events < STEP_EVENTS) continue;
      last = segment;
      break;
    }
    const wanted = { states: statesOf(search.state), destination: search.destination };
    const found = opened.length === 0 ? [] : await reads.listedIn(opened, wanted);
    return { found, floor: last?.first ?? 0, oldestAt: last?.acceptedAt ?? null };
  }

  /** A delivery waits since its event came, so all that follow an older one are older too. */
  function isOver({ state, since }: Search, oldestAt: At | null): boolean {
    return state === "waiting" && since !== null && oldestAt !== null && oldestAt + reads.disorder < since;
  }
}

type SegmentsRead = { readonly found: readonly ListedDelivery[]; readonly floor: number; readonly oldestAt: At | null };

/** Whether one of its deliveries may be wanted, as far as the segment's row alone can tell. */
function mayHold({ acceptedAt, open, settledAt }: ListedSegment, { state, since, until }: Search): boolean {
  if (until !== null && acceptedAt >= until) return false;
  if (state === "waiting") return open > 0;
  if (state === "delivered" && settledAt === null) return false;
  return since === null || open > 0 || (settledAt ?? 0) >= since;
}

function statesOf(state: Search["state"]): Listing["states"] {
  return state === "waiting" || state === "delivered" ? [state] : ["waiting", "delivered"];
}

function withoutDoubles(found: readonly ListedDelivery[], rows: readonly ListedDelivery[]): readonly ListedDelivery[] {
  if (rows.length === 0) return found;
  const known = new Set(rows.map(keyOf));
  return [...found.filter((one) => !known.has(keyOf(one))), ...rows];
}

function keyOf({ id, destination }: Name): string {
  return `${id} ${destination}`;
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

/** Failed or expired deliveries by the time they settled: each has a row, with an index by that time. */
function createWalkBySettled(reads: Reads): Walk {
  return {
    name: "settled",
    async step(search, after) {
      const ended: Ended = { state: search.state === "failed" ? "failed" : "expired", since: search.since ?? 0 };
      const rows = await reads.endedDown(ended, after ?? [search.until ?? NO_END, 0], ENDED_STEP);
      const hits = rows.filter(({ delivery }) => isWanted(delivery, search));
      const last = rows.length < ENDED_STEP ? undefined : rows.at(-1);
      return { hits, next: last?.position ?? null };
    },
  };
}
