import {
  type Computation,
  type ComputationClass,
  type ComputationName,
  type Members,
  type OpenSync,
  type Sync,
  type SyncKind,
  syncRunning,
} from "../../model/audience.ts";
import type { Fault } from "../../model/fault.ts";
import type { At } from "../../model/units.ts";
import type { CallHash } from "../superseded.ts";
import { toText, toValue } from "../uploads.ts";
import type { Commits, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";

/** How many syncs of a computation are kept. */
const KEPT_SYNCS = 10;

type SyncsParts = { readonly commits: Commits; readonly callHash: CallHash };

type Syncs = Pick<
  Members,
  "all" | "find" | "prepare" | "note" | "begin" | "open" | "pending" | "finish" | "abandon" | "discard"
>;

/**
 * Computations, and the syncs that change them. A sync is `prepared` while its changes are noted, `running` until the last
 * of them is in the outbox, then `finished`. One that is never begun is `abandoned`, and its rows are discarded.
 */
export function createSyncs(db: Database, { commits, callHash }: SyncsParts): Syncs {
  const computations = createComputations(db);
  const sql = prepareSyncs(db);
  // The process that was preparing these has ended.
  db.exec("UPDATE syncs SET state = 'abandoned' WHERE state = 'prepared'");

  return {
    all: async () => computations.all(),
    find: async ({ source, key }) => computations.find(source, key),
    ...createPreparing(sql, commits),
    begin(sync, { added, changed, removed, latest, ...name }) {
      const run = (tx: Tx): OpenSync | Fault => {
        if ((sql.latest.get(name.source, name.key) ?? null) !== latest) return syncRunning(name);
        const computation = computations.insert(tx, name);
        sql.begin.run(computation, tx.now, added, changed, removed, sync);
        return read(sync, computation);
      };
      return commits.add({ rows: 1, run });
    },
    open: async () => sql.running.all().map(({ number, computation }) => read(number, computation)),
    async pending(sync, limit) {
      const changes = sql.changes.all(sync, limit);
      return changes.map(({ user, value }) => ({ user, value: toValue(value), hash: callHash.of(user) }));
    },
    finish({ sync, computation }) {
      const run = (tx: Tx): OpenSync => {
        sql.finish.run(tx.now, sync.number);
        sql.prune.run(computation.number, computation.number, KEPT_SYNCS);
        const done = read(sync.number, computation.number);
        if (sync.kind === "list" || sync.kind === "members") return done;
        computations.remove(tx, computation.number);
        sql.removeOf.run(computation.number);
        return done;
      };
      return commits.add({ rows: 1, run });
    },
  };

  function read(sync: number, computation: number): OpenSync {
    const [row, found] = [sql.read.get(sync), computations.read(computation)];
    if (!row || !found) throw new Error(`sync ${sync} of computation ${computation} is not there`);
    return { sync: toSync(row), computation: found };
  }
}

type SyncStatements = ReturnType<typeof prepareSyncs>;

/** What happens to a sync before it runs. */
function createPreparing(sql: SyncStatements, commits: Commits) {
  return {
    prepare({ id, kind }) {
      return commits.add({ rows: 1, run: ({ now }) => Number(sql.insert.run(id, kind, now).lastInsertRowid) });
    },
    note(sync, changes) {
      const run = (): null => {
        for (const { user, value } of changes) sql.insertChange.run(sync, user, toText(value));
        return null;
      };
      return commits.add({ rows: changes.length, run });
    },
    abandon(sync) {
      const run = (): null => {
        sql.abandon.run(sync);
        return null;
      };
      return commits.add({ rows: 1, run });
    },
    async discard(limit) {
      return sql.findAbandoned.get() !== undefined && commits.add({ rows: limit, run: () => discardSome(limit) });
    },
  } satisfies Partial<Members>;

  function discardSome(limit: number): boolean {
    const sync = sql.findAbandoned.get();
    if (sync === undefined) return false;
    if (sql.removeChanges.run(sync, sync, limit).changes < limit) sql.remove.run(sync);
    return true;
  }
}

type SyncRow = {
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

const SYNC_COLUMNS =
  "number, id, kind, computation, started_at AS startedAt, finished_at AS finishedAt, added, changed, removed, done";

function toSync({ computation: _, ...sync }: SyncRow): Sync {
  return sync;
}

function prepareSyncs(db: Database) {
  return {
    read: db.prepare<[number], SyncRow>(`SELECT ${SYNC_COLUMNS} FROM syncs WHERE number = ?`),
    latest: db
      .prepare<[string, string], number | null>(
        `SELECT max(s.number) FROM computations c CROSS JOIN syncs s ON s.computation = c.number
         WHERE c.source = ? AND c.key = ?`,
      )
      .pluck(),
    running: db.prepare<[], SyncRow>(`SELECT ${SYNC_COLUMNS} FROM syncs WHERE state = 'running' ORDER BY number`),
    insert: db.prepare<[string, string, number]>(
      "INSERT INTO syncs (id, kind, state, started_at) VALUES (?, ?, 'prepared', ?)",
    ),
    begin: db.prepare<[number, number, number, number, number, number]>(
      `UPDATE syncs SET state = 'running', computation = ?, started_at = ?, added = ?, changed = ?, removed = ?
       WHERE number = ?`,
    ),
    finish: db.prepare<[number, number]>(
      "UPDATE syncs SET state = 'finished', finished_at = ? WHERE number = ? AND state = 'running'",
    ),
    prune: db.prepare<[number, number, number]>(
      `DELETE FROM syncs WHERE computation = ? AND state = 'finished' AND number NOT IN
       (SELECT number FROM syncs WHERE computation = ? ORDER BY number DESC LIMIT ?)`,
    ),
    abandon: db.prepare<[number]>("UPDATE syncs SET state = 'abandoned' WHERE number = ? AND state = 'prepared'"),
    findAbandoned: db.prepare<[], number>("SELECT number FROM syncs WHERE state = 'abandoned' LIMIT 1").pluck(),
    remove: db.prepare<[number]>("DELETE FROM syncs WHERE number = ?"),
    removeOf: db.prepare<[number]>("DELETE FROM syncs WHERE computation = ?"),
    changes: db.prepare<[number, number], { user: string; value: string | null }>(
      "SELECT user, value FROM changes WHERE sync = ? ORDER BY user LIMIT ?",
    ),
    insertChange: db.prepare<[number, string, string | null]>("INSERT OR REPLACE INTO changes VALUES (?, ?, ?)"),
    removeChanges: db.prepare<[number, number, number]>(
      "DELETE FROM changes WHERE sync = ? AND user IN (SELECT user FROM changes WHERE sync = ? LIMIT ?)",
    ),
  };
}

type ComputationRow = {
  number: number;
  id: string;
  source: string;
  class: ComputationClass;
  name: string;
  key: string;
  size: number;
  createdAt: At;
};

const READ = "SELECT number, id, source, class, name, key, size, created_at AS createdAt FROM computations";

function createComputations(db: Database) {
  const all = db.prepare<[], ComputationRow>(`${READ} WHERE removed_at IS NULL ORDER BY source, class, name`);
  const find = db.prepare<[string, string], ComputationRow>(
    `${READ} WHERE source = ? AND key = ? AND removed_at IS NULL`,
  );
  const read = db.prepare<[number], ComputationRow>(`${READ} WHERE number = ?`);
  const syncsOf = db.prepare<[number], SyncRow>(
    `SELECT ${SYNC_COLUMNS} FROM syncs WHERE computation = ? ORDER BY number DESC`,
  );
  // A removed one comes back as a new one, and still knows which calls about its users may wait.
  const insert = db
    .prepare<[string, string, string, string, string, number], number>(
      `INSERT INTO computations (id, source, class, name, key, size, created_at) VALUES (?, ?, ?, ?, ?, 0, ?)
       ON CONFLICT (source, key) DO UPDATE SET
         id = iif(removed_at IS NULL, id, excluded.id), created_at = iif(removed_at IS NULL, created_at, excluded.created_at),
         class = excluded.class, name = excluded.name, removed_at = NULL
       RETURNING number`,
    )
    .pluck();
  const remove = db.prepare<[number, number]>("UPDATE computations SET removed_at = ? WHERE number = ?");

  function toComputation(row: ComputationRow): Computation {
    return { ...row, syncs: syncsOf.all(row.number).map(toSync) };
  }
  function orNull(row: ComputationRow | undefined): Computation | null {
    return row ? toComputation(row) : null;
  }
  return {
    all: () => all.all().map(toComputation),
    find: (source: string, key: string) => orNull(find.get(source, key)),
    read: (number: number) => orNull(read.get(number)),
    /** Answers the number of the computation with this key, which is inserted if it is not there. */
    insert: ({ now }: Tx, { id, source, class: kind, name, key }: ComputationName & { readonly id: string }) =>
      insert.get(id, source, kind, name, key, now) ?? 0,
    /** Hides it. Its row stays while calls about its users may wait. */
    remove: ({ now }: Tx, number: number) => void remove.run(now, number),
  };
}
