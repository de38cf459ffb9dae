/**
 * Reads deliveries as plain values wherever they are kept: as bits of their segment or as rows of `tried`. In a transaction
 * it sees what the same transaction has written.
 */

import type { ListedDelivery } from "../../model/lookup.ts";
import type { At } from "../../model/units.ts";
import { fromRow, fromSegment, LISTED, type TriedRow } from "../listed.ts";
import { type About, Damage, damaged, parseAbout, unpackBodies } from "../segment.ts";
import { readTakers } from "../takers.ts";
import { onesIn, textOrPacked } from "./bits.ts";
import type { Sql } from "./database.ts";
import { fromStored } from "./text.ts";

/** A row of `segments`, with what its progress says. */
export type Segment = {
  readonly first: number;
  readonly stream: number;
  readonly events: number;
  readonly acceptedAt: At;
  /** Deliveries that wait for their first attempt. */
  readonly open: number;
  readonly settledAt: At | null;
};

/** A delivery that waits. `segment` is 0 if the segment is pruned. */
export type Waiting = {
  readonly kind: "bit" | "row";
  readonly id: number;
  readonly destination: string;
  readonly stream: number;
  readonly segment: number;
  /** Bytes of its row; 0 for a bit, which is moved without its body. */
  readonly size: number;
};

/** What a segment has of its events. */
export type Contents = {
  readonly acceptedAt: At;
  readonly about: readonly About[];
  readonly bodies: readonly string[];
};

type Name = { readonly id: number; readonly destination: string };
type Only = { readonly id?: number; readonly destination?: string | null };
/** The states of deliveries that have no row of their own. */
export type BitState = "waiting" | "delivered";

export type Kept = {
  /** The segment that an event is in; null if it was pruned. */
  segmentOf(event: number): Promise<Segment | null>;
  /** Segments up to this event, the newest first. */
  segmentsDown(from: number, limit: number): Promise<readonly Segment[]>;
  /** Segments after this event and up to the other one, the oldest first. */
  segmentsUp(after: number, upTo: number, limit: number): Promise<readonly Segment[]>;
  /** What these segments have. Rejects if one is missing or damaged, as all that read segments do. */
  contents(segments: readonly number[]): Promise<ReadonlyMap<number, Contents>>;
  /** Describes the events of a segment. */
  about(segment: number): Promise<readonly About[]>;
  bodies(segment: number): Promise<readonly string[]>;
  /** The deliveries of a segment in one of these states: all, or those of one event or destination. */
  listed(segment: Listing, wanted: readonly BitState[], only?: Only): Promise<readonly ListedDelivery[]>;
  /** Those of many segments, read together. */
  listedIn(segments: readonly Listing[], wanted: readonly BitState[], only?: Only): Promise<readonly ListedDelivery[]>;
  rowsOf(event: number): Promise<readonly ListedDelivery[]>;
  /** Rows of `tried` after this place, by event and destination. */
  rowsUp(after: Name, upTo: number, limit: number): Promise<readonly ListedDelivery[]>;
  /** The same backwards, down to the event `floor`. */
  rowsDown(before: Name, floor: number, limit: number): Promise<readonly ListedDelivery[]>;
  /** The body of a delivery; `{}` if it is no longer kept. */
  body(place: Name): Promise<string>;
  /** The waiting deliveries of these events, by number; bits come before rows. */
  waitingOf(events: readonly number[]): Promise<readonly Waiting[]>;
  /** The waiting deliveries of a destination, by age; bits come before rows. */
  waitingFor(destination: string, limit: number): Promise<readonly Waiting[]>;
};

type Listing = Pick<Segment, "first" | "acceptedAt">;

export function createKept(sql: Sql): Kept {
  const contents = createContents(sql);
  const listedIn = createListed(sql);
  const contentsOf: Kept["contents"] = async (segments) => {
    const found = await contents(SEGMENTS, [segments]);
    const missing = segments.find((segment) => !found.has(segment));
    if (missing !== undefined) throw withRemedy(damaged(missing, "it has no contents"));
    return found;
  };
  const rows = async (text: string, values: readonly unknown[]): Promise<readonly ListedDelivery[]> =>
    (await sql.query<TriedRow>(text, values)).map(fromTried);

  return {
    segmentOf: async (event) => (await sql.query<Segment>(SEGMENT_OF, [event]))[0] ?? null,
    segmentsDown: (from, limit) => sql.query<Segment>(segmentsDown(limit), [from]),
    segmentsUp: (after, upTo, limit) => sql.query<Segment>(segmentsUp(limit), [after, upTo]),
    contents: contentsOf,
    async about(segment) {
      const [row] = await sql.query<{ about: string }>("SELECT about FROM segments WHERE first = $1", [segment]);
      return explain(() => parseAbout(segment, row?.about));
    },
    bodies: async (segment) => (await contentsOf([segment])).get(segment)?.bodies ?? [],
    listed: (segment, ...ask) => listedIn([segment], ...ask),
    listedIn,
    rowsOf: (event) => rows(ROWS_OF, [event]),
    rowsUp: ({ id, destination }, upTo, limit) => rows(ROWS_UP, [id, destination, upTo, limit]),
    rowsDown: ({ id, destination }, floor, limit) => rows(ROWS_DOWN, [floor, id, destination, limit]),
    async body({ id, destination }) {
      const [row] = await sql.query<{ body: string }>("SELECT body FROM tried WHERE event = $1 AND destination = $2", [
        id,
        destination,
      ]);
      if (row) return row.body;
      const [[segment, found] = []] = await contents(SEGMENT_AROUND, [id]);
      return found?.bodies[id - (segment ?? id)] ?? "{}";
    },
    ...createWaiting(sql),
  };
}

/** A row of `tried`, as `LISTED` reads it. */
export function fromTried(row: TriedRow): ListedDelivery {
  return fromRow({ ...row, reason: row.reason && fromStored(row.reason) });
}

/** What an operator of PostgreSQL does about damage. */
export function withRemedy(error: unknown): unknown {
  return error instanceof Damage ? new Error(`${error.what}; ${REMEDY}`, { cause: error.cause }) : error;
}

const REMEDY = "stop all daemons, check the database with pg_amcheck, and restore a backup";

/** The same for what `read` throws. */
export function explain<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw withRemedy(error);
  }
}

type PackedRow = {
  readonly first: number;
  readonly events: number;
  readonly acceptedAt: At;
  readonly about: string;
  readonly bodies: Buffer;
  readonly sum: number;
};

const CONTENTS = `SELECT first, events, accepted_at AS "acceptedAt", about, bodies, sum FROM segments`;
const SEGMENTS = `${CONTENTS} WHERE first = ANY ($1::bigint[])`;
const SEGMENT_AROUND = `SELECT * FROM (${CONTENTS} WHERE first <= $1 ORDER BY first DESC LIMIT 1) s WHERE first + events > $1`;

function createContents(sql: Sql) {
  return async function contents(text: string, values: readonly unknown[]): Promise<ReadonlyMap<number, Contents>> {
    const rows = await sql.query<PackedRow>(text, values);
    return explain(() => new Map(rows.map((row) => [row.first, unpack(row)])));
  };
}

function unpack({ first: segment, acceptedAt, about, bodies, ...row }: PackedRow): Contents {
  const unpacked = unpackBodies({ ...row, segment, about, bodies: textOrPacked(bodies) });
  return { acceptedAt, about: parseAbout(segment, about), bodies: unpacked };
}

/** The rows of `progress`, and of each of their segments one with what it says of its events. */
const LISTED_IN = `
  WITH found AS (
    SELECT segment, destination, waiting, delivered, takers FROM progress
    WHERE segment = ANY ($1::bigint[]) AND ($2::text IS NULL OR destination = $2)
      AND ($3 AND NOT done OR $4 AND bit_count(delivered) > 0)
  )
  SELECT segment, destination, waiting, delivered, takers, NULL::json AS about FROM found
  UNION ALL
  SELECT first, NULL, NULL, NULL, NULL, about FROM segments WHERE first IN (SELECT segment FROM found)`;

type Bits = {
  readonly segment: number;
  readonly destination: string;
  readonly waiting: string;
  readonly delivered: string;
  readonly takers: string;
};
type Described = { readonly segment: number; readonly destination: null; readonly about: string };

function createListed(sql: Sql): Kept["listedIn"] {
  return async function listedIn(segments, wanted, { id, destination = null } = {}) {
    const acceptedAt = new Map(segments.map((segment) => [segment.first, segment.acceptedAt]));
    const [waiting, delivered] = [wanted.includes("waiting"), wanted.includes("delivered")];
    const rows = await sql.query<Bits | Described>(LISTED_IN, [
      [...acceptedAt.keys()],
      destination,
      waiting,
      delivered,
    ]);
    const texts = new Map(rows.flatMap((row) => (row.destination === null ? [[row.segment, row.about]] : [])));
    const abouts = new Map<number, readonly About[]>();
    return explain(() =>
      rows.filter(isBits).flatMap((bits) => {
        const about = abouts.get(bits.segment) ?? parseAbout(bits.segment, texts.get(bits.segment));
        abouts.set(bits.segment, about);
        return listBits(bits, about, { acceptedAt: acceptedAt.get(bits.segment) ?? 0, waiting, delivered, id });
      }),
    );
  };
}

function isBits(row: Bits | Described): row is Bits {
  return row.destination !== null;
}

type Wanted = {
  readonly acceptedAt: At;
  readonly waiting: boolean;
  readonly delivered: boolean;
  readonly id: number | undefined;
};

function listBits(bits: Bits, about: readonly About[], wanted: Wanted): readonly ListedDelivery[] {
  const { segment, destination } = bits;
  const takers = wanted.delivered ? readTakers(segment, bits.takers) : new Map<number, never>();
  return about.flatMap((event, nth) => {
    const name = { id: segment + nth, destination };
    if (wanted.id !== undefined && wanted.id !== name.id) return [];
    const isDelivered = bits.delivered[nth] === "1";
    if (isDelivered ? !wanted.delivered : !wanted.waiting || bits.waiting[nth] !== "1") return [];
    const by = isDelivered ? (takers.get(name.id) ?? null) : null;
    return [fromSegment(name, event, { acceptedAt: wanted.acceptedAt, by })];
  });
}

/** The segment that the event `e.id` is in, or the last one before it. */
export const SEGMENT_OF_E = `LATERAL (SELECT first, events, stream FROM segments WHERE first <= e.id ORDER BY first DESC LIMIT 1) s`;

const BITS_OF = `SELECT 'bit' AS kind, e.id, p.destination, p.stream, p.segment, 0 AS size
  FROM unnest($1::bigint[]) AS e (id) CROSS JOIN ${SEGMENT_OF_E} JOIN progress p ON p.segment = s.first
  WHERE CASE WHEN e.id < s.first + s.events THEN get_bit(p.waiting, (e.id - s.first)::int) = 1 ELSE false END`;

/** Of rows as `e`. */
const AS_WAITING = `SELECT 'row' AS kind, e.id, e.destination, e.stream,
  CASE WHEN e.id < s.first + s.events THEN s.first ELSE 0 END AS segment, e.size`;
const ROW = "event AS id, destination, stream, octet_length(body) AS size";

const ROWS_WAITING_OF = `${AS_WAITING}
  FROM (SELECT ${ROW} FROM tried WHERE event = ANY ($1::bigint[]) AND state = 'waiting') e LEFT JOIN ${SEGMENT_OF_E} ON true`;
const WAITING_OF = `${BITS_OF} UNION ALL ${ROWS_WAITING_OF} ORDER BY id, kind, destination`;

/** By stream, as their index is. */
const BITS_FOR = `SELECT p.* FROM streams CROSS JOIN LATERAL
    (SELECT segment, stream, waiting FROM progress
     WHERE stream = streams.id AND destination = $1 AND NOT done ORDER BY segment LIMIT $2) p
  ORDER BY p.segment LIMIT $2`;
const ROWS_FOR = `${AS_WAITING}
  FROM (SELECT ${ROW}, coalesce(replayed_at, accepted_at) AS since FROM tried WHERE destination = $1 AND state = 'waiting'
        ORDER BY coalesce(replayed_at, accepted_at), event LIMIT $2) e LEFT JOIN ${SEGMENT_OF_E} ON true
  ORDER BY e.since, e.id`;

function createWaiting(sql: Sql): Pick<Kept, "waitingOf" | "waitingFor"> {
  return {
    waitingOf: (events) => sql.query<Waiting>(WAITING_OF, [[...new Set(events)]]),
    async waitingFor(destination, limit) {
      const found: Waiting[] = [];
      type Open = { readonly segment: number; readonly stream: number; readonly waiting: string };
      for (const { segment, stream, waiting } of await sql.query<Open>(BITS_FOR, [destination, limit])) {
        for (const at of onesIn(waiting)) {
          found.push({ kind: "bit", id: segment + at, destination, stream, segment, size: 0 });
          if (found.length === limit) return found;
        }
      }
      const rows = await sql.query<Waiting>(ROWS_FOR, [destination, limit - found.length]);
      return [...found, ...rows];
    },
  };
}

/** Of rows as `s`. */
const SEGMENT = `s.first, s.stream, s.events, s.accepted_at AS "acceptedAt", p.open, p.settled_at AS "settledAt"`;
const PROGRESS = `LATERAL (
  SELECT coalesce(sum(bit_count(waiting)), 0)::bigint AS open, max(settled_at) AS settled_at
  FROM progress WHERE segment = s.first) p`;

const SEGMENT_OF = `SELECT ${SEGMENT} FROM (SELECT * FROM segments WHERE first <= $1 ORDER BY first DESC LIMIT 1) s
  CROSS JOIN ${PROGRESS} WHERE s.first + s.events > $1`;
/** The limit, of which there are few, is part of the statement: PostgreSQL sorts the whole table where it does not know it. */
function segmentsDown(limit: number): string {
  return `SELECT ${SEGMENT}
    FROM (SELECT * FROM segments WHERE first <= $1 ORDER BY first DESC LIMIT ${limit}) s CROSS JOIN ${PROGRESS}
    ORDER BY s.first DESC`;
}

function segmentsUp(limit: number): string {
  return `SELECT ${SEGMENT}
    FROM (SELECT * FROM segments WHERE first > $1 AND first <= $2 ORDER BY first LIMIT ${limit}) s CROSS JOIN ${PROGRESS}
    ORDER BY s.first`;
}

const ROWS_OF = `SELECT ${LISTED} FROM tried WHERE event = $1 ORDER BY destination`;
const ROWS_UP = `SELECT ${LISTED} FROM tried WHERE (event, destination) > ($1, $2) AND event <= $3
  ORDER BY event, destination LIMIT $4`;
const ROWS_DOWN = `SELECT ${LISTED} FROM tried WHERE event >= $1 AND (event, destination) < ($2, $3)
  ORDER BY event DESC, destination DESC LIMIT $4`;
