import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import {
  createKeyIndex,
  createRepeats,
  hashOf,
  type KeyIndex,
  type Repeats,
} from "../../../src/store/sqlite/repeats.ts";
import { migrate } from "../../../src/store/sqlite/schema.ts";
import { makeTx } from "../harness.ts";

async function startDatabase(): Promise<Database & Disposable> {
  const db = await openDatabase(":memory:");
  migrate(db);
  return Object.assign(db, { [Symbol.dispose]: () => void db.close() });
}

type Seeing = {
  readonly at?: number;
  readonly since?: number;
  /** The transaction is rolled back. */
  readonly fails?: boolean;
  /** When it folds the tail: before one of its ids, counted from 0, or at its end. */
  readonly folds?: readonly (number | "end")[];
};

/** A transaction with these ids. Answers which of them are repeats. */
function see({ db, repeats }: Parts, ids: readonly string[], seeing: Seeing = {}): readonly boolean[] {
  const { at = 1_000, since = 0, fails = false, folds = ["end"] } = seeing;
  db.exec("BEGIN");
  const answers = ids.map((id, nth) => {
    if (folds.includes(nth)) repeats.fold(makeTx(at));
    return repeats.isRepeat(makeTx(at), "website", id, since);
  });
  if (folds.includes("end")) repeats.fold(makeTx(at));
  repeats.write(makeTx(at));
  db.exec(fails ? "ROLLBACK" : "COMMIT");
  if (fails) repeats.rolledBack();
  else repeats.committed();
  return answers;
}

type Parts = { readonly db: Database; readonly repeats: Repeats };

function many(count: number, prefix = "m"): readonly string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}${n}`);
}

describe("repeats", () => {
  it("are recognised within a transaction, after it, and after a restart", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    assert.deepEqual(see({ db, repeats }, ["a", "b", "a"]), [false, false, true]);
    assert.deepEqual(see({ db, repeats }, ["b", "c"]), [true, false]);
    assert.deepEqual(see({ db, repeats: createRepeats(db) }, ["a", "b", "c", "d"]), [true, true, true, false]);
  });

  it("are recognised in large transactions, which are stored as several rows", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    const ids = many(1_001);
    assert.ok(!see({ db, repeats }, ids).includes(true));
    assert.deepEqual(
      db.prepare("SELECT first, length(keys) / 16 AS count FROM seen").all(),
      [1, 251, 501, 751, 1_001].map((first) => ({ first, count: first === 1_001 ? 1 : 250 })),
    );
    assert.ok(!see({ db, repeats }, ids).includes(false));
    assert.ok(!see({ db, repeats: createRepeats(db) }, ids).includes(false));
  });

  it("write nothing when there is nothing new", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    see({ db, repeats }, ["a"]);
    see({ db, repeats }, ["a"]);
    see({ db, repeats }, []);
    assert.equal(db.prepare("SELECT * FROM seen").all().length, 1);
  });

  it("are none of what was rolled back", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    see({ db, repeats }, ["a"]);
    assert.deepEqual(see({ db, repeats }, ["a", "b", "b", "c"], { fails: true }), [true, false, true, false]);
    assert.deepEqual(see({ db, repeats }, ["c", "b", "a"]), [false, false, true]);
    assert.deepEqual(see({ db, repeats: createRepeats(db) }, ["a", "b", "c"]), [true, true, true]);
  });

  it("are forgotten when they are older than asked for, exactly", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    see({ db, repeats }, ["a"], { at: 1_000 });
    assert.deepEqual(see({ db, repeats }, ["a"], { at: 2_000, since: 1_000 }), [true]);
    assert.deepEqual(see({ db, repeats }, ["a"], { at: 2_000, since: 1_001 }), [false]);
    assert.deepEqual(see({ db, repeats }, ["a"], { at: 3_000, since: 2_000 }), [true]);
  });

  it("are removed by age, so many rows at a time, and counted as ids", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    see({ db, repeats }, many(300, "a"), { at: 1_000 });
    see({ db, repeats }, many(10, "b"), { at: 2_000 });
    see({ db, repeats }, many(10, "c"), { at: 3_000 });
    assert.deepEqual([repeats.hasBefore(1_000), repeats.hasBefore(1_001)], [false, true]);
    assert.deepEqual(
      [repeats.prune(makeTx(), 1_000, 10), repeats.prune(makeTx(), 3_000, 2), repeats.prune(makeTx(), 3_000, 2)],
      [0, 300, 10],
    );
    assert.deepEqual([repeats.hasBefore(3_000), repeats.prune(makeTx(), 3_000, 2)], [false, 0]);
    assert.ok(!see({ db, repeats }, many(10, "c")).includes(false));
    assert.ok(!see({ db, repeats }, [...many(300, "a"), ...many(10, "b")]).includes(true));
  });

  it("are recognised when they come again after a day in which nothing was folded", async () => {
    using db = await startDatabase();
    const repeats = createRepeats(db);
    see({ db, repeats }, ["a"], { at: 1_000, folds: [] });
    // The tail is folded on the way: the older one is written, and the newer one goes into the tail.
    assert.deepEqual(see({ db, repeats }, ["a"], { at: 2_000, since: 1_500, folds: [0] }), [false]);
    assert.deepEqual(see({ db, repeats }, ["a"], { at: 3_000, since: 1_500 }), [true]);
    assert.equal(repeats.seenAt("website", "a"), 2_000);
  });

  it("are recognised as if all ids were kept in a list, whatever happens", async () => {
    const anyStep = fc.record({
      ids: fc.array(fc.nat(20).map(String), { maxLength: 8 }),
      folds: fc.subarray([0, 1, 3, "end"] as const),
      end: fc.constantFrom("commit", "commit", "roll back", "restart", "prune"),
    });
    using db = await startDatabase();
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 25 }), (steps) => {
        db.exec("DELETE FROM seen");
        let repeats = createRepeats(db);
        const seen = new Map<string, number>();
        // What the tail has, which says it to the next process.
        const tail = new Map<string, number>();
        for (const [at, { ids, folds, end }] of steps.entries()) {
          const now = new Map<string, number>();
          const since = at - 6;
          const expected = ids.map((id) => {
            const known = now.has(id) || (seen.get(id) ?? -7) >= since;
            if (!known) now.set(id, at);
            return known;
          });
          const fails = end === "roll back";
          assert.deepEqual(see({ db, repeats }, ids, { at, since, folds, fails }), expected);
          if (fails) continue;
          if (folds.some((nth) => nth === "end" || nth < ids.length)) tail.clear();
          for (const [id, seenAt] of now) {
            seen.set(id, seenAt);
            if (!folds.includes("end")) tail.set(id, seenAt);
          }
          if (end === "restart") {
            repeats = createRepeats(db);
            for (const [id, seenAt] of tail) repeats.restore([["website", "track", id, null]], seenAt);
          }
          if (end === "prune") {
            repeats.prune(makeTx(), since, 3);
            repeats.committed();
          }
        }
      }),
      { numRuns: 100 },
    );
  });
});

/** Numbers that a table holds; one that is further on begins the next. */
const TABLE = 2 ** 20;

function hashFor(text: string | number): number {
  return hashOf(createHash("sha256").update(String(text)).digest().toString("latin1", 0, 16));
}

/** The numbers that the index asks about, in order. */
function nominees(index: KeyIndex, hash: number): readonly number[] {
  const numbers: number[] = [];
  index.some(hash, (number) => numbers.push(number) < 0);
  return numbers.sort((one, other) => one - other);
}

/** The hash of a key that begins with these four bytes. */
function craft(begins: number): number {
  const key = Buffer.alloc(16);
  key.writeUInt32LE(begins, 0);
  return hashOf(key.toString("latin1"));
}

describe("the key index", () => {
  it("nominates the number of a key", () => {
    const index = createKeyIndex();
    for (let n = 1; n <= 10_000; n += 1) index.add(hashFor(n), n);
    for (let n = 1; n <= 10_000; n += 1) assert.ok(nominees(index, hashFor(n)).includes(n));
  });

  it("nominates hardly anything for a key that was not added", () => {
    const index = createKeyIndex();
    for (let n = 1; n <= 10_000; n += 1) index.add(hashFor(n), n);
    const found = Array.from({ length: 10_000 }, (_, n) => nominees(index, hashFor(`other ${n}`)).length);
    assert.ok(found.reduce((sum, count) => sum + count, 0) < 20);
    assert.deepEqual(nominees(createKeyIndex(), hashFor(1)), []);
  });

  it("nominates each of several keys that look alike", () => {
    const index = createKeyIndex();
    index.add(craft(0x77000005), 1);
    index.add(craft(0x77000005), 2);
    index.add(craft(0x78000005), 3);
    assert.deepEqual(nominees(index, craft(0x77000005)), [1, 2]);
    assert.deepEqual(nominees(index, craft(0x78000005)), [3]);
  });

  it("finds the first and the last number of a table, and hashes of zeros and of ones", () => {
    const index = createKeyIndex();
    index.add(craft(0), 1);
    index.add(craft(0xffffffff), TABLE);
    assert.deepEqual(nominees(index, craft(0)), [1]);
    assert.deepEqual(nominees(index, craft(0xffffffff)), [TABLE]);
  });

  it("keeps what it has when a table grows, also keys that only differ where they did not matter before", () => {
    const index = createKeyIndex();
    // The same lower 8, 12 and 16 bits.
    const hashes = [0x500012, 0x500112, 0x501112, 0x511112].map(craft);
    for (const [at, hash] of hashes.entries()) index.add(hash, at + 1);
    for (const number of [300, 5_000, 70_000, TABLE]) {
      index.add(craft(0x500013), number);
      assert.deepEqual(
        hashes.map((hash) => nominees(index, hash)),
        [[1], [2], [3], [4]],
      );
    }
    assert.deepEqual(nominees(index, craft(0x500013)), [300, 5_000, 70_000, TABLE]);
  });

  it("keeps numbers of any size apart, over several tables", () => {
    const index = createKeyIndex();
    const starts = [0, TABLE, 5 * TABLE, 3_000_000_000, 2 ** 45];
    for (const start of starts) index.add(hashFor("same"), start + 1);
    assert.deepEqual(
      nominees(index, hashFor("same")),
      starts.map((start) => start + 1),
    );
  });

  it("drops tables that lie wholly before a number, and no other", () => {
    const index = createKeyIndex();
    const hash = hashFor("same");
    const numbers = [1, TABLE + 1, 2 * TABLE + 1];
    for (const number of numbers) index.add(hash, number);
    index.forgetBefore(TABLE);
    assert.deepEqual(nominees(index, hash), numbers);
    index.forgetBefore(TABLE + 1);
    assert.deepEqual(nominees(index, hash), numbers.slice(1));
    index.forgetBefore(10 * TABLE);
    assert.deepEqual(nominees(index, hash), numbers.slice(2));
    index.add(hash, 2 * TABLE + 2);
    assert.deepEqual(nominees(index, hash), [2 * TABLE + 1, 2 * TABLE + 2]);
  });

  it("nominates every number of every key, whatever was added and forgotten", () => {
    const anyHash = fc.constantFrom(0, 1, 0x101, 0x1001, 0x10001, 0x100001, 0xfff00001, 0xffffffff).map(craft);
    const ahead = fc.constantFrom(1, 2, 300, 5_000, 70_000, TABLE - 1, TABLE);
    const anyStep = fc.record({ hash: anyHash, ahead, forgets: fc.boolean() });
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 12 }), (steps) => {
        const index = createKeyIndex();
        let kept: { readonly hash: number; readonly number: number }[] = [];
        let number = 0;
        for (const { hash, ahead, forgets } of steps) {
          number += ahead;
          kept.push({ hash, number });
          index.add(hash, number);
          if (forgets) {
            index.forgetBefore(number);
            kept = kept.slice(-1);
          }
          for (const one of kept) assert.ok(nominees(index, one.hash).includes(one.number));
        }
      }),
      { numRuns: 40 },
    );
  });

  it("drops the oldest table when there are too many: memory has a bound", () => {
    const index = createKeyIndex();
    for (let n = 0; n < 16; n += 1) index.add(hashFor(n), n * TABLE + 1);
    assert.deepEqual(nominees(index, hashFor(0)), [1]);
    index.add(hashFor(16), 16 * TABLE + 1);
    assert.deepEqual(nominees(index, hashFor(0)), []);
    assert.equal(index.oldest(), TABLE + 1);
    assert.deepEqual(nominees(index, hashFor(16)), [16 * TABLE + 1]);
  });
});
