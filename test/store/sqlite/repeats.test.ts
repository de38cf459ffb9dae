import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import { createRepeats, type Repeats } from "../../../src/store/sqlite/repeats.ts";
import { migrate } from "../../../src/store/sqlite/schema.ts";

async function startDatabase(): Promise<Database & Disposable> {
  const db = await openDatabase(":memory:");
  migrate(db);
  return Object.assign(db, { [Symbol.dispose]: () => void db.close() });
}

/** A transaction with these ids. Answers which of them are repeats. */
function see(
  repeats: Repeats,
  ids: readonly string[],
  { at = 1_000, since = 0, fails = false } = {},
): readonly boolean[] {
  const answers = ids.map((id) => repeats.isRepeat("website", id, since));
  if (fails) {
    repeats.rolledBack();
    return answers;
  }
  repeats.write(at);
  repeats.committed();
  return answers;
}

function many(count: number, prefix = "m"): readonly string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}${n}`);
}

describe("repeats", () => {
  it("are recognised within a transaction, after it, and after a restart", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    assert.deepEqual(see(repeats, ["a", "b", "a"]), [false, false, true]);
    assert.deepEqual(see(repeats, ["b", "c"]), [true, false]);
    assert.deepEqual(see(createRepeats(db), ["a", "b", "c", "d"]), [true, true, true, false]);
  });

  it("are recognised in large transactions, which are stored as several rows", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    const ids = many(1_001);
    assert.ok(!see(repeats, ids).includes(true));
    assert.deepEqual(
      db.prepare("SELECT first, length(keys) / 16 AS count FROM seen").all(),
      [1, 251, 501, 751, 1_001].map((first) => ({ first, count: first === 1_001 ? 1 : 250 })),
    );
    assert.ok(!see(repeats, ids).includes(false));
    assert.ok(!see(createRepeats(db), ids).includes(false));
  });

  it("write nothing when there is nothing new", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    see(repeats, ["a"]);
    see(repeats, ["a"]);
    see(repeats, []);
    assert.equal(db.prepare("SELECT * FROM seen").all().length, 1);
  });

  it("are none of what was rolled back", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    see(repeats, ["a"]);
    assert.deepEqual(see(repeats, ["a", "b", "b", "c"], { fails: true }), [true, false, true, false]);
    assert.deepEqual(see(repeats, ["c", "b", "a"]), [false, false, true]);
    assert.deepEqual(see(createRepeats(db), ["a", "b", "c"]), [true, true, true]);
  });

  it("are forgotten when they are older than asked for, exactly", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    see(repeats, ["a"], { at: 1_000 });
    assert.deepEqual(see(repeats, ["a"], { at: 2_000, since: 1_000 }), [true]);
    assert.deepEqual(see(repeats, ["a"], { at: 2_000, since: 1_001 }), [false]);
    assert.deepEqual(see(repeats, ["a"], { at: 3_000, since: 2_000 }), [true]);
  });

  it("are removed by age, so many rows at a time, and counted as ids", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    see(repeats, many(300, "a"), { at: 1_000 });
    see(repeats, many(10, "b"), { at: 2_000 });
    see(repeats, many(10, "c"), { at: 3_000 });
    assert.deepEqual([repeats.hasBefore(1_000), repeats.hasBefore(1_001)], [false, true]);
    assert.deepEqual([repeats.prune(1_000, 10), repeats.prune(3_000, 2), repeats.prune(3_000, 2)], [0, 300, 10]);
    assert.deepEqual([repeats.hasBefore(3_000), repeats.prune(3_000, 2)], [false, 0]);
    assert.ok(!see(repeats, many(10, "c")).includes(false));
    assert.ok(!see(repeats, [...many(300, "a"), ...many(10, "b")]).includes(true));
  });

  it("are recognised as if all ids were kept in a list, whatever happens", async () => {
    const anyIds = fc.array(fc.nat(20).map(String), { maxLength: 8 });
    const anyStep = fc.record({
      ids: anyIds,
      end: fc.constantFrom("commit", "commit", "roll back", "restart", "prune"),
    });
    using db = await startDatabase();
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 25 }), (steps) => {
        db.exec("DELETE FROM seen");
        let repeats = createRepeats(db);
        const seen = new Map<string, number>();
        for (const [at, { ids, end }] of steps.entries()) {
          const now = new Map<string, number>();
          const since = at - 6;
          const expected = ids.map((id) => {
            const known = now.has(id) || (seen.get(id) ?? -7) >= since;
            if (!known) now.set(id, at);
            return known;
          });
          assert.deepEqual(see(repeats, ids, { at, since, fails: end === "roll back" }), expected);
          if (end !== "roll back") for (const [id, seenAt] of now) seen.set(id, seenAt);
          if (end === "restart") repeats = createRepeats(db);
          if (end === "prune") {
            repeats.prune(since, 3);
            repeats.committed();
          }
        }
      }),
      { numRuns: 40 },
    );
  });
});
