import { type Ms, SECOND } from "../../model/units.ts";
import type { Counts } from "./counts.ts";
import type { Database, Sql, Tx } from "./database.ts";

/** How daemons watch each other. */
export type Pace = {
  /** How often a daemon says that it is alive. */
  readonly beat: Ms;
  /** How long, by the database's clock, it may be silent until others take its streams and its work. */
  readonly silence: Ms;
  /** How often it looks for news: what an operator asks of one daemon holds for all within two seconds. */
  readonly look: Ms;
};

export const PACE: Pace = { beat: 2 * SECOND, silence: 6 * SECOND, look: SECOND };

/** A stream, and the epoch in which it is held. */
export type Held = { readonly stream: number; readonly epoch: number };

export type Claimant = {
  /** The name of this daemon, different with each start. */
  readonly name: string;
  readonly counts: Counts;
  readonly pace: Pace;
};

/** Something waits in the stream `s`. */
const WAITS = `(EXISTS (SELECT FROM progress p WHERE p.stream = s.id AND NOT p.done)
  OR EXISTS (SELECT FROM tried t WHERE t.stream = s.id AND t.state = 'waiting'))`;

/**
 * How long a daemon waits for what others have locked, such as one that was frozen in the middle of a transaction, before it
 * sees to the next thing.
 */
export const PATIENCE: Ms = SECOND;

/** Which of these streams this daemon still holds. Nobody takes them before the end of the transaction. */
export async function keepStreams(tx: Tx, held: ReadonlyMap<number, number>): Promise<ReadonlySet<number>> {
  const rows = await tx.query<{ id: number }>(
    `SELECT s.id FROM unnest($1::smallint[], $2::bigint[]) h (id, epoch) JOIN streams s ON s.id = h.id AND s.epoch = h.epoch
     ORDER BY s.id FOR KEY SHARE OF s`,
    [[...held.keys()], [...held.values()]],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Says that the holder of these streams is alive. Answers which of them it still holds. */
export async function beatStreams(tx: Tx, held: ReadonlyMap<number, number>): Promise<ReadonlySet<number>> {
  const rows = await tx.query<{ id: number }>(
    `UPDATE streams SET beat_at = the_time() FROM unnest($1::smallint[], $2::bigint[]) h (id, epoch)
     WHERE streams.id = h.id AND streams.epoch = h.epoch RETURNING streams.id`,
    [[...held.keys()], [...held.values()]],
  );
  return new Set(rows.map(({ id }) => id));
}

/** What other daemons and operators know about a daemon. */
export type DaemonRow = {
  /** JSON: its version, machine, process and addresses. */
  readonly about: string;
  /** Up to which version it has read the news. */
  readonly seenVersion: number;
  /** The destinations that it has attempts under way for. */
  readonly sending: readonly string[];
};

/** Says that this daemon is alive. Answers how many are, and whether the server remembers that it has said so before. */
export async function beatDaemon(
  tx: Tx,
  { name, pace }: Claimant,
  { about, seenVersion, sending }: DaemonRow,
): Promise<{ readonly alive: number; readonly remembered: boolean }> {
  await tx.query(
    `INSERT INTO daemons VALUES ($1, $2::json, the_time(), $3, $4::json)
     ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, seen_version = excluded.seen_version, sending = excluded.sending`,
    [name, about, seenVersion, JSON.stringify(sending)],
  );
  await tx.query(
    `WITH dead AS (DELETE FROM daemons WHERE beat_at < the_time() - $1 RETURNING id)
     DELETE FROM remembered USING dead WHERE daemon = dead.id`,
    [10 * pace.silence],
  );
  const forgotten = await tx.query("INSERT INTO remembered VALUES ($1) ON CONFLICT DO NOTHING RETURNING daemon", [
    name,
  ]);
  const alive = await tx.query("SELECT FROM daemons WHERE beat_at >= the_time() - $1", [pace.silence]);
  return { alive: alive.length, remembered: forgotten.length === 0 };
}

/** Takes the work that one daemon does for all, or keeps it. Answers whether it has it. */
export async function runForWork(tx: Tx, { name, pace }: Claimant): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE leases SET holder = $1, beat_at = the_time()
     WHERE name = 'work' AND (holder IS NULL OR holder = $1 OR beat_at < the_time() - $2) RETURNING holder`,
    [name, pace.silence],
  );
  return rows.length > 0;
}

type Judge = Pick<Claimant, "name" | "pace"> & {
  /** Whether to believe that a silent daemon is dead. */
  readonly mayJudge: boolean;
};

/**
 * Streams without a holder in which something waits, those whose holder is silent, and those that this daemon has taken without
 * knowing, as the commit was not answered.
 */
export function findOrphans(
  db: Database,
  held: ReadonlyMap<number, number>,
  { name, pace, mayJudge }: Judge,
): Promise<readonly Held[]> {
  return db.query<Held>(
    `SELECT s.id AS stream, s.epoch FROM streams s WHERE s.id <> ALL ($1::smallint[])
       AND (s.holder = $4 OR $3 AND s.holder IS NOT NULL AND s.beat_at < the_time() - $2 OR s.holder IS NULL AND ${WAITS}) ORDER BY s.id`,
    [[...held.keys()], pace.silence, mayJudge, name],
  );
}

/** Those of these streams in which nothing waits. */
export async function findIdle(sql: Sql, streams: readonly number[]): Promise<readonly number[]> {
  const idle = await sql.query<{ id: number }>(
    `SELECT id FROM streams s WHERE id = ANY ($1::smallint[]) AND NOT ${WAITS}`,
    [streams],
  );
  return idle.map(({ id }) => id);
}

/** Gives up those of these streams in which nothing waits. Answers which. */
export async function letGo(tx: Tx, streams: readonly number[], name: string): Promise<readonly number[]> {
  const idle = await tx.query<{ id: number }>(
    `UPDATE streams s SET holder = NULL, dirty = false WHERE id = ANY ($1::smallint[]) AND holder = $2 AND NOT ${WAITS} RETURNING id`,
    [streams, name],
  );
  return idle.map(({ id }) => id);
}

/** Takes a stream that nobody holds, or makes one. */
export async function claimHome(db: Database, claimant: Claimant): Promise<Held> {
  for (;;) {
    const claimed = await db.transaction(async (tx) => {
      const [free] = await tx.query<Held>(
        "SELECT id AS stream, epoch FROM streams WHERE holder IS NULL ORDER BY id LIMIT 1",
      );
      if (free) return takeOver(tx, free, claimant);
      const [made] = await tx.query<Held>(
        `INSERT INTO streams SELECT coalesce(max(id), 0) + 1, $1, 1, the_time(), true FROM streams
         ON CONFLICT DO NOTHING RETURNING id AS stream, epoch`,
        [claimant.name],
      );
      return made ?? null;
    });
    // Otherwise another daemon was quicker.
    if (claimed) return claimed;
  }
}

/** Takes the stream, unless another daemon has taken it meanwhile. Its deliveries must be counted if its last holder did not store the counts. */
export async function takeOver(tx: Tx, from: Held, claimant: Claimant): Promise<Held | null> {
  const [was] = await tx.query<{ dirty: boolean }>("SELECT dirty FROM streams WHERE id = $1", [from.stream]);
  const taken = await take(tx, from, claimant);
  if (taken && was?.dirty) claimant.counts.doubt([from.stream]);
  return taken;
}

/**
 * Raises the epoch. The lock waits for writes that are under way for the old epoch; those that come later are refused.
 * Answers null if the stream is somebody else's.
 */
export async function take(tx: Tx, { stream, epoch }: Held, { name, pace }: Claimant): Promise<Held | null> {
  await tx.query("SELECT FROM streams WHERE id = $1 FOR UPDATE", [stream]);
  const [row] = await tx.query<Held>(
    `UPDATE streams SET holder = $3, epoch = epoch + 1, beat_at = the_time(), dirty = true
     WHERE id = $1 AND (holder = $3 OR epoch = $2 AND (holder IS NULL OR beat_at < the_time() - $4)) RETURNING id AS stream, epoch`,
    [stream, epoch, name, pace.silence],
  );
  return row ?? null;
}

type Leaving = Pick<Claimant, "name"> & {
  /** The streams whose counts may be wrong. */
  readonly doubts: readonly number[];
};

/** Gives everything up, so that others can take it at once. */
export async function giveUpAll(tx: Tx, held: ReadonlyMap<number, number>, { name, doubts }: Leaving): Promise<void> {
  await tx.query(
    `UPDATE streams SET holder = NULL, dirty = streams.id = ANY ($3::smallint[]) FROM unnest($1::smallint[], $2::bigint[]) h (id, epoch)
     WHERE streams.id = h.id AND streams.epoch = h.epoch`,
    [[...held.keys()], [...held.values()], doubts],
  );
  await tx.query("UPDATE leases SET holder = NULL WHERE holder = $1", [name]);
  await tx.query("DELETE FROM daemons WHERE id = $1", [name]);
  await tx.query("DELETE FROM remembered WHERE daemon = $1", [name]);
}
