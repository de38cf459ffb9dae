import type { At } from "../../model/units.ts";
import { type Packed, unpackBodies } from "./bodies.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";
import { countLetter } from "./letters.ts";
import type { Tried } from "./tried.ts";

export type Removed = {
  readonly delivered: number;
  readonly unrouted: number;
  /** Deliveries that go on waiting, in `tried`. */
  readonly moved: number;
};

export type Removal = {
  /** Inside a transaction: removes these segments, until about `limit` events are gone. Those that are dense it marks so. */
  remove(segments: readonly number[], limit: number): Removed;
};

type Segment = Packed & { acceptedAt: At };
type States = { destination: string; waiting: number; states: string };

/** Removes whole segments. What still waits in one gets a row of its own in `tried`, and goes on waiting. */
export function createRemoval(db: Database, { counts, tried }: { counts: Counts; tried: Tried }): Removal {
  const read = db.prepare<[number], Segment>(
    `SELECT s.first AS segment, s.events, s.accepted_at AS acceptedAt, coalesce(c.about, '') AS about,
       coalesce(c.bodies, '') AS bodies, c.sum
     FROM segments s LEFT JOIN contents c ON c.segment = s.first WHERE s.first = ?`,
  );
  const readStates = db.prepare<[number], States>(
    "SELECT destination, waiting, states FROM progress WHERE segment = ?",
  );
  const removals = ["segments WHERE first", "contents WHERE segment", "progress WHERE segment"].map((what) =>
    db.prepare<[number]>(`DELETE FROM ${what} = ?`),
  );
  const markDense = db.prepare<[number]>("UPDATE segments SET dense = 1 WHERE first = ?");
  const keepNumber = db.prepare<[number]>(
    "INSERT INTO meta VALUES ('next_event', ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
  );

  return {
    remove(segments, limit) {
      let [events, delivered, unrouted, moved, next] = [0, 0, 0, 0, 0];
      for (const first of segments) {
        const segment = read.get(first);
        if (!segment) continue;
        const states = readStates.all(first);
        if (isDense(states, segment)) {
          markDense.run(first);
          continue;
        }
        for (const row of states) delivered += removeStates(row, segment);
        for (const removal of removals) removal.run(first);
        events += segment.events;
        moved += states.reduce((sum, { waiting }) => sum + waiting, 0);
        unrouted += countUnrouted(states, segment.events);
        next = Math.max(next, first + segment.events);
        if (events >= limit) break;
      }
      if (next > 0) keepNumber.run(next);
      return { delivered, unrouted, moved };
    },
  };

  /** Answers how many were delivered. */
  function removeStates(row: States, segment: Segment): number {
    const delivered = countLetter(row.states, "d");
    counts.add(row.destination, "delivered", -delivered);
    if (row.waiting > 0) setApart(row, segment);
    return delivered;
  }

  function setApart({ destination, states }: States, packed: Segment): void {
    const { segment, acceptedAt } = packed;
    const waiting = { destination, segment, acceptedAt, dueAt: acceptedAt, attempts: 0, stoodStill: 0 };
    unpackBodies(packed).forEach((body, at) => {
      if (states[at] === "w") tried.add({ ...waiting, id: segment + at, body });
    });
  }
}

/**
 * Whether what waits in a segment takes more space by itself than all of the segment, which is compressed; or nobody can say,
 * as it is damaged: it stays where it is, and must not keep the others from going.
 */
function isDense(rows: readonly States[], packed: Segment): boolean {
  const waiting = rows.filter((row) => row.waiting > 0);
  if (waiting.length === 0) return false;
  const lines = linesOf(packed);
  if (lines === null) return true;
  const sizes = waiting.map(({ states }) =>
    lines.reduce((sum, line, at) => sum + (states[at] === "w" ? line.length : 0), 0),
  );
  return sizes.reduce((sum, size) => sum + size, 0) >= packed.bodies.length;
}

function linesOf(packed: Segment): readonly string[] | null {
  try {
    return unpackBodies(packed);
  } catch {
    // Whoever reads it to send it tells.
    return null;
  }
}

function countUnrouted(rows: readonly States[], events: number): number {
  let unrouted = 0;
  for (let at = 0; at < events; at += 1) if (rows.every(({ states }) => states[at] === "-")) unrouted += 1;
  return unrouted;
}
