/**
 * Reads segments and their letters, whether they have rows or are in the tail (tail.ts). Reading folds nothing, so it needs no
 * write, and goes on where the disk takes none. A transaction that has changed something first writes that.
 */
import type { At } from "../../model/units.ts";
import type { Database } from "./driver.ts";

export type Segment = {
  readonly first: number;
  readonly events: number;
  readonly acceptedAt: At;
  /** Deliveries that wait for their first attempt. */
  readonly open: number;
  readonly settledAt: At | null;
};

/** The part of a segment for one destination: a letter for each event, how many of them wait, and who took the others. */
export type Letters = {
  readonly destination: string;
  readonly states: string;
  readonly waiting: number;
  readonly settled: string;
};

/** The same for a destination for which some events of the segment wait. */
export type WaitingLetters = Pick<Letters, "states" | "waiting"> & {
  readonly segment: number;
  readonly acceptedAt: At;
};

/** What the tail answers in place of rows. */
export type TailRows = {
  /** The oldest first. */
  segments(): readonly Segment[];
  /** The last one whose number is not above this one. */
  segmentUpTo(event: number): Segment | undefined;
  /** Undefined if the segment is not in the tail. */
  letters(segment: number): readonly Letters[] | undefined;
  /** The oldest first. */
  waitingFor(destination: string): readonly WaitingLetters[];
};

export type SegmentRows = {
  /** The segment that an event is in; null if it was pruned. */
  segmentOf(event: number): Segment | null;
  /** Segments up to this event, the newest first. */
  segmentsDown(from: number, limit: number): readonly Segment[];
  /** Segments after this event and up to the other one, the oldest first. */
  segmentsUp(after: number, upTo: number, limit: number): readonly Segment[];
  letters(segment: number): readonly Letters[];
  /** Segments in which something waits for the destination: from the one of this event on, the oldest first. */
  waitingUp(destination: string, from: number): Iterable<WaitingLetters>;
  /** The newest first. */
  waitingDown(destination: string): Iterable<WaitingLetters>;
};

/** `flush` writes what the transaction under way has changed. */
export function createSegmentRows(db: Database, tail: TailRows, flush: () => void): SegmentRows {
  const sql = prepare(db);
  return {
    segmentOf(event) {
      flush();
      const found = tail.segmentUpTo(event) ?? sql.segmentUpTo.get(event);
      return found && event < found.first + found.events ? found : null;
    },
    segmentsDown(from, limit) {
      flush();
      const newest = tail.segments().filter(({ first }) => first <= from);
      return [...newest.reverse(), ...sql.segmentsDown.all(from, limit)].slice(0, limit);
    },
    segmentsUp(after, upTo, limit) {
      flush();
      const newest = tail.segments().filter(({ first }) => first > after && first <= upTo);
      return [...sql.segmentsUp.all(after, upTo, limit), ...newest].slice(0, limit);
    },
    letters(segment) {
      flush();
      return tail.letters(segment) ?? sql.letters.all(segment);
    },
    *waitingUp(destination, from) {
      flush();
      const first = sql.waitingUpTo.get(destination, from) ?? from;
      yield* sql.waitingUp.iterate(destination, first, from);
      yield* tail.waitingFor(destination).filter(({ segment, states }) => segment + states.length > from);
    },
    *waitingDown(destination) {
      flush();
      yield* tail.waitingFor(destination).toReversed();
      yield* sql.waitingDown.iterate(destination);
    },
  };
}

function prepare(db: Database) {
  const segment = "first, events, accepted_at AS acceptedAt, open, settled_at AS settledAt";
  const waiting = `SELECT p.segment, p.states, p.waiting, s.accepted_at AS acceptedAt FROM progress p
    CROSS JOIN segments s ON s.first = p.segment WHERE p.destination = ? AND p.waiting > 0`;
  return {
    segmentUpTo: db.prepare<[number], Segment>(
      `SELECT ${segment} FROM segments WHERE first <= ? ORDER BY first DESC LIMIT 1`,
    ),
    segmentsDown: db.prepare<[number, number], Segment>(
      `SELECT ${segment} FROM segments WHERE first <= ? ORDER BY first DESC LIMIT ?`,
    ),
    segmentsUp: db.prepare<[number, number, number], Segment>(
      `SELECT ${segment} FROM segments WHERE first > ? AND first <= ? ORDER BY first LIMIT ?`,
    ),
    letters: db.prepare<[number], Letters>(
      "SELECT destination, states, waiting, settled FROM progress WHERE segment = ? ORDER BY destination",
    ),
    // The event may be within its segment.
    waitingUpTo: db
      .prepare<[string, number], number>(
        `SELECT segment FROM progress WHERE destination = ? AND waiting > 0 AND segment <= ?
         ORDER BY segment DESC LIMIT 1`,
      )
      .pluck(),
    waitingUp: db.prepare<[string, number, number], WaitingLetters>(
      `${waiting} AND p.segment >= ? AND s.first + s.events > ? ORDER BY p.segment`,
    ),
    waitingDown: db.prepare<[string], WaitingLetters>(`${waiting} ORDER BY p.segment DESC`),
  };
}
