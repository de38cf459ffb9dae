import type { ComparedPage, Comparison, MemberChange, Members } from "../../model/audience.ts";
import { comparePage, IN_PAGE, type Value as StoredValue } from "../compare.ts";
import type { CallHash } from "../superseded.ts";
import { toText, toValue, type Uploads } from "../uploads.ts";
import type { Commits, Keeper, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import { createSyncs } from "./syncs.ts";
import type { Tables } from "./tables.ts";

type MembersParts = {
  readonly tables: Tables;
  readonly commits: Commits;
  /** Whether a delivery of this event waits. */
  readonly waits: (event: number) => boolean;
};

/** Audiences and traits: which user has which value, and the syncs that change it. */
export function createMembers(db: Database, { tables, commits, waits }: MembersParts): Members {
  const { uploads, memberRows, forgetMembers, callHash } = tables;
  const leaving = createLeaving(db, waits);
  const findValue = db
    .prepare<[number, string], string | null>("SELECT value FROM members WHERE computation = ? AND user = ?")
    .pluck();

  return {
    ...createSyncs(db, { commits, callHash }),
    upload: uploads.open,
    compare: createCompare(db, uploads),
    async values(computation, users) {
      const found = users.map((user) => [user, toValue(findValue.get(computation, user) ?? null)] as const);
      return new Map(found.filter(([, value]) => value !== null));
    },
    drop({ sync, computation }, limit) {
      const run = (tx: Tx): number => {
        const dropped = leaving.drop(tx, computation.number, limit);
        const change = { sync: sync.number, computation: computation.number };
        memberRows.count(tx, change, { done: dropped, grown: -dropped });
        return dropped;
      };
      return commits.add({ rows: limit, run });
    },
    async sweep(limit) {
      return leaving.isNeeded() && commits.add({ rows: limit, run: (tx) => leaving.sweep(tx, limit) });
    },
    forget: (user, sources) => commits.add({ rows: 1, run: (tx) => forgetMembers(tx, [user], sources) }),
  };
}

/** Compares a list with what is stored, page by page. */
function createCompare(db: Database, uploads: Uploads): Members["compare"] {
  const membersAfter = db.prepare<[number, string, number], StoredValue>(
    "SELECT user, value FROM members WHERE computation = ? AND user > ? ORDER BY user LIMIT ?",
  );
  return async function compare({ upload, computation, others, after }: Comparison): Promise<ComparedPage> {
    // Every user has at least one character.
    const from = after ?? "";
    const wanted = upload === null ? [] : uploads.read(upload, from, IN_PAGE);
    const known = computation === null ? [] : membersAfter.all(computation, from, IN_PAGE);
    return comparePage(wanted, known, others);
  };
}

/** What the events of a sync change in their own commit. */
type MemberRows = {
  /** Reads the rows of these users. They are different users, and all of one sync. */
  open(tx: Tx, changes: readonly MemberChange[]): MemberBatch;
  /** Adds to the changes of a sync that are done, and to the users of its computation. */
  count(tx: Tx, of: SyncPlace, by: { readonly done: number; readonly grown: number }): void;
};

type SyncPlace = Pick<MemberChange, "sync" | "computation">;

export type MemberBatch = {
  /** The numbers of the last events about these users. */
  readonly older: readonly number[];
  /** Whether the change is still to be made; a second call for it answers false. */
  take(change: MemberChange): boolean;
  /** Writes the value, and the event that carries it; null if the event has no destination. */
  write(change: MemberChange, event: number | null): void;
  /** To be called after the last change. */
  close(): void;
};

type Row = { value: string | null; event: number | null };

export function createMemberRows(db: Database): MemberRows {
  const find = db.prepare<[number, string], Row>("SELECT value, event FROM members WHERE computation = ? AND user = ?");
  const remove = db.prepare<[number, string]>("DELETE FROM members WHERE computation = ? AND user = ?");
  const upsert = db.prepare<[number, string, string | null, number | null]>(
    `INSERT INTO members VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET value = excluded.value, event = excluded.event`,
  );
  const takeChange = db.prepare<[number, string]>("DELETE FROM changes WHERE sync = ? AND user = ?");
  const addDone = db.prepare<[number, number]>("UPDATE syncs SET done = done + ? WHERE number = ?");
  const addSize = db.prepare<[number, number]>("UPDATE computations SET size = size + ? WHERE number = ?");
  return { count, open };

  function count(_tx: Tx, { sync, computation }: SyncPlace, { done, grown }: { done: number; grown: number }): void {
    addDone.run(done, sync);
    if (grown !== 0) addSize.run(grown, computation);
  }

  function open(tx: Tx, changes: readonly MemberChange[]): MemberBatch {
    const known = new Map<string, Row>();
    for (const { computation, user } of changes) {
      const row = find.get(computation, user);
      if (row) known.set(user, row);
    }
    let [done, grown] = [0, 0];
    return {
      older: [...known.values()].flatMap(({ event }) => event ?? []),
      take: ({ sync, user }) => takeChange.run(sync, user).changes > 0,
      write({ computation, user, value }, event) {
        if (value === null && event === null) remove.run(computation, user);
        else upsert.run(computation, user, toText(value), event);
        done += 1;
        grown += Number(value !== null) - Number(typeof known.get(user)?.value === "string");
      },
      close() {
        const [first] = changes;
        if (first && done > 0) count(tx, first, { done, grown });
      },
    };
  }
}

type MemberRow = { computation: number; user: string; event: number | null };

/**
 * Removes users from the table permanently. A user who has lost the value keeps a row without one for as long as a call about
 * it waits, so that a newer call can end that.
 */
function createLeaving(db: Database, waits: (event: number) => boolean) {
  const withValue = db.prepare<[number, number], MemberRow>(
    "SELECT computation, user, event FROM members WHERE computation = ? AND value IS NOT NULL LIMIT ?",
  );
  const withoutValue = db.prepare<[number], MemberRow>(
    "SELECT computation, user, event FROM members WHERE value IS NULL ORDER BY computation, event LIMIT ?",
  );
  const clear = db.prepare<[number, string]>("UPDATE members SET value = NULL WHERE computation = ? AND user = ?");
  const remove = db.prepare<[number, string]>("DELETE FROM members WHERE computation = ? AND user = ?");
  const removedComputation = db.prepare<[]>("SELECT number FROM computations WHERE removed_at IS NOT NULL LIMIT 1");
  const forgetComputations = db.prepare<[]>(
    `DELETE FROM computations WHERE removed_at IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM members WHERE computation = number)`,
  );
  const stillWaits = (event: number | null): boolean => event !== null && waits(event);

  return {
    /** Takes the value from at most `limit` users of a computation. Answers how many they were. */
    drop(_tx: Tx, computation: number, limit: number): number {
      const rows = withValue.all(computation, limit);
      for (const { user, event } of rows) (stillWaits(event) ? clear : remove).run(computation, user);
      return rows.length;
    },
    /** Whether there is something to sweep. */
    isNeeded: () => withoutValue.get(1) !== undefined || removedComputation.get() !== undefined,
    /** Removes users without a value, and then computations without users. Answers whether there may be more. */
    sweep(_tx: Tx, limit: number): boolean {
      const rows = withoutValue.all(limit);
      const over = rows.filter(({ event }) => !stillWaits(event));
      for (const { computation, user } of over) remove.run(computation, user);
      // Where a whole page still waits, the calls behind it are newer, and wait too.
      const more = rows.length === limit && over.length > 0;
      if (!more) forgetComputations.run();
      return more;
    },
  };
}

type UploadsLeft = Keeper & {
  /** Leaves a user out of the lists that are open, once the transaction is committed. */
  forget(tx: Tx, user: string): void;
};

export function createUploadsLeft(uploads: Pick<Uploads, "forget">, { of }: CallHash): UploadsLeft {
  let left: string[] = [];
  return {
    forget: (_tx, user) => void left.push(of(user)),
    write() {},
    committed() {
      if (left.length > 0) uploads.forget(left);
      left = [];
    },
    rolledBack() {
      left = [];
    },
  };
}

/** Forgets users in these sources; null: in all. Answers how many values they had. */
type ForgetMembers = (tx: Tx, users: readonly string[], sources: readonly string[] | null) => number;

type Forgotten = { computation: number; value: string | null };

export function createForget(db: Database, uploads: Pick<UploadsLeft, "forget">): ForgetMembers {
  // The subquery makes SQLite look the user up in each computation, in one statement.
  const removeAll = db.prepare<[string], Forgotten>(
    `DELETE FROM members WHERE computation IN (SELECT number FROM computations) AND user = ?
     RETURNING computation, value`,
  );
  const removeOf = db.prepare<[string, string], Forgotten>(
    `DELETE FROM members WHERE computation IN (SELECT number FROM computations WHERE source = ?) AND user = ?
     RETURNING computation, value`,
  );
  const shrink = db.prepare<[number]>("UPDATE computations SET size = size - 1 WHERE number = ?");
  // A prepared sync has no computation yet, so its source is unknown.
  const unfinished = db.prepare<[], number>("SELECT number FROM syncs WHERE state <> 'finished'").pluck();
  const begunOf = db
    .prepare<[string], number>(
      `SELECT s.number FROM syncs s CROSS JOIN computations c ON c.number = s.computation
       WHERE s.state <> 'finished' AND c.source = ?`,
    )
    .pluck();
  const removeChange = db.prepare<[number, string]>("DELETE FROM changes WHERE sync = ? AND user = ?");
  const addDone = db.prepare<[number]>("UPDATE syncs SET done = done + 1 WHERE number = ? AND state = 'running'");

  return function forget(tx, users, sources) {
    const syncs = sources?.flatMap((source) => begunOf.all(source)) ?? unfinished.all();
    let values = 0;
    for (const user of users) {
      // No list takes other ids, and SQLite would find another user under them.
      if (!user.isWellFormed()) continue;
      if (sources === null) uploads.forget(tx, user);
      const removed = sources?.flatMap((source) => removeOf.all(source, user)) ?? removeAll.all(user);
      const had = removed.filter(({ value }) => value !== null);
      for (const { computation } of had) shrink.run(computation);
      for (const sync of syncs) if (removeChange.run(sync, user).changes > 0) addDone.run(sync);
      values += had.length;
    }
    return values;
  };
}
