import type { Delivery, FinalAnswer } from "../../model/delivery.ts";
import type { Backlog, QueueAsk, QueuePage, QueuePosition, ReadQueue } from "../../model/ports.ts";
import { type At, MB } from "../../model/units.ts";
import { untried } from "../draft.ts";
import { type About, checksum, damagedRow, MOST_EVENTS, parseAbout, unpackBodies } from "../segment.ts";
import { onesIn, textOrPacked } from "./bits.ts";
import type { Engine } from "./engine.ts";
import { refOf } from "./streams.ts";

/** Characters of bodies in one page; and bytes of them that are read, of which compressed ones become several times as many. */
const MOST_BODY = 2 * MB;
const MOST_READ = MOST_BODY / 4;

/**
 * Reads the waiting deliveries of a destination in the streams that this daemon holds, in the order in which they must be
 * sent. Damaged ones are reported and skipped: they must not be sent, and must not block the others.
 */
export function createReadQueue(engine: Engine): ReadQueue {
  return function readQueue(ask) {
    if (ask.queue === "retry") return readRetries(ask, engine);
    return ask.notOf ? search(ask, ask.notOf, engine) : readFirst(ask, engine);
  };
}

type SegmentRow = {
  readonly segment: number;
  readonly stream: number;
  /** How many segments there were to read. */
  readonly total: number;
  readonly waiting: string;
  readonly events: number;
  readonly acceptedAt: At;
  readonly about: string;
  readonly bodies: Buffer;
  readonly sum: number;
};

type Columns = { readonly order?: "ASC" | "DESC"; readonly bodies?: string; readonly size?: string };

/**
 * For each stream the index gives its segments in order, from the one on that has the event `$4`. `$5` of them are read with
 * their contents, up to `$6` bytes.
 */
const segmentsIn = ({ order = "ASC", bodies = "s.bodies", size = "s.bytes" }: Columns) => `
  SELECT w.segment, w.stream, w.total, w.waiting::text AS waiting, s.events, s.accepted_at AS "acceptedAt", s.about,
    ${bodies} AS bodies, s.sum
  FROM (
    SELECT l.*, sum(${size}) OVER (ORDER BY l.segment ${order}) - ${size} AS before,
      row_number() OVER (ORDER BY l.segment ${order}) AS nth, count(*) OVER ()::int AS total
    FROM unnest($1::smallint[]) held (stream) CROSS JOIN LATERAL (
      SELECT segment, stream, waiting FROM progress p
      WHERE p.stream = held.stream AND p.destination = $2 AND NOT p.done AND p.segment > $3 AND p.segment + length(p.waiting) > $4
      ORDER BY p.segment ${order} LIMIT $5 + 1
    ) l JOIN segments s ON s.first = l.segment
    ORDER BY l.segment ${order} LIMIT $5 + 1
  ) w JOIN segments s ON s.first = w.segment WHERE w.before < $6 AND w.nth <= $5 ORDER BY w.segment ${order}`;
const OLDEST_SEGMENTS = segmentsIn({});
const NEWEST_SEGMENTS = segmentsIn({ order: "DESC" });
const SEGMENTS_WITHOUT_BODIES = segmentsIn({ bodies: "''::bytea", size: "length(s.about::text)" });

async function readFirst(ask: QueueAsk, { db, streams, report }: Engine): Promise<QueuePage> {
  const { destination, limit, newestFirst = false } = ask;
  const after = newestFirst ? 0 : (ask.after?.id ?? 0);
  const rows = await db.query<SegmentRow>(newestFirst ? NEWEST_SEGMENTS : OLDEST_SEGMENTS, [
    ...[[...streams.held().keys()], destination, after - MOST_EVENTS, after + 1, limit, MOST_READ],
  ]);
  const deliveries: Delivery[] = [];
  let size = 0;
  for (const row of rows) {
    try {
      const waiting = waitingIn(row, destination, after);
      size += waiting.reduce((sum, { body }) => sum + body.length, 0);
      deliveries.push(...(newestFirst ? waiting.toReversed() : waiting));
    } catch (error) {
      report.storeFailed(`read the waiting deliveries of ${destination}`, error);
    }
    if (deliveries.length >= limit || size >= MOST_BODY) return { deliveries, more: true };
  }
  const [last] = rows.slice(-1);
  const more = rows.length < (last?.total ?? 0);
  // Where nothing of them is left to send, or all are damaged, the next page begins behind them.
  if (!more || !last || deliveries.length > 0) return { deliveries, more };
  return { deliveries, more, upTo: { dueAt: last.acceptedAt, id: last.segment + last.events - 1 } };
}

/** Segments that a search looks at for one page, the size of what they say of their events, and how many it then reads. */
const MOST_SEARCHED = 256;
const MOST_ABOUT = MOST_READ / 2;
const MOST_FOUND = 8;

/** Reads what the events of each segment are, and the bodies only where it finds one that is not of these sources. */
async function search(ask: QueueAsk, notOf: ReadonlySet<string>, { db, streams, report }: Engine): Promise<QueuePage> {
  const { destination, limit } = ask;
  const after = ask.after?.id ?? 0;
  const rows = await db.query<SegmentRow>(SEGMENTS_WITHOUT_BODIES, [
    ...[[...streams.held().keys()], destination, after - MOST_EVENTS, after + 1, MOST_SEARCHED, MOST_ABOUT],
  ]);
  const passedOver = new Set<string>();
  const found: SegmentRow[] = [];
  let [waiting, last] = [0, rows.at(-1)];
  for (const row of rows) {
    const sources = sourcesIn(row, after);
    for (const source of sources) if (notOf.has(source)) passedOver.add(source);
    const wanted = sources.filter((source) => !notOf.has(source)).length;
    if (wanted > 0) found.push(row);
    waiting += wanted;
    last = row;
    if (waiting >= limit || found.length === MOST_FOUND) break;
  }
  const deliveries: Delivery[] = [];
  for (const row of await withBodies(found, db)) {
    try {
      deliveries.push(...waitingIn(row, destination, after).filter(({ source }) => !notOf.has(source)));
    } catch (error) {
      report.storeFailed(`read the waiting deliveries of ${destination}`, error);
    }
  }
  const more = last !== rows.at(-1) || rows.length < (last?.total ?? 0);
  return {
    deliveries,
    more,
    passedOver,
    ...(last && { upTo: { dueAt: last.acceptedAt, id: last.segment + last.events - 1 } }),
  };
}

async function withBodies(rows: readonly SegmentRow[], db: Engine["db"]): Promise<readonly SegmentRow[]> {
  if (rows.length === 0) return [];
  const read = await db.query<{ segment: number; bodies: Buffer }>(
    "SELECT first AS segment, bodies FROM segments WHERE first = ANY($1::bigint[])",
    [rows.map(({ segment }) => segment)],
  );
  const bodies = new Map(read.map((row) => [row.segment, row.bodies]));
  return rows.flatMap((row) => {
    const own = bodies.get(row.segment);
    return own ? [{ ...row, bodies: own }] : [];
  });
}

/** The source of each waiting event of a segment behind this one. */
function sourcesIn({ segment, waiting, about: text }: SegmentRow, after: number): readonly string[] {
  const about = parseAbout(segment, text);
  return onesIn(waiting, Math.max(0, after + 1 - segment)).map((at) => about[at]?.[0] ?? "");
}

/** The waiting deliveries of a segment behind this event. */
function waitingIn(row: SegmentRow, destination: string, after: number): readonly Delivery[] {
  const { segment, stream, events, acceptedAt, about: text, sum } = row;
  const about = parseAbout(segment, text);
  const bodies = unpackBodies({ segment, events, about: text, bodies: textOrPacked(row.bodies), sum });
  const ref = refOf({ stream, segment });
  return onesIn(row.waiting, Math.max(0, after + 1 - segment)).flatMap((at) => {
    const [event, body] = [about[at], bodies[at]];
    if (!event || body === undefined) return [];
    const [source, type, messageId] = event;
    return [untried({ id: segment + at, destination, ref, source, messageId, type, body, acceptedAt })];
  });
}

type TriedRow = Omit<Delivery, "ref" | "source" | "messageId" | "type" | "finals"> & {
  readonly stream: number;
  readonly about: string;
  readonly finals: string | null;
  readonly sum: number;
};

const RETRIES = `
  SELECT * FROM (
    SELECT l.*, sum(l.size) OVER (ORDER BY l."dueAt", l.id) - l.size AS before
    FROM unnest($1::smallint[]) held (stream) CROSS JOIN LATERAL (
      SELECT event AS id, destination, stream, about, body, sum, bytes AS size, accepted_at AS "acceptedAt", attempts,
        first_attempt_at AS "firstAttemptAt", attempted_at AS "attemptedAt", replayed_at AS "replayedAt",
        stood_still AS "stoodStill", due_at AS "dueAt", finals
      FROM tried t WHERE t.stream = held.stream AND t.destination = $2 AND t.state = 'waiting'
        AND (t.due_at, t.event) > ($3, $4) AND t.due_at <= $5
      ORDER BY t.due_at, t.event LIMIT $6
    ) l ORDER BY l."dueAt", l.id LIMIT $6
  ) w WHERE w.before < $7 ORDER BY w."dueAt", w.id`;

async function readRetries(ask: QueueAsk, { db, streams, report }: Engine): Promise<QueuePage> {
  const { destination, after, dueBy, limit } = ask;
  const { dueAt, id } = after ?? { dueAt: -1, id: -1 };
  const rows = await db.query<TriedRow & { size: number; before: number }>(RETRIES, [
    ...[[...streams.held().keys()], destination, dueAt, id, dueBy, limit, MOST_BODY],
  ]);
  const deliveries: Delivery[] = [];
  let read = 0;
  for (const { size, before: _, ...row } of rows) {
    read += size;
    try {
      deliveries.push(toDelivery(row));
    } catch (error) {
      report.storeFailed(`read the waiting deliveries of ${destination}`, error);
    }
  }
  const last = rows.at(-1);
  const upTo: QueuePosition | null =
    last && last.id !== deliveries.at(-1)?.id ? { dueAt: last.dueAt, id: last.id } : null;
  return { deliveries, more: rows.length === limit || read >= MOST_BODY, ...(upTo && { upTo }) };
}

function toDelivery({ stream, about, sum, finals, ...row }: TriedRow): Delivery {
  if (sum !== checksum(about, row.body)) throw damagedRow(row.id);
  const [source, type, messageId]: About = JSON.parse(about);
  return { ...row, ref: refOf({ stream, segment: 0 }), source, messageId, type, finals: parseFinals(finals) };
}

const NONE: readonly FinalAnswer[] = [];

function parseFinals(text: string | null): readonly FinalAnswer[] {
  return text === null ? NONE : JSON.parse(text);
}

/** `caughtUp`: writes the settlements that wait. */
export function createBacklog({ db, streams, counts }: Engine, caughtUp: () => Promise<void>): Backlog {
  return {
    async nextRetryAt(destination, after) {
      const [row] = await db.query<{ at: number | null }>(
        `SELECT min(l.due_at) AS at FROM unnest($1::smallint[]) held (stream) CROSS JOIN LATERAL (
           SELECT due_at FROM tried t WHERE t.stream = held.stream AND t.destination = $2 AND t.state = 'waiting'
             AND (t.due_at, t.event) > ($3, $4) ORDER BY t.due_at, t.event LIMIT 1
         ) l`,
        [[...streams.held().keys()], destination, after?.dueAt ?? -1, after?.id ?? -1],
      );
      return row?.at ?? null;
    },
    async oldestWaitingAt(destination) {
      await caughtUp();
      const [row] = await db.query<{ at: number | null }>(
        `SELECT least(
           (SELECT min(s.accepted_at) FROM streams st CROSS JOIN LATERAL (
              SELECT segment FROM progress p WHERE p.stream = st.id AND p.destination = $1 AND NOT p.done
              ORDER BY p.segment LIMIT 1
            ) l JOIN segments s ON s.first = l.segment),
           (SELECT coalesce(replayed_at, accepted_at) FROM tried WHERE destination = $1 AND state = 'waiting'
            ORDER BY coalesce(replayed_at, accepted_at), event LIMIT 1)
         ) AS at`,
        [destination],
      );
      return row?.at ?? null;
    },
    async counts() {
      await caughtUp();
      return counts.all(db);
    },
  };
}
