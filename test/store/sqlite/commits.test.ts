import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCommits, type Job, type Keeper } from "../../../src/store/sqlite/commits.ts";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { createFalseReport, type Told } from "../harness.ts";

/** Commits on a table of numbers, and a keeper that remembers what it was told. */
async function startCommits(path = ":memory:") {
  const db = await openDatabase(path);
  db.pragma("busy_timeout = 0");
  db.exec("CREATE TABLE numbers (n INTEGER PRIMARY KEY CHECK (n > 0)) STRICT");
  const clock = createFalseClock();
  const told: Told[] = [];
  const kept: string[] = [];
  const keeper: Keeper = {
    write: ({ now }) => void kept.push(now === clock.now() ? "write" : `write at ${now}`),
    committed: () => void kept.push("committed"),
    rolledBack: () => void kept.push("rolled back"),
  };
  const failures: unknown[] = [];
  const failed = (error: unknown): void => void failures.push(error);
  const commits = createCommits(db, {
    clock,
    report: createFalseReport(told),
    keepers: [keeper],
    failed,
    gone: () => null,
  });
  const insert = db.prepare<[number]>("INSERT INTO numbers VALUES (?)");
  const add = (n: number, rows = 1) => commits.add({ rows, run: () => insert.run(n).changes, failed: String });
  return { db, clock, told, kept, keeper, failures, commits, add, [Symbol.dispose]: () => void db.close() };
}

function numbers(db: Database): readonly number[] {
  return db.prepare<[], number>("SELECT n FROM numbers ORDER BY n").pluck().all();
}

/** `fulfilled` or the error, for each. */
async function outcomes(work: readonly Promise<unknown>[]): Promise<readonly string[]> {
  const all = await Promise.all(work);
  return all.map((one) => (typeof one === "string" ? one : "fulfilled"));
}

describe("a commit", () => {
  it("that only looks writes nothing, and says nothing about whether that could be done", async () => {
    using c = await startCommits();
    const look = (): Promise<string> => c.commits.add({ rows: 0, looks: true, run: () => "seen", failed: () => "not" });
    assert.equal(await look(), "seen");
    assert.deepEqual(c.kept, ["committed"]);
    assert.match(String(await c.add(-1)), /CHECK constraint/);
    assert.equal(await look(), "seen");
    assert.equal(c.commits.succeeded(), false);
    assert.deepEqual(await Promise.all([look(), c.add(1)]), ["seen", 1]);
    assert.equal(c.commits.succeeded(), true);
  });

  it("that fails answers a fault, or what the job makes of its error", async () => {
    using c = await startCommits();
    const run = (): never => {
      throw new Error("no");
    };
    const message = "the outbox cannot be written, and nothing was changed; see the log for the reason";
    assert.deepEqual(await c.commits.add({ rows: 1, run }), { code: "store_failed", message });
    assert.equal(await c.commits.add({ rows: 1, run, failed: String }), "Error: no");
  });

  it("is shared by the jobs that come in the same turn", async () => {
    using c = await startCommits();
    assert.deepEqual(await Promise.all([c.add(1), c.add(2), c.add(3)]), [1, 1, 1]);
    assert.deepEqual(c.kept, ["write", "committed"]);
    assert.deepEqual(numbers(c.db), [1, 2, 3]);
  });

  it("does not wait for a timer", async () => {
    using c = await startCommits();
    const adding = c.add(1);
    await c.clock.rest();
    assert.deepEqual(numbers(c.db), [1]);
    await adding;
  });

  it("does not take in what comes while it runs: that goes into the next", async () => {
    using c = await startCommits();
    const inner: Promise<unknown>[] = [];
    const run = (): void => void inner.push(c.add(2), c.add(3));
    await c.commits.add({ rows: 1, run });
    assert.deepEqual(c.kept, ["write", "committed"]);
    await Promise.all(inner);
    assert.deepEqual(c.kept, ["write", "committed", "write", "committed"]);
  });

  it("ends before it gets long: what is left goes into the next, in order", async () => {
    using c = await startCommits();
    await Promise.all([c.add(1, 3_000), c.add(2, 2_000), c.add(3, 1)]);
    assert.deepEqual(c.kept, ["write", "committed", "write", "committed"]);
  });

  it("has at least one job in it, however long that is", async () => {
    using c = await startCommits();
    await Promise.all([c.add(1, 50_000), c.add(2, 50_000)]);
    assert.deepEqual(c.kept, ["write", "committed", "write", "committed"]);
    assert.deepEqual(numbers(c.db), [1, 2]);
  });

  it("of a second or more is told, with the rows in it", async () => {
    using c = await startCommits();
    const take = (ms: number): Job<void> => ({ rows: 7, run: () => c.clock.skip(`${ms}ms`) });
    await c.commits.add(take(999));
    assert.deepEqual(c.told, []);
    await Promise.all([c.commits.add(take(600)), c.commits.add(take(650))]);
    assert.deepEqual(c.told, [{ what: "slowCommit", args: [1_250, 14] }]);
  });

  it("leaves nothing to wait for when it is idle", async () => {
    using c = await startCommits();
    await c.commits.idle();
    let done = 0;
    for (const n of [1, 2]) void c.add(n, 5_000).then(() => (done += 1));
    await c.commits.idle();
    assert.equal(done, 2);
  });
});

describe("a job that throws", () => {
  it("costs only itself", async () => {
    using c = await startCommits();
    const all = [c.add(1), c.add(2), c.add(-3), c.add(4), c.add(2), c.add(6)];
    const [one, two, three, four, again, six] = await outcomes(all);
    assert.deepEqual([one, two, four, six], ["fulfilled", "fulfilled", "fulfilled", "fulfilled"]);
    assert.match(three ?? "", /CHECK constraint/);
    assert.match(again ?? "", /UNIQUE constraint/);
    assert.deepEqual(numbers(c.db), [1, 2, 4, 6]);
  });

  it("is told, with the reason", async () => {
    using c = await startCommits();
    await outcomes([c.add(1), c.add(-1)]);
    assert.equal(c.told.length, 1);
    assert.deepEqual([c.told[0]?.what, c.told[0]?.args[0]], ["storeFailed", "commit"]);
    assert.match(String(c.told[0]?.args[1]), /CHECK constraint/);
  });

  it("has the keepers take back what they have noted", async () => {
    using c = await startCommits();
    await outcomes([c.add(1), c.add(-1)]);
    assert.deepEqual(c.kept, ["rolled back", "write", "committed", "rolled back"]);
  });

  it("may leave it to SQLite to roll back", async () => {
    using c = await startCommits();
    c.db.exec(
      "CREATE TRIGGER full BEFORE INSERT ON numbers WHEN new.n = 13 BEGIN SELECT RAISE(ROLLBACK, 'disk full'); END",
    );
    assert.deepEqual(await outcomes([c.add(1), c.add(13), c.add(2)]), [
      "fulfilled",
      "SqliteError: disk full",
      "fulfilled",
    ]);
    assert.deepEqual(numbers(c.db), [1, 2]);
    assert.equal(c.db.inTransaction, false);
  });
});

describe("a commit that fails", () => {
  it("fails its jobs, leaves no trace of them, and the next one succeeds", async () => {
    using c = await startCommits();
    c.db.exec(`PRAGMA foreign_keys = ON;
      CREATE TABLE promises (n INTEGER REFERENCES numbers (n) DEFERRABLE INITIALLY DEFERRED) STRICT`);
    const promise = c.db.prepare<[number]>("INSERT INTO promises VALUES (?)");
    const breaking = c.commits.add({ rows: 1, run: () => promise.run(99), failed: String });
    assert.match((await outcomes([breaking]))[0] ?? "", /FOREIGN KEY/);
    assert.deepEqual([c.commits.succeeded(), c.db.inTransaction], [false, false]);
    assert.deepEqual(c.kept, ["write", "rolled back"]);

    await c.add(1);
    assert.equal(c.commits.succeeded(), true);
    assert.deepEqual(c.db.prepare("SELECT * FROM promises").all(), []);
  });

  it("is passed on with its error, and one that succeeds is not", async () => {
    using c = await startCommits();
    await c.add(1);
    assert.deepEqual(c.failures, []);
    await outcomes([c.add(1)]);
    assert.deepEqual(c.failures.map(String), ["SqliteError: UNIQUE constraint failed: numbers.n"]);
  });

  it("is one that a keeper could not write to", async () => {
    using c = await startCommits();
    const broken = { ...c.keeper, write: () => assert.fail("no space left") };
    const report = createFalseReport(c.told);
    const commits = createCommits(c.db, { clock: c.clock, report, keepers: [broken], failed() {}, gone: () => null });
    const insert = c.db.prepare("INSERT INTO numbers VALUES (1)");
    const adding = commits.add({ rows: 1, run: () => insert.run(), failed: String });
    assert.match((await outcomes([adding]))[0] ?? "", /no space left/);
    assert.deepEqual(numbers(c.db), []);
  });
});
