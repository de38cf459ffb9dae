import type { ListedDelivery, Search } from "../../model/lookup.ts";
import type { At } from "../../model/units.ts";
import type { Database } from "./driver.ts";
import {
  fromLetter,
  fromRow,
  type Hit,
  isWanted,
  LISTED,
  type Position,
  readSettled,
  type TriedRow,
  type Walk,
} from "./lookup.ts";
import type { About, Letter } from "./segment.ts";
import { damaged } from "./segment.ts";

/** Rows of `tried` in one step, and segments that are looked at. */
const SEGMENTS_STEP = 1_000;
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
      const rows = tried.all(floor, event, String(destination), SEGMENTS_STEP);
      const last = rows.length < SEGMENTS_STEP ? undefined : rows.at(-1);
      const next: Position | null = last ? [last.event, last.destination] : floor > 0 ? [floor, ""] : null;
      const all = [...found, ...rows.map(fromRow)].filter((one) => isWanted(one, search));
      const hits = all.map(toHit).filter(({ position }) => isBetween(position, after ?? FROM_THE_START, next));
      return { hits: hits.sort(newestFirst), next: isOver(search, oldestAt) ? null : next };
    },
  };

  /** The letters of some segments from the event on, downwards: all that have a number of `floor` or above. */
  function readSegments(search: Search, event: number): Read {
    const found: ListedDelivery[] = [];
    const rows = segments.all(event, SEGMENTS_STEP);
    let opened = 0;
    for (const segment of rows) {
      if (mayHold(segment, search)) {
        opened += segment.events;
        for (const one of letters.read(segment, search)) found.push(one);
      }
      if (opened >= STEP_EVENTS) return { found, floor: segment.first, oldestAt: segment.acceptedAt };
    }
    const last = rows.length < SEGMENTS_STEP ? undefined : rows.at(-1);
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

type SegmentRow = { first: number; events: number; acceptedAt: At; open: number; settledAt: At | null };

type States = { destination: string; states: string; settled: string };

type Letters = {
  /** The deliveries that are letters of this segment, as far as state and destination are wanted. */
  read(segment: SegmentRow, search: Pick<Search, "state" | "destination">): readonly ListedDelivery[];
};

function createLetters(db: Database): Letters {
  const progress = db.prepare<[number], States>(
    "SELECT destination, states, settled FROM progress WHERE segment = ? ORDER BY destination",
  );
  const contents = db.prepare<[number], string>("SELECT about FROM contents WHERE segment = ?").pluck();

  return {
    read(segment, { state, destination }) {
      const letters = lettersOf(state);
      const rows = progress
        .all(segment.first)
        .filter((row) => destination === null || row.destination === destination)
        .filter(({ states }) => letters.some((letter) => states.includes(letter)));
      if (rows.length === 0) return [];
      const text = contents.get(segment.first);
      if (text === undefined) throw damaged(segment.first, "it has no contents");
      const about: readonly About[] = JSON.parse(text);
      return rows.flatMap((row) => readRow(row, { segment, about, letters }));
    },
  };
}

function lettersOf(state: Search["state"]): readonly Letter[] {
  if (state === "waiting") return ["w"];
  return state === "delivered" ? ["d"] : ["w", "d"];
}

type Opened = {
  readonly segment: SegmentRow;
  readonly about: readonly About[];
  readonly letters: readonly Letter[];
};

function readRow({ destination, states, settled }: States, { segment, about, letters }: Opened): ListedDelivery[] {
  const { first, acceptedAt } = segment;
  const by = readSettled(first, settled);
  return about.flatMap((event, nth) => {
    if (!letters.some((letter) => letter === states[nth])) return [];
    const id = first + nth;
    return [fromLetter({ id, destination, about: event, acceptedAt, by: by.get(id) ?? null })];
  });
}
