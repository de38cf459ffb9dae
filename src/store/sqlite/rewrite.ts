import type { Fault } from "../../model/fault.ts";
import type { Clock } from "../../model/ports.ts";
import type { Commits, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Size } from "./prune.ts";

/**
 * The tables with users in rows that move between pages as they grow, shrink or are deleted. SQLite leaves copies of moved rows
 * in the gaps of the old page, and `secure_delete` does not clear these when the rows are deleted. `step`: rows in one commit.
 */
const TABLES = [
  // Cursors of lists hold rowids, so those are kept.
  { name: "tried", key: ["rowid"], first: [0], step: 100 },
  { name: "members", key: ["computation", "user"], first: [-1, ""], step: 300 },
  { name: "changes", key: ["sync", "user"], first: [-1, ""], step: 300 },
  { name: "deletion_users", key: ["deletion", "nth"], first: ["", -1], step: 300 },
] as const;

/** Rows of the largest step. */
const MOST_ROWS = 300;

type Table = (typeof TABLES)[number];
type Place = readonly (string | number)[];

type RewriteParts = {
  readonly size: Pick<Size, "borrow" | "repaid">;
  readonly commits: Commits;
  readonly clock: Clock;
};

/** Resolves when no page of the file has a trace of rows deleted before the call; null if the signal was aborted. */
type Rewrite = (signal: AbortSignal) => Promise<true | Fault | null>;

/**
 * Writes these tables into fresh ones, row by row. A table goes through these states, each reached by one commit, so that a
 * crash leaves one of them:
 *
 * 1. `members` alone.
 * 2. `members_fresh` beside it. Triggers repeat there what is done to `members`, while its rows are copied, some at a time.
 * 3. Both have the same rows, and are renamed: the fresh one to `members`, the other one to `members_old`.
 * 4. `members_old` is emptied, some rows at a time: its pages are overwritten as they become free. Then it is dropped.
 *
 * After a crash in the second state it is unknown which rows were deleted before it, so the rewrite starts over. Meanwhile the
 * table takes twice its space; that must not refuse calls or prune deliveries, so the space is not counted.
 */
export function createRewrite(db: Database, { commits, clock, size }: RewriteParts): Rewrite {
  return async function rewrite(signal) {
    for (const table of TABLES) {
      const { old, fresh } = namesOf(table);
      const phases: readonly (() => Promise<true | Fault | null>)[] = [
        () => repeat(signal, null, () => removeSome(db, old, table)),
        () => repeat(signal, null, () => removeSome(db, fresh, table)),
        () => repeat(signal, null, () => begin(db, table)),
        () => repeat<Place>(signal, table.first, (_tx, after) => copySome(db, table, after)),
        () => repeat(signal, null, () => exchange(db, table)),
        () => repeat(signal, null, () => removeSome(db, old, table)),
        () => repeat(signal, null, repaid),
      ];
      for (const phase of phases) {
        const done = await phase();
        if (done !== true) return done;
      }
    }
    return true;
  };

  function repaid(tx: Tx): "done" {
    size.repaid(tx);
    return "done";
  }

  /**
   * Runs each step in a commit of its own until one answers `done`, and sleeps as long as each has taken. Any other answer is
   * passed to the next step.
   */
  async function repeat<At>(
    signal: AbortSignal,
    first: At,
    step: (tx: Tx, at: At) => At | "done",
  ): Promise<true | Fault | null> {
    for (let at = first; ; ) {
      if (signal.aborted) return null;
      const began = clock.now();
      const run = (tx: Tx): { readonly next: At | "done" } => ({ next: size.borrow(tx, () => step(tx, at)) });
      const stepped = await commits.add({ rows: MOST_ROWS, run });
      if ("code" in stepped) return stepped;
      if (stepped.next === "done") return true;
      at = stepped.next;
      const took = clock.now() - began;
      await (took < 1 ? clock.nextTurn() : clock.sleep(took, signal));
    }
  }
}

function namesOf({ name }: Table) {
  return { old: `${name}_old`, fresh: `${name}_fresh` };
}

function sqlOf(
  db: Database,
  type: "table" | "index" | "trigger",
  of: string,
): readonly { name: string; sql: string }[] {
  return db
    .prepare<[string, string], { name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_schema WHERE type = ? AND tbl_name = ? AND sql IS NOT NULL",
    )
    .all(type, of);
}

/** Creates the fresh table, with the same columns and indexes, and the triggers that keep it in step. */
function begin(db: Database, table: Table): "done" {
  const { name, key } = table;
  const { fresh } = namesOf(table);
  const [made] = sqlOf(db, "table", name);
  // SQLite quotes the name of a table that was renamed.
  db.exec(String(made?.sql).replace(/^CREATE TABLE "?\w+"?/, `CREATE TABLE ${fresh}`));
  for (const index of sqlOf(db, "index", name)) {
    const other = index.name.endsWith(AGAIN) ? index.name.slice(0, -AGAIN.length) : `${index.name}${AGAIN}`;
    db.exec(index.sql.replace(/^CREATE INDEX "?\w+"? ON "?\w+"?/, `CREATE INDEX ${other} ON ${fresh}`));
  }
  const columns = columnsOf(db, table);
  const rowOf = (which: "NEW" | "OLD"): string => `(${key.map((column) => `${which}.${column}`).join(", ")})`;
  const remove = (which: "NEW" | "OLD"): string => `DELETE FROM ${fresh} WHERE (${key.join(", ")}) = ${rowOf(which)};`;
  const values = columns.map((column) => `NEW.${column}`).join(", ");
  const insert = `INSERT INTO ${fresh} (${columns.join(", ")}) VALUES (${values});`;
  db.exec(`
    CREATE TRIGGER ${name}_inserted AFTER INSERT ON ${name} BEGIN ${remove("NEW")} ${insert} END;
    CREATE TRIGGER ${name}_updated AFTER UPDATE ON ${name} BEGIN ${remove("OLD")} ${remove("NEW")} ${insert} END;
    CREATE TRIGGER ${name}_deleted AFTER DELETE ON ${name} BEGIN ${remove("OLD")} END;
  `);
  return "done";
}

function columnsOf(db: Database, { name, key }: Table): readonly string[] {
  const columns = db.prepare<[string], string>("SELECT name FROM pragma_table_info(?)").pluck().all(name);
  return [...new Set<string>([...key, ...columns])];
}

/**
 * The suffix of every other fresh index: the old index still exists, and SQLite cannot rename one. So a step of the schema
 * that drops an index of these tables has to drop both names.
 */
const AGAIN = "_2";

/** Copies the rows after this place; rows that have changed since the copy began are there already. */
function copySome(db: Database, table: Table, after: Place): Place | "done" {
  const { name, key } = table;
  const columns = columnsOf(db, table).join(", ");
  const some = `FROM ${name} WHERE (${key.join(", ")}) > ${marksOf(table)} ORDER BY ${key.join(", ")}`;
  const into = `${namesOf(table).fresh} (${columns})`;
  db.prepare(`INSERT OR IGNORE INTO ${into} SELECT ${columns} ${some} LIMIT ${table.step}`).run(...after);
  return placeOf(db, `SELECT ${key.join(", ")} ${some} LIMIT 1 OFFSET ${table.step - 1}`, after) ?? "done";
}

function marksOf({ key }: Table): string {
  return `(${key.map(() => "?").join(", ")})`;
}

function placeOf(db: Database, sql: string, after: Place | readonly []): Place | undefined {
  return db
    .prepare<unknown[], Place>(sql)
    .raw()
    .get(...after);
}

function exchange(db: Database, table: Table): "done" {
  const { name } = table;
  const { old, fresh } = namesOf(table);
  dropTriggers(db, name);
  // Otherwise the views would follow the old table.
  db.pragma("legacy_alter_table = ON");
  try {
    db.exec(`ALTER TABLE ${name} RENAME TO ${old}; ALTER TABLE ${fresh} RENAME TO ${name}`);
  } finally {
    db.pragma("legacy_alter_table = OFF");
  }
  return "done";
}

/** Removes some rows of a table that is no longer needed; after the last rows, the table. */
function removeSome(db: Database, unneeded: string, table: Table): null | "done" {
  const { name, key } = table;
  if (sqlOf(db, "table", unneeded).length === 0) return "done";
  // The triggers that kept it in step are no longer needed.
  dropTriggers(db, name);
  const columns = key.join(", ");
  const last = placeOf(
    db,
    `SELECT ${columns} FROM ${unneeded} ORDER BY ${columns} LIMIT 1 OFFSET ${table.step - 1}`,
    [],
  );
  if (last) {
    db.prepare(`DELETE FROM ${unneeded} WHERE (${columns}) <= ${marksOf(table)}`).run(...last);
    return null;
  }
  db.exec(`DROP TABLE ${unneeded}`);
  return "done";
}

function dropTriggers(db: Database, name: string): void {
  for (const trigger of sqlOf(db, "trigger", name)) db.exec(`DROP TRIGGER ${trigger.name}`);
}

/** Pages given back in one commit, which has to stay short. */
const SCRUBBED_PAGES = 500;
/** Ends the loop, after 10 GB, if pruning frees pages as fast as they are given back. */
const MOST_SCRUBS = 5_000;

type ScrubParts = { readonly commits: Commits; readonly clock: Clock };

/**
 * Removes what SQLite leaves of deleted rows: gives all free pages back to the file system, and empties the write-ahead log.
 * Answers false if another program reads the file, so that the log cannot be emptied.
 */
export function createScrub(db: Database, { commits, clock }: ScrubParts): () => Promise<boolean | Fault> {
  const countFree = db.prepare<[], number>("PRAGMA freelist_count").pluck();

  return async function scrub() {
    for (let steps = 0; steps < MOST_SCRUBS && Number(countFree.get()) > 0; steps += 1) {
      const run = (): null => {
        db.pragma(`incremental_vacuum(${SCRUBBED_PAGES})`);
        return null;
      };
      const refused = await commits.add({ rows: SCRUBBED_PAGES, run });
      if (refused !== null) return refused;
      await clock.nextTurn();
    }
    return emptyLog(db);
  };
}

/** Does not wait for a reader: the whole daemon would wait. */
function emptyLog(db: Database): boolean {
  const patience = Number(db.pragma("busy_timeout", { simple: true }));
  db.pragma("busy_timeout = 0");
  try {
    const [said] = db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
    return said?.busy === 0;
  } finally {
    db.pragma(`busy_timeout = ${patience}`);
  }
}
