import type { ComparedPage, Comparison, Member, NewSync, Sync, SyncCounts, SyncKind } from "../../model/audience.ts";
import type { At } from "../../model/units.ts";
import { comparePage, IN_PAGE, type Value } from "../compare.ts";
import type { Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import { toText, toValue } from "./members.ts";
import type { Uploads } from "./uploads.ts";

/** How many of a computation's syncs are kept. */
const KEPT = 10;

export type SyncRows = {
  /** Of a computation, the newest first. */
  of(computation: number): readonly Sync[];
  /** Those that are running, with the number of their computation, the oldest first. */
  running(): readonly { readonly sync: Sync; readonly computation: number }[];
  read(number: number): Sync | null;
  pending(sync: number, limit: number): readonly Member[];
  prepare(tx: Tx, sync: NewSync): number;
  note(tx: Tx, sync: number, changes: readonly Member[]): void;
  begin(tx: Tx, sync: number, what: SyncCounts & { readonly computation: number }): void;
  finish(tx: Tx, sync: number, computation: number): void;
  /** Of a computation that goes. */
  removeAll(tx: Tx, computation: number): void;
  /** One that is prepared will never be begun. */
  abandon(tx: Tx, sync: number): void;
  /** Whether there is one. */
  isUntidy(): boolean;
  /** Removes so many rows of those. Answers whether there may be more. */
  discard(tx: Tx, limit: number): boolean;
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
    prepare: ({ now }, { id, kind }) => Number(prepare.run(id, kind, now).lastInsertRowid),
    note(_tx, sync, changes) {
      for (const { user, value } of changes) note.run(sync, user, toText(value));
    },
    begin({ now }, sync, { computation, added, changed, removed }) {
      begin.run(computation, now, added, changed, removed, sync);
    },
    finish({ now }, sync, computation) {
      finish.run(now, sync);
      prune.run(computation, computation, KEPT);
    },
    abandon: (_tx, sync) => void abandon.run(sync),
    removeAll: (_tx, computation) => void removeAll.run(computation),
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
    discard(_tx, limit) {
      const sync = find.get();
      if (sync === undefined) return false;
      if (removeChanges.run(sync, sync, limit).changes === limit) return true;
      remove.run(sync);
      return true;
    },
  };
}

/** Finds out what a list would change, page by page. */
export function createCompare(db: Database, uploads: Uploads): (comparison: Comparison) => ComparedPage {
  const read = db.prepare<[number, string, number], Value>(
    "SELECT user, value FROM members WHERE computation = ? AND user > ? ORDER BY user LIMIT ?",
  );
  return function compare({ upload, computation, others, after }) {
    // A user has at least one character.
    const from = after ?? "";
    const wanted = upload === null ? [] : uploads.read(upload, from, IN_PAGE);
    const known = computation === null ? [] : read.all(computation, from, IN_PAGE);
    return comparePage(wanted, known, others);
  };
}
