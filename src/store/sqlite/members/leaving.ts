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
  /** Forgets all about a user in these sources; null: in all. Answers in how many computations the user had a value. */
  forget(user: string, sources: readonly string[] | null): number;
};

type Gone = { computation: number; user: string; event: number | null };

/** `waits`: whether anything of an event still waits. */
export function createLeaving(db: Database, uploads: Uploads, waits: (event: number) => boolean): Leaving {
  const first = db.prepare<[number, number], Gone>(
    "SELECT computation, user, event FROM members WHERE computation = ? AND value IS NOT NULL LIMIT ?",
  );
  const clear = db.prepare<[number, string]>("UPDATE members SET value = NULL WHERE computation = ? AND user = ?");
  const remove = db.prepare<[number, string]>("DELETE FROM members WHERE computation = ? AND user = ?");
  const gone = db.prepare<[number], Gone>(
    "SELECT computation, user, event FROM members WHERE value IS NULL ORDER BY computation, event LIMIT ?",
  );
  const forget = createForget(db);

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
    forget(user, sources) {
      // No list takes such an id, and the store would find another user under it.
      if (!user.isWellFormed()) return 0;
      if (sources === null) uploads.forget(user);
      return forget(user, sources);
    },
  };
}

function createForget(db: Database): (user: string, sources: readonly string[] | null) => number {
  const computations = db.prepare<[string], number>("SELECT number FROM computations WHERE source = ?").pluck();
  const all = db.prepare<[], number>("SELECT number FROM computations").pluck();
  const remove = db
    .prepare<[number, string], string | null>("DELETE FROM members WHERE computation = ? AND user = ? RETURNING value")
    .pluck();
  const shrink = db.prepare<[number]>("UPDATE computations SET size = size - 1 WHERE number = ?");
  const syncs = db.prepare<[number], number>("SELECT number FROM syncs WHERE computation = ?").pluck();
  const prepared = db.prepare<[], number>("SELECT number FROM syncs WHERE state = 'prepared'").pluck();
  const removeChange = db.prepare<[number, string]>("DELETE FROM changes WHERE sync = ? AND user = ?");
  const count = db.prepare<[number]>("UPDATE syncs SET done = done + 1 WHERE number = ?");

  return function forget(user, sources) {
    const affected = sources?.flatMap((source) => computations.all(source)) ?? all.all();
    let had = 0;
    for (const number of affected) {
      const value = remove.get(number, user);
      if (typeof value === "string") {
        shrink.run(number);
        had += 1;
      }
      for (const sync of syncs.all(number)) if (removeChange.run(sync, user).changes > 0) count.run(sync);
    }
    if (sources === null) for (const sync of prepared.all()) removeChange.run(sync, user);
    return had;
  };
}
