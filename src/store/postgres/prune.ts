import type { DeliveryState } from "../../model/delivery.ts";
import { isFault } from "../../model/fault.ts";
import type { Prune, PruneBefore, PruneCounts } from "../../model/ports.ts";
import type { At } from "../../model/units.ts";
import { type Apart, setApart, UNTRIED } from "./apart.ts";
import { onesIn } from "./bits.ts";
import type { Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { createKept } from "./kept.ts";

/**
 * Removes what was kept long enough, on the daemon that does this for all. A segment goes as a whole, when nothing in it waits
 * and the last of it was delivered long enough ago. The search goes on where it ended, so that it does not read over rows that
 * it has removed and that a long transaction keeps on the disk.
 */
export function createPrune(engine: Engine): Prune {
  const { streams, write, size, tell } = engine;
  let after = 0;

  return async function prune(before, limit) {
    for (let steps = 0; streams.leads() && steps < MOST_STEPS; steps += 1) {
      const done = await write("prune", (tx) => step(tx, { before, limit, after }, engine));
      if (isFault(done)) return done;
      after = done.next;
      // A measurement wakes the janitor: one that has found nothing would wake itself forever.
      if (done.bytes > 0) size.add(-done.bytes);
      if (done.moved > 0) tell({ kind: "moved", what: "all" });
      if (Object.values(done.counts).some((count) => count > 0)) return done.counts;
      if (after === 0) return null;
    }
    return null;
  };
}

/** Steps that find nothing, until it rests. */
const MOST_STEPS = 100;

async function step(tx: Tx, wish: Wish, engine: Engine) {
  const moved = wish.before.sparse === undefined ? 0 : await dissolve(tx, wish.before.sparse, wish);
  if (moved > 0) await engine.news.announce(tx, "moved");
  const segments = await pruneSegments(tx, wish, engine);
  const rows = await pruneRows(tx, wish, engine);
  const seen = await pruneSeen(tx, wish);
  const delivered = rows.counts.delivered + segments.delivered;
  const counts: PruneCounts = { ...rows.counts, delivered, unrouted: segments.unrouted, seen };
  return { counts, moved, bytes: segments.bytes + rows.bytes, next: segments.next };
}

/** `after`: the segment that was looked at last. */
type Wish = { readonly before: PruneBefore; readonly limit: number; readonly after: number };
type SegmentRow = {
  readonly first: number;
  readonly bytes: number;
  readonly unrouted: number;
  readonly isOver: boolean;
};

type PrunedSegments = {
  readonly delivered: number;
  readonly unrouted: number;
  readonly bytes: number;
  readonly next: number;
};

/** `next`: where to go on; 0 at the end. */
async function pruneSegments(tx: Tx, { before, after, limit }: Wish, { counts }: Engine): Promise<PrunedSegments> {
  const looked = await tx.query<SegmentRow>(
    `SELECT s.first, s.bytes, coalesce(p.open, false) = false AND coalesce(p.settled_at, s.accepted_at) < $3 AS "isOver",
       s.events - coalesce(p.routed, 0) AS unrouted
     FROM (SELECT * FROM segments WHERE first > $1 ORDER BY first LIMIT $2) s LEFT JOIN LATERAL (
       SELECT bool_or(NOT done) AS open, max(settled_at) AS settled_at, bit_count(bit_or(routed)) AS routed
       FROM progress WHERE segment = s.first HAVING count(*) > 0
     ) p ON true ORDER BY s.first`,
    [after, limit, before.delivered],
  );
  const over = looked.filter(({ isOver }) => isOver);
  const firsts = over.map(({ first }) => first);
  const removed = await tx.query<{ stream: number; destination: string; delivered: number }>(
    `WITH gone AS (DELETE FROM progress WHERE segment = ANY ($1) RETURNING stream, destination, delivered),
       emptied AS (DELETE FROM segments WHERE first = ANY ($1))
     SELECT stream, destination, sum(bit_count(delivered)) AS delivered FROM gone GROUP BY stream, destination`,
    [firsts],
  );
  const some = removed.map((one) => ({ ...one, state: "delivered" as const, by: -Number(one.delivered) }));
  await counts.add(tx, some);
  return {
    delivered: some.reduce((sum, { by }) => sum - by, 0),
    unrouted: over.reduce((sum, one) => sum + Number(one.unrouted), 0),
    bytes: over.reduce((sum, { bytes }) => sum + bytes, 0),
    next: looked.length < limit ? 0 : (looked.at(-1)?.first ?? 0),
  };
}

/**
 * Gives rows of their own to the deliveries that wait in mostly settled segments, so that the segments can go. Answers how many
 * deliveries those were.
 */
async function dissolve(tx: Tx, before: At, { after, limit }: Wish): Promise<number> {
  const sparse = await tx.query<{ first: number }>(
    `SELECT s.first FROM (SELECT first, events, accepted_at FROM segments WHERE first > $1 ORDER BY first LIMIT $2) s
     JOIN progress p ON p.segment = s.first WHERE s.accepted_at < $3
     GROUP BY s.first, s.events HAVING sum(bit_count(p.waiting)) BETWEEN 1 AND s.events / 2`,
    [after, limit, before],
  );
  const kept = createKept(tx);
  const contents = await kept.contents(sparse.map(({ first }) => first));
  const waiting = await tx.query<{ segment: number; destination: string; stream: number; waiting: string }>(
    "SELECT segment, destination, stream, waiting::text AS waiting FROM progress WHERE segment = ANY ($1) AND NOT done",
    [sparse.map(({ first }) => first)],
  );
  const rows = waiting.flatMap(({ waiting: bits, ...place }) => {
    const { bodies = [], acceptedAt = tx.now } = contents.get(place.segment) ?? {};
    return onesIn(bits).map(
      (at): Apart => ({
        ...place,
        ...UNTRIED,
        id: place.segment + at,
        body: bodies[at] ?? "",
        acceptedAt,
        dueAt: acceptedAt,
      }),
    );
  });
  return (await setApart(tx, "waiting", rows)).length;
}

type RemovedRow = {
  readonly stream: number;
  readonly destination: string;
  readonly state: DeliveryState;
  readonly bytes: number;
};

async function pruneRows(tx: Tx, { before, limit }: Wish, { counts }: Engine) {
  const removed = await tx.query<RemovedRow>(
    `DELETE FROM tried t USING (
       (SELECT event, destination FROM tried WHERE state = 'delivered' AND settled_at < $1 ORDER BY settled_at, event LIMIT $3)
       UNION ALL
       (SELECT event, destination FROM tried WHERE state = 'failed' AND settled_at < $2 ORDER BY settled_at, event LIMIT $3)
       UNION ALL
       (SELECT event, destination FROM tried WHERE state = 'expired' AND settled_at < $2 ORDER BY settled_at, event LIMIT $3)
     ) old WHERE t.event = old.event AND t.destination = old.destination AND t.state <> 'waiting'
     RETURNING t.stream, t.destination, t.state, t.bytes`,
    [before.delivered, before.failed, limit],
  );
  await counts.add(
    tx,
    removed.map(({ stream, destination, state }) => ({ stream, destination, state, by: -1 })),
  );
  const number = (state: DeliveryState): number => removed.filter((one) => one.state === state).length;
  return {
    counts: { delivered: number("delivered"), failed: number("failed"), expired: number("expired") },
    bytes: removed.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

async function pruneSeen(tx: Tx, { before: { seen }, limit }: Wish): Promise<number> {
  const removed = await tx.query(
    "DELETE FROM seen WHERE key IN (SELECT key FROM seen WHERE at < $1 LIMIT $2) RETURNING 1",
    [seen, limit * 10],
  );
  return removed.length;
}
