import type { Database } from "./driver.ts";
import type { Place } from "./progress.ts";

/** A delivery that waits: as a letter of its segment, or in a row of its own in `tried`. */
export type Waiting = Place & {
  readonly kind: "letter" | "row";
  /** Of its row, in bytes; 0 for a letter, which is moved without its body. */
  readonly size: number;
};

export type ReadWaiting = {
  /** Inside a transaction: the first `limit` of a destination, by age; letters come before rows. */
  read(destination: string, limit: number): readonly Waiting[];
  /** Inside a transaction: whether there is any. */
  any(destination: string): boolean;
};

type Letters = { segment: number; states: string };
type Row = { id: number; size: number };

/** Finds what waits for one destination, whatever kind it is, by indexes of what waits only. */
export function createReadWaiting(db: Database): ReadWaiting {
  const letters = db.prepare<[string], Letters>(
    "SELECT segment, states FROM progress WHERE destination = ? AND waiting > 0 ORDER BY segment",
  );
  const rows = db.prepare<[string, number], Row>(
    `SELECT event AS id, octet_length(body) AS size FROM tried WHERE destination = ? AND state = 'waiting'
     ORDER BY coalesce(replayed_at, accepted_at), event LIMIT ?`,
  );
  const segmentOf = createSegmentOf(db);

  return {
    read(destination, limit) {
      const found = readLetters(destination, limit);
      return [...found, ...readRows(destination, limit - found.length)];
    },
    any: (destination) => letters.get(destination) !== undefined || rows.get(destination, 1) !== undefined,
  };

  function readLetters(destination: string, limit: number): readonly Waiting[] {
    const found: Waiting[] = [];
    for (const { segment, states } of letters.iterate(destination)) {
      for (let at = states.indexOf("w"); at >= 0; at = states.indexOf("w", at + 1)) {
        if (found.length === limit) return found;
        found.push({ kind: "letter", id: segment + at, segment, destination, size: 0 });
      }
    }
    return found;
  }

  function readRows(destination: string, limit: number): readonly Waiting[] {
    const found = rows.all(destination, limit);
    return found.map(({ id, size }) => ({ kind: "row", id, segment: segmentOf(id) ?? 0, destination, size }));
  }
}

/** Finds the segment that an event is stored in, or null: what has a row of its own may have outlived it. */
export function createSegmentOf(db: Database): (id: number) => number | null {
  const find = db
    .prepare<[number, number], number>(
      "SELECT first FROM (SELECT first, events FROM segments WHERE first <= ? ORDER BY first DESC LIMIT 1) WHERE first + events > ?",
    )
    .pluck();
  return (id) => find.get(id, id) ?? null;
}
