import type { ComparedPage, Comparison, Member, NewSync, Sync, SyncCounts, SyncKind } from "../../model/audience.ts";
import type { At } from "../../model/units.ts";
import type { Database } from "./driver.ts";
import { toText, toValue } from "./members.ts";
import type { Staged, Uploads } from "./uploads.ts";

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

/** Users of each side that are looked at in one page. */
const IN_PAGE = 250;

/** Whoever has no value is as good as not there: the rows of those who have left are passed over. */
type DifferenceRow = { user: string; value: string | null };

/** Finds out what a list would change, page by page. */
export function createCompare(db: Database, uploads: Uploads): (comparison: Comparison) => ComparedPage {
  const read = db.prepare<[number, string, number], DifferenceRow>(
    "SELECT user, value FROM members WHERE computation = ? AND user > ? ORDER BY user LIMIT ?",
  );
  return function compare({ upload, computation, others, after }) {
    // A user has at least one character.
    const from = after ?? "";
    const wanted = upload === null ? [] : uploads.read(upload, from, IN_PAGE);
    const known = computation === null ? [] : read.all(computation, from, IN_PAGE);
    const end = endOf(wanted, known);
    const changes: Member[] = [];
    const counts = { added: 0, changed: 0, removed: 0 };
    for (const { user, was, is } of pairs(until(wanted, end), until(known, end))) {
      const next = is === undefined && others === "keep" ? was : (is ?? null);
      if (next === was) continue;
      changes.push({ user, value: toValue(next) });
      counts[kindOf(was, next)] += 1;
    }
    return { changes, counts, after: end };
  };
}

/** The last user of this page; null if there are no others after it. */
function endOf(...sides: readonly (readonly DifferenceRow[])[]): string | null {
  const ends = sides.flatMap((rows) => (rows.length === IN_PAGE ? (rows.at(-1)?.user ?? []) : []));
  return ends.toSorted(compareText)[0] ?? null;
}

function until<R extends DifferenceRow>(rows: readonly R[], end: string | null): readonly R[] {
  return end === null ? rows : rows.filter(({ user }) => compareText(user, end) <= 0);
}

/** `is` is undefined for a user who is not in the list. */
type Pair = { readonly user: string; readonly was: string | null; readonly is: string | null | undefined };

/** Every user of either side, in the order of the store. */
function pairs(wanted: readonly Staged[], known: readonly DifferenceRow[]): readonly Pair[] {
  const all: Pair[] = [];
  let at = 0;
  for (const { user, value } of wanted) {
    for (let row = known[at]; row && compareText(row.user, user) < 0; row = known[at]) {
      all.push({ user: row.user, was: row.value, is: undefined });
      at += 1;
    }
    const same = known[at]?.user === user ? known[at] : undefined;
    if (same) at += 1;
    all.push({ user, was: same?.value ?? null, is: value });
  }
  return [...all, ...known.slice(at).map((row) => ({ user: row.user, was: row.value, is: undefined }))];
}

function kindOf(was: string | null, next: string | null): keyof SyncCounts {
  if (was === null) return "added";
  return next === null ? "removed" : "changed";
}

const SURROGATES = 0xd800;
const AFTER_SURROGATES = 0xe000;

/** As SQLite orders text: by code points. JavaScript orders by halves of surrogate pairs, which are in front of U+E000. */
function compareText(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (a !== b) return rank(a) - rank(b);
  }
  return one.length - other.length;
}

function rank(unit: number): number {
  return unit >= SURROGATES && unit < AFTER_SURROGATES ? unit + 0x10000 : unit;
}
