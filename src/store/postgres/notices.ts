import type { Notice, NoticeCount, StoredDeletions, Unnoticed } from "../../model/deletion.ts";
import type { Fault } from "../../model/fault.ts";
import { type Fates, type NoticeChange, noticeChange, recount } from "../fates.ts";
import type { Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { readEvent } from "./lookup.ts";
import { fromStored } from "./text.ts";

/** Notices checked in one step. */
const STEP = 50;

export type Notices = {
  /** Whether the notice has been made. */
  has(tx: Tx, notice: Notice, source: string): Promise<boolean>;
  /** Notes that it was made, as this event. Rejects if another daemon has just made it. */
  note(tx: Tx, notice: Notice, as: NoticeOf): Promise<void>;
  unnoticed: StoredDeletions["unnoticed"];
  /** Updates the open notices with the state of their deliveries. Answers a fault if that cannot be written. */
  check(id: string): Promise<Fault | null>;
  /** Whether the state of one of them can still change. */
  areOpen(id: string): Promise<boolean>;
  /** Their state cannot change any more. */
  close(tx: Tx, id: string): Promise<void>;
};

type NoticeOf = { readonly source: string; readonly event: number; readonly deliverTo: readonly string[] };

type NoticesParts = Pick<Engine, "db" | "write"> & {
  /** What this daemon has settled is written when it resolves. */
  readonly caughtUp: () => Promise<void>;
};

type Row = {
  readonly source: string;
  readonly nth: number;
  readonly event: number;
  readonly fates: string;
};
type Change = Row & NoticeChange;

/** The notices of deletion requests, and the state of each. */
export function createNotices({ db, write, caughtUp }: NoticesParts): Notices {
  return {
    async has(tx, { deletion, nth }, source) {
      const found = await tx.query("SELECT FROM deletion_notices WHERE deletion = $1 AND source = $2 AND nth = $3", [
        deletion,
        source,
        nth,
      ]);
      return found.length > 0;
    },
    async note(tx, { deletion, nth }, { source, event, deliverTo }) {
      const now: Fates = deliverTo.map((destination) => [destination, "waiting"]);
      const open = now.length > 0;
      await tx.query("INSERT INTO deletion_notices VALUES ($1, $2, $3, $4, $5::json, $6)", [
        deletion,
        source,
        nth,
        event,
        JSON.stringify(now),
        open,
      ]);
      await count(tx, deletion, [{ source, before: [], now }]);
    },
    async unnoticed({ id, source }, limit) {
      const rows = await db.query<Unnoticed>(UNNOTICED, [id, source, limit]);
      return rows.map(({ nth, userId }) => ({ nth, userId: fromStored(userId) }));
    },
    async check(id) {
      // A success may still wait to be written, and the next look is a minute away.
      await caughtUp();
      for (let after = 0; ; ) {
        const rows = await readOpen(id, after, STEP);
        const changes: Change[] = [];
        for (const row of rows) {
          const change = noticeChange(row.fates, await readEvent(db, row.event));
          if (change !== null) changes.push({ ...row, ...change });
        }
        const refused = changes.length === 0 ? null : await write("check notices", (tx) => save(tx, id, changes));
        if (refused !== null || rows.length < STEP) return refused;
        after = rows.at(-1)?.event ?? after;
      }
    },
    areOpen: async (id) => (await readOpen(id, 0, 1)).length > 0,
    async close(tx, id) {
      await tx.query("UPDATE deletion_notices SET open = false WHERE deletion = $1 AND open", [id]);
    },
  };

  function readOpen(id: string, after: number, limit: number): Promise<readonly Row[]> {
    return db.query(OPEN, [id, after, limit]);
  }
}

/** They are made in their order. */
const UNNOTICED = `
  SELECT nth, user_id AS "userId" FROM deletion_users WHERE deletion = $1 AND user_id IS NOT NULL AND nth >
    (SELECT coalesce(max(nth), -1) FROM deletion_notices WHERE deletion = $1 AND source = $2)
  ORDER BY nth LIMIT $3`;
const OPEN = `
  SELECT source, nth, event, fates FROM deletion_notices WHERE deletion = $1 AND open AND event > $2 ORDER BY event LIMIT $3`;

/** Writes only those that are still as they were read: another daemon may have begun to do this work. */
async function save(tx: Tx, id: string, changes: readonly Change[]): Promise<null> {
  const rows = await tx.query<{ at: number }>(SAVE, [
    id,
    changes.map(({ source }) => source),
    changes.map(({ nth }) => nth),
    changes.map(({ fates }) => fates),
    changes.map(({ now }) => JSON.stringify(now)),
    changes.map(({ open }) => open),
  ]);
  const written = rows.flatMap(({ at }) => changes[at - 1] ?? []);
  await count(tx, id, written);
  return null;
}

const SAVE = `
  UPDATE deletion_notices n SET fates = c.now::json, open = c.open
  FROM unnest($2::text[], $3::int[], $4::text[], $5::text[], $6::boolean[])
    WITH ORDINALITY c (source, nth, fates, now, open, at)
  WHERE n.deletion = $1 AND n.source = c.source AND n.nth = c.nth AND n.open AND n.fates::text = c.fates
  RETURNING c.at`;

/** Counts these notices of a request again. */
async function count(
  tx: Tx,
  id: string,
  changes: readonly (Pick<Row, "source"> & Pick<NoticeChange, "before" | "now">)[],
): Promise<void> {
  const [row] = await tx.query<{ notices: string }>("SELECT notices FROM deletions WHERE id = $1 FOR UPDATE", [id]);
  const counts: readonly NoticeCount[] = JSON.parse(row?.notices ?? "[]");
  const now = JSON.stringify(changes.reduce(recount, counts));
  await tx.query("UPDATE deletions SET notices = $2::json WHERE id = $1", [id, now]);
}
