import type { ComparedPage, Comparison, MemberChange, Members } from "../../model/audience.ts";
import { isFault } from "../../model/fault.ts";
import { comparePage, IN_PAGE, type Value as StoredValue } from "../compare.ts";
import type { CallHash } from "../superseded.ts";
import { toText, toValue, type Uploads } from "../uploads.ts";
import type { MemberBatch } from "./append-careful.ts";
import type { Sql, Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { createKept } from "./kept.ts";
import { createSyncs, lockComputations } from "./syncs.ts";
import { fromStored, toStored } from "./text.ts";

type MembersParts = {
  readonly uploads: Uploads;
  readonly callHash: CallHash;
  readonly forgetting: Forgetting;
};

/** Audiences and traits: which user has which value, and the syncs that change it. */
export function createMembers(engine: Engine, { uploads, callHash, forgetting }: MembersParts): Members {
  const { db, write, streams } = engine;
  return {
    ...createSyncs(engine, callHash),
    upload: uploads.open,
    compare: createCompare(db, uploads),
    async values(computation, users) {
      const rows = await db.query<StoredValue>(
        `SELECT "user", value FROM members WHERE computation = $1 AND "user" = ANY ($2::text[]) AND value IS NOT NULL`,
        [computation, users.map(toStored)],
      );
      return new Map(rows.map(({ user, value }) => [fromStored(user), toValue(value)]));
    },
    drop: createDrop(engine),
    async sweep(limit) {
      if (!streams.leads() || !(await isSweepNeeded(db))) return false;
      return write("remove former members", (tx) => sweep(tx, limit));
    },
    async forget(user, sources) {
      const answer = await write("forget a user", (tx) => forgetting.forgetMembers(tx, [user], sources));
      if (sources === null && !isFault(answer)) forgetting.leaveUploads([user]);
      return answer;
    },
  };
}

/** Compares a list with what is stored, page by page. Users are compared, and named between pages, in their stored form. */
function createCompare(sql: Sql, uploads: Uploads): Members["compare"] {
  return async function compare({ upload, computation, others, after }: Comparison): Promise<ComparedPage> {
    // Every user has at least one character.
    const from = after ?? "";
    const wanted = upload === null ? [] : uploads.read(upload, from, IN_PAGE);
    const known = computation === null ? [] : await sql.query<StoredValue>(AFTER, [computation, from, IN_PAGE]);
    const page = comparePage(wanted, known, others);
    return { ...page, changes: page.changes.map(({ user, value }) => ({ user: fromStored(user), value })) };
  };
}

const AFTER = 'SELECT "user", value FROM members WHERE computation = $1 AND "user" > $2 ORDER BY "user" LIMIT $3';

type Known = { user: string; isOpen: boolean; value: string | null; event: number | null };
type Written = { readonly user: string; readonly value: string | null; readonly event: number | null };

/**
 * Reads the rows of the users of these changes. They are different users, and all of one sync. A change that is taken and not
 * written is still to be made: its user may be suppressed, and is then forgotten.
 */
export async function openBatch(tx: Tx, changes: readonly MemberChange[]): Promise<MemberBatch> {
  const [{ sync, computation } = { sync: 0, computation: 0 }] = changes;
  await lockComputations(tx, { numbers: [computation] });
  const rows = await tx.query<Known>(KNOWN, [sync, computation, changes.map(({ user }) => toStored(user))]);
  const known = new Map(rows.map((row) => [row.user, row]));
  const written: Written[] = [];
  let grown = 0;

  return {
    older: rows.flatMap(({ event }) => event ?? []),
    take(change) {
      const row = known.get(toStored(change.user));
      const isOpen = row?.isOpen ?? false;
      if (row) row.isOpen = false;
      return isOpen;
    },
    write(change, event) {
      const user = toStored(change.user);
      const value = toText(change.value);
      written.push({ user, value, event });
      grown += Number(value !== null) - Number(typeof known.get(user)?.value === "string");
    },
    async close() {
      if (written.length === 0) return;
      const [kept, gone] = [written.filter(isKept), written.filter((one) => !isKept(one))];
      await tx.query(WRITE, [
        sync,
        written.map(({ user }) => user),
        computation,
        gone.map(({ user }) => user),
        kept.map(({ user }) => user),
        kept.map(({ value }) => value),
        kept.map(({ event }) => event),
      ]);
      await count(tx, { sync, computation }, { done: written.length, grown });
    },
  };
}

function isKept({ value, event }: Written): boolean {
  return value !== null || event !== null;
}

// LIMIT has each row looked up by its key. A join may read all rows of the sync, until the tables are analyzed.
const KNOWN = `SELECT w."user", m.value, m.event,
    EXISTS (SELECT FROM changes WHERE sync = $1 AND "user" = w."user" LIMIT 1) AS "isOpen"
  FROM unnest($3::text[]) w ("user") LEFT JOIN LATERAL
    (SELECT value, event FROM members WHERE computation = $2 AND "user" = w."user" LIMIT 1) m ON true`;

const WRITE = `
  WITH taken AS (DELETE FROM changes WHERE sync = $1 AND "user" = ANY ($2::text[])),
  gone AS (DELETE FROM members WHERE computation = $3 AND "user" = ANY ($4::text[]))
  INSERT INTO members SELECT $3, k.* FROM unnest($5::text[], $6::text[], $7::bigint[]) k ("user", value, event)
  ON CONFLICT (computation, "user") DO UPDATE SET value = excluded.value, event = excluded.event`;

type SyncPlace = Pick<MemberChange, "sync" | "computation">;

/** Adds to the changes of a sync that are done, and to the users of its computation. */
async function count(
  tx: Tx,
  { sync, computation }: SyncPlace,
  { done, grown }: { readonly done: number; readonly grown: number },
): Promise<void> {
  await tx.query(
    `WITH grown AS (UPDATE computations SET size = size + $3 WHERE number = $1 AND $3 <> 0)
     UPDATE syncs SET done = done + $4 WHERE number = $2`,
    [computation, sync, grown, done],
  );
}

type MemberRow = { readonly computation: number; readonly user: string; readonly event: number | null };

/** Which of these users have an event that waits for a delivery. */
async function waitingAmong<R extends Pick<MemberRow, "event">>(tx: Tx, rows: readonly R[]): Promise<Set<R>> {
  const events = rows.flatMap(({ event }) => event ?? []);
  const waiting = new Set((await createKept(tx).waitingOf(events)).map(({ id }) => id));
  return new Set(rows.filter(({ event }) => event !== null && waiting.has(event)));
}

/**
 * Takes the value from some users, in their order, without calls. A user whose last call waits keeps a row without one, so
 * that a newer call can end that.
 */
function createDrop({ write }: Engine): Members["drop"] {
  // What is deleted before the last one would still be read, as long as any old transaction is open.
  const last = new Map<number, string>();
  return async function drop({ sync: { number: sync }, computation: { number: computation } }, limit) {
    const dropped = await write("drop members", async (tx) => {
      await lockComputations(tx, { numbers: [computation] });
      const rows = await tx.query<MemberRow>(WITH_VALUE, [computation, last.get(sync) ?? "", limit]);
      const waiting = await waitingAmong(tx, rows);
      const [kept, gone] = [rows.filter((row) => waiting.has(row)), rows.filter((row) => !waiting.has(row))];
      await tx.query(DROP, [computation, gone.map(({ user }) => user), kept.map(({ user }) => user)]);
      await count(tx, { sync, computation }, { done: rows.length, grown: -rows.length });
      return rows;
    });
    if (isFault(dropped)) return dropped;
    const end = dropped.at(-1);
    if (end) last.set(sync, end.user);
    else last.delete(sync);
    return dropped.length;
  };
}

const WITH_VALUE = `SELECT computation, "user", event FROM members
  WHERE computation = $1 AND "user" > $2 AND value IS NOT NULL ORDER BY "user" LIMIT $3`;

const DROP = `WITH gone AS (DELETE FROM members WHERE computation = $1 AND "user" = ANY ($2::text[]))
  UPDATE members SET value = NULL WHERE computation = $1 AND "user" = ANY ($3::text[])`;

async function isSweepNeeded(sql: Sql): Promise<boolean> {
  const [found] = await sql.query<{ needed: boolean }>(
    `SELECT EXISTS (SELECT FROM members WHERE value IS NULL)
       OR EXISTS (SELECT FROM computations WHERE removed_at IS NOT NULL) AS needed`,
  );
  return found?.needed ?? false;
}

/** Removes users without a value, and then computations without users. Answers whether there may be more. */
async function sweep(tx: Tx, limit: number): Promise<boolean> {
  const rows = await tx.query<MemberRow>(
    'SELECT computation, "user", event FROM members WHERE value IS NULL ORDER BY computation, event LIMIT $1',
    [limit],
  );
  await lockComputations(tx, { numbers: rows.map(({ computation }) => computation) });
  const waiting = await waitingAmong(tx, rows);
  const over = rows.filter((row) => !waiting.has(row));
  // By their events too, as a newer call about a user may have come before the lock.
  await tx.query(
    `DELETE FROM members WHERE computation = ANY ($1::bigint[]) AND "user" = ANY ($2::text[]) AND event = ANY ($3::bigint[])
       AND value IS NULL`,
    [
      [...new Set(over.map(({ computation }) => computation))],
      over.map(({ user }) => user),
      over.map(({ event }) => event),
    ],
  );
  // Where a whole page still waits, the calls behind it are newer, and wait too.
  const more = rows.length === limit && over.length > 0;
  if (!more) {
    await tx.query(
      `DELETE FROM computations WHERE removed_at IS NOT NULL AND NOT EXISTS (SELECT FROM members WHERE computation = number)`,
    );
  }
  return more;
}

export type Forgetting = {
  /** Forgets users in these sources; null: in all. Answers how many values they had. */
  forgetMembers(tx: Tx, users: readonly string[], sources: readonly string[] | null): Promise<number>;
  /** To be called once they are forgotten in all sources: leaves them out of the lists that are being read here. */
  leaveUploads(users: readonly string[]): void;
};

type ForgettingParts = Pick<Engine, "news"> & { readonly uploads: Uploads; readonly callHash: CallHash };

export function createForgetting({ news, uploads, callHash }: ForgettingParts): Forgetting {
  const hashesOf = (users: readonly string[]): string[] => users.map((user) => callHash.of(toStored(user)));
  news.on("forgotten", (hashes) => uploads.forget(hashes as readonly string[]));
  return {
    async forgetMembers(tx, users, sources) {
      const computations = await lockComputations(tx, { sources });
      const stored = users.map(toStored);
      const [values] = await tx.query<{ count: number }>(FORGET, [computations, stored]);
      // A prepared sync has no computation yet, so its source is unknown.
      await tx.query(FORGET_CHANGES, [stored, sources === null ? null : computations]);
      if (sources === null) await news.announce(tx, "forgotten", hashesOf(users));
      return values?.count ?? 0;
    },
    leaveUploads: (users) => uploads.forget(hashesOf(users)),
  };
}

const FORGET = `
  WITH gone AS (DELETE FROM members WHERE computation = ANY ($1::bigint[]) AND "user" = ANY ($2::text[]) RETURNING *),
  sums AS (SELECT computation, count(value) AS count FROM gone GROUP BY computation),
  shrunk AS (UPDATE computations SET size = size - sums.count FROM sums WHERE number = computation)
  SELECT coalesce(sum(count), 0)::bigint AS count FROM sums`;

const FORGET_CHANGES = `
  WITH gone AS (
    DELETE FROM changes WHERE "user" = ANY ($1::text[]) AND sync = ANY (ARRAY(
      SELECT number FROM syncs WHERE state <> 'finished' AND ($2::bigint[] IS NULL OR computation = ANY ($2))))
    RETURNING sync
  )
  UPDATE syncs SET done = done + g.count FROM (SELECT sync, count(*) AS count FROM gone GROUP BY sync) g
  WHERE number = g.sync AND state = 'running'`;
