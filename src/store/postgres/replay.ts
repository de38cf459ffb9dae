import { NO_ATTEMPTS } from "../../model/delivery.ts";
import type { ListedDelivery } from "../../model/lookup.ts";
import { onlyAttempt } from "../listed.ts";
import type { ReplaySteps, Settled } from "../replay.ts";
import { setApart } from "./apart.ts";
import type { Change } from "./counts.ts";
import type { Sql, Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { createKept, SEGMENT_OF_E } from "./kept.ts";
import type { Superseding } from "./superseded.ts";
import { withBodies } from "./waiting.ts";

type ReplayParts = {
  readonly engine: Pick<Engine, "db" | "write" | "counts" | "news">;
  /** Whether the user of a delivery was deleted after its event had come. */
  readonly isForgotten: (sql: Sql, delivery: ListedDelivery) => Promise<boolean>;
  readonly superseding: Superseding;
};

/** The steps of a replay (store/replay.ts), each one transaction, in whichever streams. */
export function createReplaySteps({ engine, isForgotten, superseding }: ReplayParts): ReplaySteps {
  const { db, write, counts, news } = engine;
  return {
    async outdated(found) {
      const why = new Map<ListedDelivery, "deleted" | "superseded">();
      for (const one of found) {
        if (await isForgotten(db, one)) why.set(one, "deleted");
        else if (await superseding.isSuperseded(db, one)) why.set(one, "superseded");
      }
      return why;
    },
    sendAgain(settled, mayBeOld) {
      return write("send again", async (tx) => {
        await superseding.lock(tx, settled);
        // Checked again: since the lookup a user may have been deleted, or a newer call may have come. Of several calls
        // about a user who has left, the last one counts.
        const allowed: Settled[] = [];
        for (const one of settled.toSorted((one, other) => other.id - one.id)) {
          if (await isForgotten(tx, one)) continue;
          if (!mayBeOld && (await superseding.isSuperseded(tx, one))) continue;
          await superseding.keep(tx, one);
          allowed.push(one);
        }
        // Bits first: everything locks rows of `progress` before those of `tried`.
        const done = [...(await replayBits(tx, allowed)), ...(await replayRows(tx, allowed))];
        await counts.add(tx, done.flatMap(toChanges));
        if (done.length > 0) await news.announce(tx, "moved", "retries");
        return done.map(({ one }) => one);
      });
    },
    hurry({ id, destination }) {
      return write("send now", async (tx) => {
        const hurried = await tx.query(HURRY, [tx.now, id, destination]);
        if (hurried.length > 0) await news.announce(tx, "moved", "retries");
        return hurried.length > 0 ? "hurried" : "due";
      });
    },
  };
}

const HURRY = `UPDATE tried SET due_at = $1
  WHERE event = $2 AND destination = $3 AND state = 'waiting' AND due_at > $1 RETURNING 1`;

/** A delivery that waits again. */
type Replayed = { readonly one: Settled; readonly stream: number };

function toChanges({ one: { destination, state }, stream }: Replayed): readonly Change[] {
  return [
    { stream, destination, state, by: -1 },
    { stream, destination, state: "waiting", by: 1 },
  ];
}

/** Those with rows that are still in the state they were found in. */
async function replayRows(tx: Tx, settled: readonly Settled[]): Promise<readonly Replayed[]> {
  if (settled.length === 0) return [];
  const rows = await tx.query<{ nth: number; stream: number }>(REPLAY, [
    settled.map(({ id }) => id),
    settled.map(({ destination }) => destination),
    settled.map(({ state }) => state),
    settled.map(logOf),
    tx.now,
  ]);
  return rows.flatMap(({ nth, stream }) => {
    const one = settled[nth - 1];
    return one ? [{ one, stream }] : [];
  });
}

/** The log that its first attempt would have, if that delivered it. */
function logOf(one: Settled): string | null {
  const log = onlyAttempt(one);
  return log === NO_ATTEMPTS ? null : JSON.stringify(log);
}

const REPLAY = `WITH found AS MATERIALIZED (
    SELECT r.nth, r.log, t.event, t.destination, t.state
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS r (event, destination, state, log, nth)
    JOIN tried t ON t.event = r.event AND t.destination = r.destination AND t.state = r.state
    ORDER BY t.event, t.destination FOR UPDATE OF t
  )
  UPDATE tried t SET state = 'waiting', due_at = $5, replayed_at = $5, log = coalesce(t.log, f.log::json), attempts = 0,
    first_attempt_at = NULL, attempted_at = NULL, stood_still = 0, settled_at = NULL, url = NULL, status = NULL, reason = NULL,
    finals = NULL
  FROM found f WHERE t.event = f.event AND t.destination = f.destination AND t.state = f.state
  RETURNING f.nth, t.stream`;

/** Those that their first attempt delivered, and that have no row yet. */
async function replayBits(tx: Tx, settled: readonly Settled[]): Promise<readonly Replayed[]> {
  const delivered = new Map(settled.filter(({ state }) => state === "delivered").map((one) => [keyOf(one), one]));
  if (delivered.size === 0) return [];
  const names = [...delivered.values()];
  const found = await tx.query<Place>(PLACES, [names.map(({ id }) => id), names.map(({ destination }) => destination)]);
  const bits = found.map((one) => ({ ...one, kind: "bit", size: 0 }) as const);
  const fresh = { state: "waiting", attempts: 0, firstAttemptAt: null, attemptedAt: null, stoodStill: 0 } as const;
  const unsettled = { settledAt: null, url: null, status: null, reason: null, finals: [] } as const;
  const again = (await withBodies(createKept(tx), bits, Number.MAX_SAFE_INTEGER)).flatMap((bit) => {
    const one = delivered.get(keyOf(bit));
    if (!one || bit.body === null) return [];
    const since = { dueAt: tx.now, replayedAt: tx.now, log: onlyAttempt(one), body: bit.body };
    return [{ ...bit, ...fresh, ...unsettled, ...since, one }];
  });
  return setApart(tx, "delivered", again);
}

type Place = Pick<ListedDelivery, "id" | "destination"> & { readonly segment: number; readonly stream: number };

function keyOf({ id, destination }: Pick<ListedDelivery, "id" | "destination">): string {
  return `${id} ${destination}`;
}

const PLACES = `SELECT e.id, e.destination, p.segment, p.stream
  FROM unnest($1::bigint[], $2::text[]) AS e (id, destination) CROSS JOIN ${SEGMENT_OF_E}
  JOIN progress p ON p.segment = s.first AND p.destination = e.destination
  WHERE CASE WHEN e.id < s.first + s.events THEN get_bit(p.delivered, (e.id - s.first)::int) = 1 ELSE false END
  ORDER BY e.id`;
