import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Fault } from "../../../src/model/fault.ts";
import type { Commits, Job, Tx } from "../../../src/store/sqlite/commits.ts";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import { createRewrite } from "../../../src/store/sqlite/rewrite.ts";
import { migrate } from "../../../src/store/sqlite/schema.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { SCRATCH } from "../../scratch.ts";
import { type Chance, createChance } from "../../simulate/random.ts";
import { makeTx } from "../harness.ts";

const FAULT: Fault = { code: "store_failed", message: "the outbox cannot be written" };
const NEVER = new AbortController().signal;

type Tables = AsyncDisposable & { readonly db: Database; readonly path: string; readonly users: Set<string> };

async function openTables(): Promise<Tables> {
  const folder = await mkdtemp(join(SCRATCH, "fairlead-rewrite-"));
  const path = join(folder, "fairlead.db");
  const db = await openDatabase(path);
  db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma("secure_delete = ON");
  db.pragma("synchronous = OFF");
  migrate(db);
  return {
    ...{ db, path, users: new Set() },
    async [Symbol.asyncDispose]() {
      db.close();
      await rm(folder, { recursive: true });
    },
  };
}

type Options = {
  /** After each step, with its number: what others do in between. */
  readonly between?: (step: number) => void;
  readonly fails?: (step: number) => boolean;
  readonly signal?: AbortSignal;
};

function rewrite(db: Database, { between = () => {}, fails = () => false, signal = NEVER }: Options = {}) {
  let steps = 0;
  const commits = {
    async add<T>({ run }: Job<T>): Promise<T | Fault> {
      steps += 1;
      db.exec("BEGIN IMMEDIATE");
      const result = run(makeTx());
      const broken = fails(steps);
      db.exec(broken ? "ROLLBACK" : "COMMIT");
      if (broken) return FAULT;
      between(steps);
      return result;
    },
  } as Commits;
  const size = { borrow: <T>(_tx: Tx, run: () => T): T => run(), repaid() {} };
  return createRewrite(db, { commits, clock: createFalseClock(), size })(signal);
}

function idOf(chance: Chance): string {
  return `e-${Array.from({ length: 20 }, () => chance.below(16).toString(16)).join("")}`;
}

/** What a daemon does to these tables, in any order. */
function change({ db, users }: Tables, chance: Chance): void {
  const user = users.size > 0 && chance.happens(0.5) ? chance.pick([...users]) : idOf(chance);
  const text = JSON.stringify("x".repeat(chance.below(400)));
  const number = 1 + chance.below(3);
  const how = chance.below(7);
  if (how === 0) db.prepare("INSERT OR REPLACE INTO changes VALUES (?, ?, ?)").run(number, user, text);
  if (how === 1) db.prepare("DELETE FROM changes WHERE sync = ? AND user = ?").run(number, user);
  if (how === 2 || how === 3) {
    const upsert = "ON CONFLICT DO UPDATE SET value = excluded.value, event = excluded.event";
    const value = chance.happens(0.3) ? null : text;
    db.prepare(`INSERT INTO members VALUES (?, ?, ?, ?) ${upsert}`).run(number, user, value, chance.below(1_000));
  }
  if (how === 4) db.prepare("DELETE FROM members WHERE computation = ? AND user = ?").run(number, user);
  if (how === 5) {
    const columns = "event, destination, state, attempts, stood_still, accepted_at, about, body";
    db.prepare(
      `INSERT INTO tried (${columns}) VALUES (?, 'crm', 'failed', 1, 0, 0, ?, ?)
       ON CONFLICT DO UPDATE SET about = excluded.about, body = excluded.body`,
    ).run(chance.below(5_000), user, text);
  }
  if (how === 6) db.prepare("DELETE FROM tried WHERE event >= 4950").run();
  users.add(user);
}

function fill(tables: Tables, chance: Chance, changes: number): void {
  tables.db.exec("BEGIN");
  for (let n = 0; n < changes; n += 1) change(tables, chance);
  const insert = tables.db.prepare("INSERT INTO deletion_users VALUES (?, ?, ?, ?)");
  for (let n = 0; n < 300; n += 1) insert.run(`del-${n % 20}`, n, idOf(chance), idOf(chance));
  tables.db.exec("COMMIT");
}

const NAMES = ["tried", "members", "changes", "deletion_users"] as const;

/** All rows, by rowid where there is one. */
function rowsOf(db: Database): readonly unknown[] {
  return NAMES.map((name) =>
    db.prepare(name === "tried" ? "SELECT rowid, * FROM tried" : `SELECT * FROM ${name} ORDER BY 1, 2`).all(),
  );
}

/** Without the names of indexes, which change. */
function schemaOf(db: Database): readonly string[] {
  const all = db.prepare<[], string>("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").pluck().all();
  return all.map((sql) => sql.replace(/(CREATE INDEX "?[a-z_]+?)(_2)?"? ON /, "$1 ON ").replaceAll('"', "")).sort();
}

async function tracesOf({ db, path }: Tables, gone: ReadonlySet<string>): Promise<number> {
  const bytes = (await readFile(path)).toString("latin1");
  assert.equal(db.pragma("journal_mode", { simple: true }), "delete");
  const found = [...bytes.matchAll(/e-[0-9a-f]{20}/g)].map(([id]) => id);
  return new Set(found.filter((id) => gone.has(id))).size;
}

describe("the tables that hold users", () => {
  it("are the same when they were written anew, whatever is done to them meanwhile, and nothing else is left", async () => {
    for (const seed of [1, 2]) {
      const chance = createChance(seed);
      await using one = await openTables();
      await using other = await openTables();
      const [mine, theirs] = [createChance(seed), createChance(seed)];
      fill(one, mine, 700);
      fill(other, theirs, 700);
      const schema = schemaOf(one.db);
      for (const _ of ["once", "again"]) {
        const between = (): void => {
          for (let n = chance.below(20); n > 0; n -= 1) {
            change(one, mine);
            change(other, theirs);
          }
          assert.deepEqual(rowsOf(one.db), rowsOf(other.db));
        };
        assert.equal(await rewrite(one.db, { between }), true);
        assert.deepEqual(schemaOf(one.db), schema);
      }
      one.db.prepare("SELECT count(*) FROM deliveries").get();
      assert.deepEqual(one.db.pragma("integrity_check"), [{ integrity_check: "ok" }]);
    }
  });

  it("are the same after a crash or a failure at each step, from which it begins again", async () => {
    await using tables = await openTables();
    fill(tables, createChance(5), 1_000);
    const [rows, schema] = [rowsOf(tables.db), schemaOf(tables.db)];
    let ended = false;
    for (let last = 1; !ended; last += 1) {
      const stopping = new AbortController();
      const stopped = await rewrite(tables.db, {
        between: (n) => n === last && stopping.abort(),
        signal: stopping.signal,
      });
      assert.deepEqual(rowsOf(tables.db), rows);
      const failed = await rewrite(tables.db, { fails: (n) => n === last });
      assert.deepEqual(rowsOf(tables.db), rows);
      ended = stopped === true && failed === true;
      assert.ok(ended || failed === FAULT || failed === true, JSON.stringify(failed));
    }
    assert.deepEqual(schemaOf(tables.db), schema);
  });

  it("have no trace of rows that were deleted, which they had before", async () => {
    let before = 0;
    for (let seed = 1; seed <= 4; seed += 1) {
      const chance = createChance(seed);
      await using tables = await openTables();
      const { db, users } = tables;
      fill(tables, chance, 4_000);
      const gone = new Set([...users].filter(() => chance.happens(0.3)));
      for (const place of ["members WHERE user", "changes WHERE user", "tried WHERE about"]) {
        db.prepare(`DELETE FROM ${place} IN (SELECT value FROM json_each(?))`).run(JSON.stringify([...gone]));
      }
      before += await tracesOf(tables, gone);
      assert.equal(await rewrite(db), true);
      assert.equal(await tracesOf(tables, gone), 0);
    }
    assert.ok(before > 0, "there was nothing to remove");
  });
});
