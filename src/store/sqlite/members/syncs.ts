import type { Member, NewSync, Sync, SyncCounts, SyncKind } from "../../../model/audience.ts";
import type { At } from "../../../model/units.ts";
import type { Database } from "../driver.ts";
import { toText, toValue } from "./rows.ts";

/** How many of a computation's syncs are kept. */
const KEPT = 10;

export type SyncRows = {
  /** Of a computation, the newest first. */
  of(computation: number): readonly Sync[];
  /** Those that are running, with the number of their computation, the oldest first. */
  running(): readonly { readonly sync: Sync; readonly computation: number }[];
  read(number: number): Sync | null;
  pending(sync: number, limit: number): readonly Member[];
  /** Inside a transaction, all of these. */
  prepare(sync: NewSync, now: At): number;
  note(sync: number, changes: readonly Member[]): void;
  begin(sync: number, computation: number, what: SyncCounts & { readonly now: At }): void;
  finish(sync: number, computation: number, now: At): void;
  /** Of a computation that goes. */
  removeAll(computation: number): void;
  /** One that is prepared will never be begun. */
  abandon(sync: number): void;
  /** Whether there is one. */
  isUntidy(): boolean;
  /** Removes so many rows of those. Answers whether there may be more. */
  discard(limit: number): boolean;
};

type Row = {
  number: number;
  id: string;
  kind: SyncKind;
  computation: number;
  startedAt: At;
  finishedAt: At | null;
  added: number;
  changed: number;
  removed: number;
  done: number;
};

const COLUMNS =
  "number, id, kind, computation, started_at AS startedAt, finished_at AS finishedAt, added, changed, removed, done";

export function createSyncRows(db: Database): SyncRows {
  // Whoever was preparing them has ended.
  db.exec("UPDATE syncs SET state = 'abandoned' WHERE state = 'prepared'");
  const abandon = db.prepare<[number]>("UPDATE syncs SET state = 'abandoned' WHERE number = ? AND state = 'prepared'");
  const prepare = db.prepare<[string, string, number]>(
    "INSERT INTO syncs (id, kind, state, started_at) VALUES (?, ?, 'prepared', ?)",
  );
  const note = db.prepare<[number, string, string | null]>("INSERT OR REPLACE INTO changes VALUES (?, ?, ?)");
  const begin = db.prepare<[number, number, number, number, number, number]>(
    `UPDATE syncs SET state = 'running', computation = ?, started_at = ?, added = ?, changed = ?, removed = ?
     WHERE number = ?`,
  );
  const finish = db.prepare<[number, number]>(
    "UPDATE syncs SET state = 'finished', finished_at = ? WHERE number = ? AND state = 'running'",
  );
  const removeAll = db.prepare<[number]>("DELETE FROM syncs WHERE computation = ?");
  const prune = db.prepare<[number, number, number]>(
    `DELETE FROM syncs WHERE computation = ? AND state = 'finished' AND number NOT IN
     (SELECT number FROM syncs WHERE computation = ? ORDER BY number DESC LIMIT ?)`,
  );
  return {
    ...createReads(db),
    prepare: ({ id, kind }, now) => Number(prepare.run(id, kind, now).lastInsertRowid),
    note(sync, changes) {
      for (const { user, value } of changes) note.run(sync, user, toText(value));
    },
    begin(sync, computation, { added, changed, removed, now }) {
      begin.run(computation, now, added, changed, removed, sync);
    },
    finish(sync, computation, now) {
      finish.run(now, sync);
      prune.run(computation, computation, KEPT);
    },
    abandon: (sync) => void abandon.run(sync),
    removeAll: (computation) => void removeAll.run(computation),
    ...createDiscard(db),
  };
}

function createReads(db: Database): Pick<SyncRows, "of" | "running" | "read" | "pending"> {
  const of = db.prepare<[number], Row>(`SELECT ${COLUMNS} FROM syncs WHERE computation = ? ORDER BY number DESC`);
  const running = db.prepare<[], Row>(`SELECT ${COLUMNS} FROM syncs WHERE state = 'running' ORDER BY number`);
  const read = db.prepare<[number], Row>(`SELECT ${COLUMNS} FROM syncs WHERE number = ?`);
  const pending = db.prepare<[number, number], { user: string; value: string | null }>(
    "SELECT user, value FROM changes WHERE sync = ? ORDER BY user LIMIT ?",
  );
  return {
    of: (computation) => of.all(computation).map(toSync),
    running: () => running.all().map((row) => ({ sync: toSync(row), computation: row.computation })),
    read(number) {
      const row = read.get(number);
      return row ? toSync(row) : null;
    },
    pending: (sync, limit) => pending.all(sync, limit).map(({ user, value }) => ({ user, value: toValue(value) })),
  };
}

function toSync({ computation: _, ...sync }: Row): Sync {
  return sync;
}

function createDiscard(db: Database): Pick<SyncRows, "isUntidy" | "discard"> {
  const find = db.prepare<[], number>("SELECT number FROM syncs WHERE state = 'abandoned' LIMIT 1").pluck();
  const removeChanges = db.prepare<[number, number, number]>(
    "DELETE FROM changes WHERE sync = ? AND user IN (SELECT user FROM changes WHERE sync = ? LIMIT ?)",
  );
  const remove = db.prepare<[number]>("DELETE FROM syncs WHERE number = ?");
  return {
    isUntidy: () => find.get() !== undefined,
    discard(limit) {
      const sync = find.get();
      if (sync === undefined) return false;
      if (removeChanges.run(sync, sync, limit).changes === limit) return true;
      remove.run(sync);
      return true;
    },
  };
}
