import type { Notice, NoticeCount, Unnoticed } from "../../model/deletion.ts";
import type { Fault } from "../../model/fault.ts";
import type { Clock } from "../../model/ports.ts";
import { type Fates, type NoticeChange, noticeChange, recount } from "../fates.ts";
import type { Commits, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Kept } from "./kept.ts";
import { readEvent } from "./lookup.ts";
import { fromStoredId } from "./suppressed.ts";

/** Notices checked in one step. */
const STEP = 50;

export type Notices = {
  /** Whether the notice has been made. */
  has(notice: Notice, source: string): boolean;
  /** Notes that it was made, as this event. */
  note(
    tx: Tx,
    notice: Notice,
    as: { readonly source: string; readonly event: number; readonly deliverTo: readonly string[] },
  ): void;
  unnoticed(of: { readonly id: string; readonly source: string }, limit: number): readonly Unnoticed[];
  /** Updates the open notices with the state of their deliveries. Answers a fault if that cannot be written. */
  check(id: string): Promise<Fault | null>;
  /** Whether the state of one of them can still change. */
  areOpen(id: string): boolean;
  /** Their state cannot change any more. */
  close(tx: Tx, id: string): void;
};

type NoticesParts = { readonly commits: Commits; readonly kept: Kept; readonly clock: Clock };

type Row = { source: string; nth: number; event: number; fates: string };
type Change = Pick<Row, "source" | "nth"> & NoticeChange;

/** The notices of deletion requests, and the state of each. */
export function createNotices(db: Database, { commits, kept, clock }: NoticesParts): Notices {
  const { find, insert, close, ...sql } = prepare(db);

  return {
    has: ({ deletion, nth }, source) => find.get(deletion, source, nth) !== undefined,
    note(_tx, { deletion, nth }, { source, event, deliverTo }) {
      const now: Fates = deliverTo.map((destination) => [destination, "waiting"]);
      insert.run(deletion, source, nth, event, JSON.stringify(now), Number(now.length > 0));
      count(deletion, [{ source, nth, before: [], now, open: true }]);
    },
    unnoticed: ({ id, source }, limit) =>
      sql.unnoticed.all(id, id, source, limit).map(({ nth, userId }) => ({ nth, userId: fromStoredId(userId) })),
    async check(id) {
      // A success may still wait to be written, and the next look is a minute away.
      await commits.caughtUp();
      for (let after = 0; ; ) {
        const rows = sql.open.all(id, after, STEP);
        const changes = rows.flatMap(changeOf);
        const refused = changes.length === 0 ? null : await save(id, changes);
        if (refused !== null || rows.length < STEP) return refused;
        after = rows.at(-1)?.event ?? after;
        await clock.nextTurn();
      }
    },
    areOpen: (id) => sql.open.get(id, 0, 1) !== undefined,
    close: (_tx, id) => void close.run(id),
  };

  function changeOf({ source, nth, event, fates }: Row): readonly Change[] {
    const change = noticeChange(fates, readEvent(kept, event));
    return change === null ? [] : [{ source, nth, ...change }];
  }

  async function save(id: string, changes: readonly Change[]): Promise<Fault | null> {
    const run = (): null => {
      for (const { source, nth, now, open } of changes)
        sql.update.run(JSON.stringify(now), Number(open), id, source, nth);
      count(id, changes);
      return null;
    };
    return commits.add({ rows: changes.length, run });
  }

  function count(id: string, changes: readonly Change[]): void {
    const counts: readonly NoticeCount[] = JSON.parse(sql.counts.get(id) ?? "[]");
    sql.saveCounts.run(JSON.stringify(changes.reduce(recount, counts)), id);
  }
}

function prepare(db: Database) {
  return {
    find: db.prepare<[string, string, number]>(
      "SELECT 1 FROM deletion_notices WHERE deletion = ? AND source = ? AND nth = ?",
    ),
    insert: db.prepare<[string, string, number, number, string, number]>(
      "INSERT INTO deletion_notices VALUES (?, ?, ?, ?, ?, ?)",
    ),
    // They are made in their order.
    unnoticed: db.prepare<[string, string, string, number], Unnoticed>(
      `SELECT nth, user_id AS userId FROM deletion_users WHERE deletion = ? AND user_id IS NOT NULL AND nth >
         (SELECT coalesce(max(nth), -1) FROM deletion_notices WHERE deletion = ? AND source = ?) ORDER BY nth LIMIT ?`,
    ),
    open: db.prepare<[string, number, number], Row>(
      `SELECT source, nth, event, fates FROM deletion_notices WHERE deletion = ? AND open = 1 AND event > ?
       ORDER BY event LIMIT ?`,
    ),
    update: db.prepare<[string, number, string, string, number]>(
      "UPDATE deletion_notices SET fates = ?, open = ? WHERE deletion = ? AND source = ? AND nth = ?",
    ),
    close: db.prepare<[string]>("UPDATE deletion_notices SET open = 0 WHERE deletion = ? AND open = 1"),
    counts: db.prepare<[string], string>("SELECT notices FROM deletions WHERE id = ?").pluck(),
    saveCounts: db.prepare<[string, string]>("UPDATE deletions SET notices = ? WHERE id = ?"),
  };
}
