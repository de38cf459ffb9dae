import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createStoredClocks } from "../../../src/store/sqlite/clocks.ts";
import type { Commits, Tx } from "../../../src/store/sqlite/commits.ts";
import { createStoredDeletions } from "../../../src/store/sqlite/deletions.ts";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import { createReads } from "../../../src/store/sqlite/lookup.ts";
import { createMeta } from "../../../src/store/sqlite/meta.ts";
import { createNotices } from "../../../src/store/sqlite/notices.ts";
import { createPrune } from "../../../src/store/sqlite/prune.ts";
import { createBacklog, createReadQueue } from "../../../src/store/sqlite/queues.ts";
import { createReplaySteps } from "../../../src/store/sqlite/replay.ts";
import { migrate, SCHEMA_VERSION } from "../../../src/store/sqlite/schema.ts";
import { createTables } from "../../../src/store/sqlite/tables.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { createFalseReport } from "../harness.ts";

describe("the schema", () => {
  it("is made in an empty file, and its version stands in user_version", async () => {
    const db = await openDatabase(":memory:");
    migrate(db);
    assert.equal(db.pragma("user_version", { simple: true }), SCHEMA_VERSION);
    const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck();
    const audiences = ["call_key", "changes", "computations", "members", "syncs"];
    const deletions = ["deletion_notices", "deletion_users", "deletions", "salt", "suppressed"];
    const others = ["clocks", "contents", "counts", "meta", "progress", "seen", "segments", "tried"];
    assert.deepEqual(tables.all(), [...audiences, ...deletions, ...others].sort());
    const views = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name").pluck();
    assert.deepEqual(views.all(), ["deliveries", "events"]);
    db.close();
  });

  it("is left as it is where it is there already", async () => {
    const db = await openDatabase(":memory:");
    migrate(db);
    db.exec("INSERT INTO meta VALUES ('last_at', 7)");
    const before = db.pragma("schema_version", { simple: true });
    migrate(db);
    assert.equal(db.pragma("schema_version", { simple: true }), before);
    assert.deepEqual(db.prepare("SELECT * FROM meta").all(), [{ name: "last_at", value: 7 }]);
    db.close();
  });

  it("serves every statement of the store: none reads a table through, or sorts", async () => {
    const { db, statements } = await recordStatements();
    const plans = statements.map((sql) => ({ sql, plan: planOf(db, sql) }));
    const wrong = plans.filter(({ plan }) => plan.some((line) => /TEMP B-TREE|^SCAN (?!CONSTANT)/.test(line)));
    assert.ok(plans.length >= 30, `only ${plans.length} statements were recorded`);
    assert.deepEqual(
      [...new Set(wrong.map(({ sql }) => sql.replace(/\s+/g, " ")))].sort(),
      // All at the start, and the second in its own order, with a limit.
      [
        "SELECT destination, state, count FROM counts",
        "SELECT * FROM seen ORDER BY first LIMIT ?",
        "SELECT * FROM seen ORDER BY first",
        "SELECT first + events AS next FROM segments ORDER BY first DESC LIMIT 1",
        "SELECT name, value FROM meta",
        "SELECT accepted_at FROM segments ORDER BY first DESC LIMIT 1",
        "SELECT destination, paused_at AS pausedAt, unserved_at AS unservedAt, offline_at AS offlineAt, stopped_at AS stoppedAt, stood_still AS stoodStill FROM clocks ORDER BY destination",
        // Of an index of those that are not finished.
        "SELECT number FROM syncs WHERE state <> 'finished'",
        "SELECT s.number FROM syncs s CROSS JOIN computations c ON c.number = s.computation WHERE s.state <> 'finished' AND c.source = ?",
        "SELECT value FROM salt",
        "SELECT hash, source FROM suppressed ORDER BY hash, source",
        "SELECT 1 FROM deletions LIMIT 1",
        "SELECT value FROM call_key",
      ].sort(),
    );
    db.close();
  });

  it("would be found not to serve a statement without an index", async () => {
    const { db } = await recordStatements();
    assert.match(planOf(db, "SELECT * FROM tried WHERE reason = ?").join(), /^SCAN tried/);
    assert.match(planOf(db, "SELECT * FROM segments WHERE first > ? ORDER BY events").join(), /TEMP B-TREE/);
    db.close();
  });
});

/** The statements that the parts of the store prepare. */
async function recordStatements(): Promise<{ readonly db: Database; readonly statements: readonly string[] }> {
  const db = await openDatabase(":memory:");
  migrate(db);
  const statements: string[] = [];
  const recording = new Proxy(db, {
    get(target, name) {
      if (name !== "prepare") return name === "function" ? target.function.bind(target) : Reflect.get(target, name);
      return (sql: string) => {
        statements.push(sql);
        return target.prepare(sql);
      };
    },
  });
  const [clock, report] = [createFalseClock(), createFalseReport([])];
  const flush = (): void => {};
  const caughtUp = async (): Promise<void> => {};
  const tables = createTables(recording, { flush, report });
  const { counts, repeats, kept, segmentRows: rows, openSegments } = tables;
  const commits = {} as Commits;
  createStoredClocks(recording, { commits, meta: createMeta(recording, { clock, report }) });
  createReadQueue(recording, { report, rows, ...openSegments });
  createBacklog(recording, { counts, rows, caughtUp });
  createReads(recording, { kept, repeats });
  const notices = createNotices(recording, { kept, commits, clock });
  const room = { refusal: () => null };
  const size = { borrow: <T>(_tx: Tx, run: () => T): T => run(), repaid() {} };
  createStoredDeletions(recording, { tables, commits, clock, notices, room, size, report });
  createReplaySteps(recording, { tables, commits });
  createPrune(recording, tables, flush);
  return { db, statements };
}

function planOf(db: Database, sql: string): readonly string[] {
  const values = Array.from(sql.matchAll(/\?/g), () => 1);
  const rows = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
  return rows.map(({ detail }) => detail);
}
