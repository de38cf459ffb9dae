import type { DeliveryRef } from "../../model/delivery.ts";
import type { Clock, StoreChange } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import { type Ms, SECOND } from "../../model/units.ts";
import type { Counts } from "./counts.ts";
import type { Database, Sql, Tx } from "./database.ts";

/** How often a daemon says that it is alive. */
export const BEAT: Ms = 2 * SECOND;
/** How long, by the database's clock, a daemon may be silent until others take its streams and its work. */
export const SILENCE: Ms = 6 * SECOND;

/**
 * Which streams this daemon holds. It writes new events to one of them, its home, and delivers what waits in all. A daemon
 * that dies, or is cut off, stops beating: another one then takes its streams by raising their epoch, and whatever the old
 * holder still writes is refused. Of streams without a holder, those in which something waits are taken.
 */
export type Streams = {
  /** Where new events go. */
  home(): Held;
  /** The epochs of all streams that are held, by stream. */
  held(): ReadonlyMap<number, number>;
  /** Whether this daemon does the work that one does for all. */
  leads(): boolean;
  /** Takes what there is to take, and says that this daemon is alive. Rejects when the database fails. */
  beat(): Promise<void>;
  /** A write was refused, as the stream has another epoch: it is somebody else's. */
  refused(stream: number): Promise<void>;
  /**
   * A connection was lost in the middle of a write: raises the epoch, so that the write has either been committed by then or
   * never will be.
   */
  fence(stream: number): Promise<void>;
  /** Gives up all of them, so that others can take them at once. */
  release(): Promise<void>;
};

export type Held = { readonly stream: number; readonly epoch: number };

export type StreamsParts = {
  readonly db: Database;
  /** The name of this daemon, different with each start. */
  readonly name: string;
  readonly counts: Counts;
  readonly clock: Pick<Clock, "now">;
  readonly report: Pick<Report, "storeFailed">;
  readonly tell: (change: StoreChange) => void;
  /** Called when this daemon has begun to do the work that one does for all. */
  readonly elected: () => void;
};

export async function openStreams(parts: StreamsParts): Promise<Streams> {
  const { db, name, counts, clock, tell } = parts;
  const held = new Map<number, number>();
  let home = await claimHome(parts);
  held.set(home.stream, home.epoch);
  let leadsUntil = 0;

  return {
    home: () => home,
    held: () => held,
    leads: () => clock.now() < leadsUntil,
    beat,
    async refused(stream) {
      held.delete(stream);
      lose();
      if (stream === home.stream) await moveHome();
    },
    async fence(stream) {
      const epoch = held.get(stream);
      if (epoch === undefined) return;
      const next = await db.transaction((tx) => take(tx, { stream, epoch }, name));
      if (next) keep(next);
      else held.delete(stream);
      if (stream === home.stream && !next) await moveHome();
    },
    async release() {
      await db.transaction(async (tx) => {
        await counts.write(tx);
        await tx.query(
          `UPDATE streams SET holder = NULL, dirty = false FROM unnest($1::smallint[], $2::bigint[]) h (id, epoch)
           WHERE streams.id = h.id AND streams.epoch = h.epoch`,
          [[...held.keys()], [...held.values()]],
        );
        await tx.query("UPDATE leases SET holder = NULL WHERE holder = $1", [name]);
        await tx.query("DELETE FROM daemons WHERE id = $1", [name]);
      });
      counts.written();
    },
  };

  async function beat(): Promise<void> {
    const startedAt = clock.now();
    const ours = await db.transaction(async (tx) => {
      const still = await beatOnce(tx, held);
      await counts.write(tx);
      return still;
    });
    counts.written();
    const lost = [...held.keys()].filter((stream) => !ours.has(stream));
    for (const stream of lost) held.delete(stream);
    if (lost.length > 0) lose();
    if (!held.has(home.stream)) await moveHome();
    await takeOrphans();
    await letGo();
    await runForWork(startedAt);
  }

  async function runForWork(startedAt: number): Promise<void> {
    const [row] = await db.query<{ holder: string }>(
      `UPDATE leases SET holder = $1, beat_at = the_time()
       WHERE name = 'work' AND (holder IS NULL OR holder = $1 OR beat_at < the_time() - $2) RETURNING holder`,
      [name, SILENCE],
    );
    const led = clock.now() < leadsUntil;
    // Counted from before the question: another daemon counts from its answer.
    leadsUntil = row ? startedAt + SILENCE : 0;
    if (row && !led) parts.elected();
  }

  async function takeOrphans(): Promise<void> {
    const orphans = await db.query<Held>(ORPHANS, [[...held.keys()], SILENCE]);
    let taken = 0;
    for (const one of orphans) {
      const now = await db.transaction((tx) => takeCounted(tx, one, parts));
      if (now === null) continue;
      keep(now);
      taken += 1;
    }
    if (taken > 0) tell({ kind: "moved" });
  }

  /** A stream that was taken over is given up once nothing waits in it, so that a daemon that starts can have it. */
  async function letGo(): Promise<void> {
    const others = [...held.keys()].filter((stream) => stream !== home.stream);
    if (others.length === 0) return;
    const idle = await db.transaction(async (tx) => {
      await counts.write(tx);
      return tx.query<{ id: number }>(
        `UPDATE streams s SET holder = NULL, dirty = false WHERE id = ANY($1::smallint[]) AND holder = $2 AND NOT (${WAITS})
         RETURNING id`,
        [others, name],
      );
    });
    counts.written();
    for (const { id } of idle) held.delete(id);
  }

  async function moveHome(): Promise<void> {
    home = await claimHome(parts);
    keep(home);
  }

  function keep({ stream, epoch }: Held): void {
    held.set(stream, epoch);
  }

  function lose(): void {
    tell({ kind: "lost", has: (ref) => !held.has(placeOf(ref).stream) });
  }
}

/** On PostgreSQL the reference of a delivery is its stream and the number of its segment. */
export type Place = { readonly stream: number; readonly segment: number };

export function refOf(place: Place): DeliveryRef {
  return place as unknown as DeliveryRef;
}

export function placeOf(ref: DeliveryRef): Place {
  return ref as unknown as Place;
}

/** Something waits in the stream `s`. */
const WAITS = `EXISTS (SELECT FROM progress p WHERE p.stream = s.id AND NOT p.done)
  OR EXISTS (SELECT FROM tried t WHERE t.stream = s.id AND t.state = 'waiting')`;

const ORPHANS = `SELECT s.id AS stream, s.epoch FROM streams s WHERE s.id <> ALL ($1::smallint[])
  AND (s.holder IS NOT NULL AND s.beat_at < the_time() - $2 OR s.holder IS NULL AND (${WAITS})) ORDER BY s.id`;

/** Answers which of them are still held. */
async function beatOnce(tx: Tx, held: ReadonlyMap<number, number>): Promise<ReadonlySet<number>> {
  const rows = await tx.query<{ id: number }>(
    `UPDATE streams SET beat_at = the_time() FROM unnest($1::smallint[], $2::bigint[]) h (id, epoch)
     WHERE streams.id = h.id AND streams.epoch = h.epoch RETURNING streams.id`,
    [[...held.keys()], [...held.values()]],
  );
  return new Set(rows.map(({ id }) => id));
}

/** A stream that nobody holds, or a new one. */
async function claimHome(parts: StreamsParts): Promise<Held> {
  const { db, name } = parts;
  for (;;) {
    const claimed = await db.transaction(async (tx) => {
      const [free] = await tx.query<Held>(
        "SELECT id AS stream, epoch FROM streams WHERE holder IS NULL ORDER BY id LIMIT 1",
      );
      if (free) return takeCounted(tx, free, parts);
      const [made] = await tx.query<Held>(
        `INSERT INTO streams SELECT coalesce(max(id), 0) + 1, $1, 1, the_time(), true FROM streams
         ON CONFLICT DO NOTHING RETURNING id AS stream, epoch`,
        [name],
      );
      return made ?? null;
    });
    // Otherwise another daemon was quicker.
    if (claimed) return claimed;
  }
}

/** Takes the stream if nobody else has meanwhile, and counts its deliveries if its last holder could not write that down. */
async function takeCounted(tx: Tx, from: Held, { name, counts }: StreamsParts): Promise<Held | null> {
  const [dirty] = await tx.query<{ dirty: boolean }>("SELECT dirty FROM streams WHERE id = $1", [from.stream]);
  const taken = await take(tx, from, name);
  if (taken && dirty?.dirty) await counts.recount(tx, from.stream);
  return taken;
}

/**
 * Raises the epoch. The lock waits for writes that are under way for the old epoch; those that come later are refused.
 * Answers null if the epoch is another one already.
 */
async function take(tx: Tx, { stream, epoch }: Held, name: string): Promise<Held | null> {
  await lockStream(tx, stream);
  const [row] = await tx.query<Held>(
    `UPDATE streams SET holder = $3, epoch = epoch + 1, beat_at = the_time(), dirty = true
     WHERE id = $1 AND epoch = $2 AND (holder IS NULL OR holder = $3 OR beat_at < the_time() - $4) RETURNING id AS stream, epoch`,
    [stream, epoch, name, SILENCE],
  );
  return row ?? null;
}

function lockStream(sql: Sql, stream: number): Promise<readonly unknown[]> {
  return sql.query("SELECT FROM streams WHERE id = $1 FOR UPDATE", [stream]);
}
