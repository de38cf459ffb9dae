import {
  type Beginning,
  type Computation,
  type ComputationName,
  type Members,
  type OpenSync,
  type Sync,
  syncRunning,
} from "../../model/audience.ts";
import { type Fault, fault } from "../../model/fault.ts";
import type { CallHash } from "../superseded.ts";
import { toText, toValue } from "../uploads.ts";
import type { Sql, Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { fromStored, toStored } from "./text.ts";

/** How many syncs of a computation are kept. */
const KEPT_SYNCS = 10;

type Syncs = Pick<
  Members,
  "all" | "find" | "prepare" | "note" | "begin" | "open" | "pending" | "finish" | "abandon" | "discard"
>;

/**
 * Computations, and the syncs that change them. A sync is `prepared` while its changes are noted, `running` until the last
 * of them is in the outbox, then `finished`. One that is never begun is `abandoned`, and its rows are discarded. Any daemon
 * prepares and begins syncs; one sends them all. Whatever changes the users of a computation locks its row first.
 */
export function createSyncs(engine: Engine, callHash: CallHash): Syncs {
  const { db, write, streams } = engine;
  return {
    all: () => readComputations(db, "removed_at IS NULL ORDER BY source, class, name", []),
    async find({ source, key }) {
      const found = await readComputations(db, "source = $1 AND key = $2 AND removed_at IS NULL", [source, key]);
      return found[0] ?? null;
    },
    ...createPreparing(engine),
    begin: (sync, of) => write("begin a sync", (tx) => begin(tx, sync, of, engine)),
    open: async () => (streams.leads() ? readOpen(db) : []),
    pending: createPending(db, callHash),
    finish: (open) => write("finish a sync", (tx) => finish(tx, open)),
  };
}

/**
 * Nobody else changes the users of these computations until the transaction ends: those with these numbers, or of these
 * sources, where null means all. To be called once, and before anything is announced: two that lock in another order than each
 * other wait for each other. Answers their numbers.
 */
export async function lockComputations(
  tx: Tx,
  which: { readonly numbers: readonly number[] } | { readonly sources: readonly string[] | null },
): Promise<readonly number[]> {
  const [where, values] =
    "numbers" in which
      ? ["number = ANY ($1::bigint[])", which.numbers]
      : ["($1::text[] IS NULL OR source = ANY ($1))", which.sources];
  const rows = await tx.query<{ number: number }>(
    `SELECT number FROM computations WHERE ${where} ORDER BY number FOR NO KEY UPDATE`,
    [values],
  );
  return rows.map(({ number }) => number);
}

/** The store took the daemon for dead. */
const ABANDONED = fault(
  "store_failed",
  "the sync was ended, because this daemon could not reach the database in time: try again",
);

/** What happens to a sync before it runs. */
function createPreparing({ db, write, streams, name }: Engine) {
  return {
    prepare: ({ id, kind }) =>
      write("prepare a sync", async (tx) => {
        const [row] = await tx.query<{ number: number }>(
          "INSERT INTO syncs (id, kind, state, daemon, started_at) VALUES ($1, $2, 'prepared', $3, $4) RETURNING number",
          [id, kind, name, tx.now],
        );
        return row?.number ?? 0;
      }),
    note(sync, changes) {
      const values = new Map(changes.map(({ user, value }) => [toStored(user), toText(value)]));
      return write("note the changes of a sync", async (tx) => {
        const noted = await tx.query(NOTE, [sync, [...values.keys()], [...values.values()]]);
        return noted.length === 0 ? ABANDONED : null;
      });
    },
    abandon: (sync) =>
      write("abandon a sync", async (tx) => {
        await tx.query("UPDATE syncs SET state = 'abandoned' WHERE number = $1 AND state = 'prepared'", [sync]);
        return null;
      }),
    async discard(limit) {
      if (!streams.leads()) return false;
      const [found] = await db.query(`SELECT FROM syncs WHERE ${OVER} LIMIT 1`);
      return found !== undefined && write("discard a sync", (tx) => discardSome(tx, limit));
    },
  } satisfies Partial<Members>;
}

// The lock: a sync that is abandoned gets no more changes.
const NOTE = `
  WITH open AS (SELECT number FROM syncs WHERE number = $1 AND state = 'prepared' FOR SHARE),
  noted AS (
    INSERT INTO changes SELECT number, c."user", c.value FROM open, unnest($2::text[], $3::text[]) c ("user", value)
    ON CONFLICT (sync, "user") DO UPDATE SET value = excluded.value
  )
  SELECT number FROM open`;

/** A daemon that lives holds a stream. */
const OVER = `state = 'abandoned'
  OR state = 'prepared' AND NOT EXISTS (SELECT FROM streams WHERE streams.holder = syncs.daemon)`;

async function discardSome(tx: Tx, limit: number): Promise<boolean> {
  const [one] = await tx.query<{ number: number }>(
    `UPDATE syncs SET state = 'abandoned' WHERE (${OVER}) AND number = (SELECT min(number) FROM syncs WHERE ${OVER})
     RETURNING number`,
  );
  if (!one) return false;
  const removed = await tx.query(
    `DELETE FROM changes WHERE sync = $1 AND "user" IN (SELECT "user" FROM changes WHERE sync = $1 LIMIT $2) RETURNING 1`,
    [one.number, limit],
  );
  if (removed.length < limit) await tx.query("DELETE FROM syncs WHERE number = $1", [one.number]);
  return true;
}

type ComputationRow = Omit<Computation, "syncs"> & { readonly syncs: string };

const SYNC =
  'number, id, kind, started_at AS "startedAt", finished_at AS "finishedAt", added, changed, removed, done FROM syncs';
const COMPUTATION = `SELECT number, id, source, class, name, key, size, created_at AS "createdAt", (
    SELECT coalesce(json_agg(s ORDER BY s.number DESC), '[]') FROM (SELECT ${SYNC} WHERE computation = c.number) s
  ) AS syncs
  FROM computations c`;

async function readComputations(sql: Sql, which: string, values: readonly unknown[]): Promise<readonly Computation[]> {
  const rows = await sql.query<ComputationRow>(`${COMPUTATION} WHERE ${which}`, values);
  return rows.map(({ name, syncs, ...row }) => ({ ...row, name: fromStored(name), syncs: JSON.parse(syncs) }));
}

async function readOpen(sql: Sql): Promise<readonly OpenSync[]> {
  const running = await readComputations(sql, "number IN (SELECT computation FROM syncs WHERE state = 'running')", []);
  const open = running.flatMap((computation) =>
    computation.syncs.filter(({ finishedAt }) => finishedAt === null).map((sync) => ({ sync, computation })),
  );
  return open.toSorted((one, other) => one.sync.number - other.sync.number);
}

/** Null if it no longer exists. */
async function readSync(sql: Sql, sync: number, computation: number): Promise<OpenSync | null> {
  const [found] = await readComputations(sql, "number = $1", [computation]);
  const [row] = await sql.query<Sync>(`SELECT ${SYNC} WHERE number = $1`, [sync]);
  return found && row ? { sync: row, computation: found } : null;
}

async function begin(
  tx: Tx,
  sync: number,
  { added, changed, removed, latest, ...of }: Beginning,
  { streams, news }: Pick<Engine, "streams" | "news">,
): Promise<OpenSync | Fault> {
  const computation = await lockOrInsert(tx, of);
  const [last] = await tx.query<{ number: number | null }>(
    "SELECT max(number) AS number FROM syncs WHERE computation = $1",
    [computation],
  );
  if ((last?.number ?? null) !== latest) return syncRunning(of);
  const begun = await tx.query(
    `UPDATE syncs SET state = 'running', computation = $2, started_at = $3, added = $4, changed = $5, removed = $6
     WHERE number = $1 AND state = 'prepared' RETURNING number`,
    [sync, computation, tx.now, added, changed, removed],
  );
  if (begun.length === 0) return ABANDONED;
  // A removed one comes back as a new one, and still knows which calls about its users may wait.
  await tx.query(
    `UPDATE computations SET id = CASE WHEN removed_at IS NULL THEN id ELSE $2 END,
       created_at = CASE WHEN removed_at IS NULL THEN created_at ELSE $3 END, class = $4, name = $5, removed_at = NULL
     WHERE number = $1`,
    [computation, of.id, tx.now, of.class, toStored(of.name)],
  );
  if (!streams.leads()) await news.announce(tx, "work");
  const open = await readSync(tx, sync, computation);
  if (!open) throw new Error(`sync ${sync} of computation ${computation} is not there`);
  return open;
}

/** Answers the number of the computation with this key, and locks it. A new one is hidden, as after a removal. */
export async function lockOrInsert(tx: Tx, of: ComputationName & { readonly id: string }): Promise<number> {
  const [row] = await tx.query<{ number: number }>(
    `INSERT INTO computations (id, source, class, name, key, size, created_at, removed_at) VALUES ($1, $2, $3, $4, $5, 0, $6, $6)
     ON CONFLICT (source, key) DO UPDATE SET size = computations.size RETURNING number`,
    [of.id, of.source, of.class, toStored(of.name), of.key, tx.now],
  );
  return row?.number ?? 0;
}

async function finish(tx: Tx, { sync, computation }: OpenSync): Promise<OpenSync> {
  await lockComputations(tx, { numbers: [computation.number] });
  await tx.query("UPDATE syncs SET state = 'finished', finished_at = $2 WHERE number = $1 AND state = 'running'", [
    sync.number,
    tx.now,
  ]);
  await tx.query(
    `DELETE FROM syncs WHERE computation = $1 AND state = 'finished' AND number NOT IN
       (SELECT number FROM syncs WHERE computation = $1 ORDER BY number DESC LIMIT $2)`,
    [computation.number, KEPT_SYNCS],
  );
  // Another daemon may have done the same.
  const done = (await readSync(tx, sync.number, computation.number)) ?? {
    sync: { ...sync, finishedAt: tx.now },
    computation,
  };
  if (sync.kind === "list" || sync.kind === "members") return done;
  await tx.query("UPDATE computations SET removed_at = $2 WHERE number = $1", [computation.number, tx.now]);
  await tx.query("DELETE FROM syncs WHERE computation = $1", [computation.number]);
  return done;
}

/**
 * Changes are taken in the order of their users, so each page is searched from where the last one began. Rows deleted
 * before that place would still be read, as long as any old transaction is open.
 */
function createPending(sql: Sql, callHash: CallHash): Members["pending"] {
  const begins = new Map<number, string>();
  return async function pending(sync, limit) {
    const rows = await sql.query<{ user: string; value: string | null }>(
      'SELECT "user", value FROM changes WHERE sync = $1 AND "user" >= $2 ORDER BY "user" LIMIT $3',
      [sync, begins.get(sync) ?? "", limit],
    );
    const [first] = rows;
    if (first) begins.set(sync, first.user);
    else begins.delete(sync);
    return rows.map((row) => {
      const user = fromStored(row.user);
      return { user, value: toValue(row.value), hash: callHash.of(user) };
    });
  };
}
