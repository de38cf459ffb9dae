import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createAppend } from "../../../src/store/sqlite/append.ts";
import { createBacklog } from "../../../src/store/sqlite/backlog.ts";
import { createClaims } from "../../../src/store/sqlite/claims.ts";
import { createCounts } from "../../../src/store/sqlite/counts.ts";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import { migrate, SCHEMA_VERSION } from "../../../src/store/sqlite/migrations.ts";
import { createPrune } from "../../../src/store/sqlite/prune.ts";
import { createRepeats } from "../../../src/store/sqlite/repeats.ts";
import { createSettle } from "../../../src/store/sqlite/settle.ts";

describe("migrations", () => {
  it("make an empty file into the newest schema, and say so in user_version", async () => {
    const db = await openDatabase(":memory:");
    migrate(db);
    assert.equal(db.pragma("user_version", { simple: true }), SCHEMA_VERSION);
    const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck();
    assert.deepEqual(tables.all(), ["counts", "deliveries", "events", "meta", "seen"]);
    db.close();
  });

  it("leave a file of the newest schema as it is", async () => {
    const db = await openDatabase(":memory:");
    migrate(db);
    db.exec("INSERT INTO meta VALUES ('last_at', 7)");
    const before = db.pragma("schema_version", { simple: true });
    migrate(db);
    assert.equal(db.pragma("schema_version", { simple: true }), before);
    assert.deepEqual(db.prepare("SELECT * FROM meta").all(), [{ name: "last_at", value: 7 }]);
    db.close();
  });

  it("refuse a file that a newer Fairlead has written, and say what to do", async () => {
    const db = await openDatabase(":memory:");
    db.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
    assert.throws(() => migrate(db), {
      message:
        `its schema is version ${SCHEMA_VERSION + 1}, and this Fairlead knows up to ${SCHEMA_VERSION}; ` +
        "use the newer Fairlead that wrote it, or a backup from before the upgrade",
    });
    assert.deepEqual(db.prepare("SELECT * FROM sqlite_schema").all(), []);
    db.close();
  });

  it("serve every statement of the store: none reads a table through, or sorts", async () => {
    const { db, statements } = await recordStatements();
    const plans = statements.map((sql) => ({ sql, plan: planOf(db, sql) }));
    const wrong = plans.filter(({ plan }) => plan.some((line) => /TEMP B-TREE|^SCAN (?!CONSTANT)/.test(line)));
    assert.ok(plans.length >= 16);
    assert.deepEqual(
      wrong.map(({ sql }) => sql.replace(/\s+/g, " ")),
      // All at the start, and the second in its own order, with a limit.
      [
        "SELECT destination, state, count FROM counts",
        "SELECT * FROM seen ORDER BY first LIMIT ?",
        "SELECT * FROM seen ORDER BY first",
        "SELECT id + 1 AS nextEvent, first_delivery + deliveries AS nextDelivery FROM events ORDER BY id DESC LIMIT 1",
      ],
    );
    db.close();
  });

  it("are read: a statement without one would be found", async () => {
    const { db } = await recordStatements();
    assert.match(planOf(db, "SELECT * FROM deliveries WHERE reason = ?").join(), /^SCAN deliveries/);
    assert.match(planOf(db, "SELECT * FROM events WHERE id > ? ORDER BY source").join(), /TEMP B-TREE/);
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
      if (name !== "prepare") return Reflect.get(target, name);
      return (sql: string) => {
        statements.push(sql);
        return target.prepare(sql);
      };
    },
  });
  const counts = createCounts(recording);
  const repeats = createRepeats(recording);
  createAppend(recording, { counts, repeats });
  createSettle(recording, counts);
  createClaims(recording);
  createBacklog(recording, counts);
  createPrune(recording, { counts, repeats });
  return { db, statements };
}

function planOf(db: Database, sql: string): readonly string[] {
  const values = Array.from(sql.matchAll(/\?/g), () => 1);
  const rows = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
  return rows.map(({ detail }) => detail);
}
