import type { Fault } from "../../model/fault.ts";
import type { Clock } from "../../model/ports.ts";
import type { Commits, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Size } from "./prune.ts";

/**
 * The tables whose rows have users in them and do not stay where they are: they grow, shrink, or go in any order. Where rows
 * move from one page to another, SQLite leaves copies of them in the gaps of the first, and `secure_delete` does not clear
 * these when the rows are deleted. `step`: rows at a time, so that nobody waits long behind them.
 */
const TABLES = [
  // Lists go on behind the rowid at which their last page ended.
  { name: "tried", key: ["rowid"], first: [0], step: 100 },
  { name: "members", key: ["computation", "user"], first: [-1, ""], step: 300 },
  { name: "changes", key: ["sync", "user"], first: [-1, ""], step: 300 },
  { name: "deletion_users", key: ["deletion", "nth"], first: ["", -1], step: 300 },
] as const;

/** In one step of any. */
const MOST_ROWS = 300;

type Table = (typeof TABLES)[number];
type Place = readonly (string | number)[];

export type RewriteWorld = {
  readonly size: Pick<Size, "borrow" | "repaid">;
  readonly commits: Commits;
  readonly clock: Pick<Clock, "now" | "sleep" | "nextTurn">;
  readonly failed: (error: unknown) => Fault;
};

/** Answers when no page of the file has a trace of rows that went before it was called; null if the signal was aborted. */
export type Rewrite = (signal: AbortSignal) => Promise<true | Fault | null>;

/**
 * Writes these tables into fresh ones, row by row. A table goes through these states, each reached by one commit, so that a
 * crash leaves one of them:
 *
 * 1. `members` alone.
 * 2. `members_fresh` beside it. Triggers do there whatever is done to `members`, while its rows are copied, some at a time.
 * 3. Both have the same rows, and change their names: the fresh one is `members`, the other one `members_old`.
 * 4. `members_old` is emptied, some rows at a time: its pages are overwritten as they become free. Then it goes.
 *
 * Whoever finds the second state does not know what has gone since it began, and begins again. Meanwhile the table takes twice
 * its space, which is no reason to refuse calls, or to remove what is kept.
 */
export function createRewrite(db: Database, { commits, clock, size, failed }: RewriteWorld): Rewrite {
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

  /** Each step in a commit, until one answers `done`, and half of the time for others. What it answers else is for the next one. */
  async function repeat<At>(
    signal: AbortSignal,
    first: At,
    step: (tx: Tx, at: At) => At | "done",
  ): Promise<true | Fault | null> {
    for (let at = first; ; ) {
      if (signal.aborted) return null;
      const began = clock.now();
      const run = (tx: Tx): { readonly next: At | "done" } => ({ next: size.borrow(tx, () => step(tx, at)) });
      const stepped = await commits.add<ReturnType<typeof run> | Fault>({ rows: MOST_ROWS, run, failed });
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

/** A table beside this one, with the same columns and indexes, and what keeps it in step with it. */
function begin(db: Database, table: Table): "done" {
  const { name, key } = table;
  const { fresh } = namesOf(table);
  const [made] = sqlOf(db, "table", name);
  // It is in quotes once it has been renamed.
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
 * What every other fresh index has at the end of its name: the one that it is for is there still, and SQLite cannot rename
 * one. So a step of the schema that drops an index of these tables has to drop either.
 */
const AGAIN = "_2";

/** The rows after this place; those that have changed since the beginning are there already. */
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
  // Otherwise the views would go with the old one.
  db.pragma("legacy_alter_table = ON");
  try {
    db.exec(`ALTER TABLE ${name} RENAME TO ${old}; ALTER TABLE ${fresh} RENAME TO ${name}`);
  } finally {
    db.pragma("legacy_alter_table = OFF");
  }
  return "done";
}

/** Some rows of a table that nobody needs, and at the end the table. */
function removeSome(db: Database, unneeded: string, table: Table): null | "done" {
  const { name, key } = table;
  if (sqlOf(db, "table", unneeded).length === 0) return "done";
  // Whatever it was to be kept in step with: it is not any more.
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

/** Pages given back in one step: nobody waits long behind it. */
const SCRUBBED_PAGES = 500;
/** Steps, in case that pruning frees pages as fast as they are given back: 10 GB of them. */
const MOST_SCRUBS = 5_000;

type ScrubWorld = {
  readonly commits: Commits;
  readonly clock: Pick<Clock, "nextTurn">;
  readonly failed: (error: unknown) => Fault;
};

/**
 * Removes what the engine has left of rows that are gone: free pages, by giving all of them back to the file system, and the
 * write-ahead log, by making it empty. Answers false while somebody else who reads the file keeps it from the latter.
 */
export function createScrub(db: Database, { commits, clock, failed }: ScrubWorld): () => Promise<boolean | Fault> {
  const countFree = db.prepare<[], number>("PRAGMA freelist_count").pluck();

  return async function scrub() {
    for (let steps = 0; steps < MOST_SCRUBS && Number(countFree.get()) > 0; steps += 1) {
      const run = (): null => {
        db.pragma(`incremental_vacuum(${SCRUBBED_PAGES})`);
        return null;
      };
      const refused = await commits.add<Fault | null>({ rows: SCRUBBED_PAGES, run, failed });
      if (refused !== null) return refused;
      await clock.nextTurn();
    }
    return emptyLog(db);
  };
}

/** Whoever reads is not waited for: the whole daemon would be. */
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
