import type { Database } from "../driver.ts";
import type { Uploads } from "./upload.ts";

/** How users leave the tables for good. All of it inside a transaction. */
export type Leaving = {
  /** So many users lose their value. Answers how many did. */
  drop(computation: number, limit: number): number;
  /** Whether anybody has no value. */
  isUntidy(): boolean;
  /** Forgets so many of those who have no value, if no call about them waits. Answers whether there may be more. */
  sweep(limit: number): boolean;
};

type Gone = { computation: number; user: string; event: number | null };

/** `waits`: whether anything of an event still waits. */
export function createLeaving(db: Database, waits: (event: number) => boolean): Leaving {
  const first = db.prepare<[number, number], Gone>(
    "SELECT computation, user, event FROM members WHERE computation = ? AND value IS NOT NULL LIMIT ?",
  );
  const clear = db.prepare<[number, string]>("UPDATE members SET value = NULL WHERE computation = ? AND user = ?");
  const remove = db.prepare<[number, string]>("DELETE FROM members WHERE computation = ? AND user = ?");
  const gone = db.prepare<[number], Gone>(
    "SELECT computation, user, event FROM members WHERE value IS NULL ORDER BY computation, event LIMIT ?",
  );

  return {
    drop(computation, limit) {
      const rows = first.all(computation, limit);
      for (const { user, event } of rows) {
        if (event !== null && waits(event)) clear.run(computation, user);
        else remove.run(computation, user);
      }
      return rows.length;
    },
    isUntidy: () => gone.get(1) !== undefined,
    sweep(limit) {
      const rows = gone.all(limit);
      const over = rows.filter(({ event }) => event === null || !waits(event));
      for (const { computation, user } of over) remove.run(computation, user);
      // Where a whole page still waits, those behind it were called later, and wait too.
      return rows.length === limit && over.length > 0;
    },
  };
}

/** Inside a transaction: forgets all about users in these sources; null: in all. Answers how many values they had. */
export type ForgetMembers = (users: readonly string[], sources: readonly string[] | null) => number;

type Where = { readonly sources: readonly string[] | null; readonly syncs: readonly number[] };
type Forgotten = { computation: number; value: string | null };

export function createForget(db: Database, uploads: Pick<Uploads, "forget">): ForgetMembers {
  // A lookup for each computation, in one statement.
  const removeAll = db.prepare<[string], Forgotten>(
    `DELETE FROM members WHERE computation IN (SELECT number FROM computations) AND user = ?
     RETURNING computation, value`,
  );
  const removeOf = db.prepare<[string, string], Forgotten>(
    `DELETE FROM members WHERE computation IN (SELECT number FROM computations WHERE source = ?) AND user = ?
     RETURNING computation, value`,
  );
  const shrink = db.prepare<[number]>("UPDATE computations SET size = size - 1 WHERE number = ?");
  // Those that are prepared are of a source that nobody knows yet.
  const unfinished = db.prepare<[], number>("SELECT number FROM syncs WHERE state <> 'finished'").pluck();
  const begunOf = db
    .prepare<[string], number>(
      `SELECT s.number FROM syncs s CROSS JOIN computations c ON c.number = s.computation
       WHERE s.state <> 'finished' AND c.source = ?`,
    )
    .pluck();
  const removeChange = db.prepare<[number, string]>("DELETE FROM changes WHERE sync = ? AND user = ?");
  const count = db.prepare<[number]>("UPDATE syncs SET done = done + 1 WHERE number = ? AND state = 'running'");

  return function forget(users, sources) {
    const syncs = sources?.flatMap((source) => begunOf.all(source)) ?? unfinished.all();
    // No list takes other ids, and the store would find another user under them.
    const named = users.filter((user) => user.isWellFormed());
    return named.reduce((had, user) => had + forgetOne(user, { sources, syncs }), 0);
  };

  function forgetOne(user: string, { sources, syncs }: Where): number {
    if (sources === null) uploads.forget(user);
    const gone = sources?.flatMap((source) => removeOf.all(source, user)) ?? removeAll.all(user);
    const had = gone.filter(({ value }) => value !== null);
    for (const { computation } of had) shrink.run(computation);
    for (const sync of syncs) if (removeChange.run(sync, user).changes > 0) count.run(sync);
    return had.length;
  }
}
