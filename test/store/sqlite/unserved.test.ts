import assert from "node:assert/strict";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import { SCRATCH } from "../../scratch.ts";
import { delivered, failed, makeEntries, makeEntry, makeLargeEntries, refused, retried } from "../make.ts";
import { failing, type Row, startOutbox, type TestOutbox } from "./start.ts";

const MOVE = { from: "crm", to: "new" };
const MANY = 1_000;

/** Two segments of three to crm, the second also to warehouse, in which the second event was tried in vain. */
async function appendTwoSegments(o: TestOutbox): Promise<void> {
  await o.s.append(...makeEntries(3, { ownId: true }));
  await o.s.append(...makeEntries(3, { ownId: true, deliverTo: ["crm", "warehouse"] }));
  for (const one of await o.s.read()) {
    if (one.id % 3 === 2) await o.s.store().settle(one, refused(one, o.s.clock.now()));
  }
}

/** As `1 crm wtw 2`: segment, destination, letters, how many wait. */
function letters({ sql }: TestOutbox): readonly string[] {
  const rows = sql("SELECT segment, destination, states, waiting FROM progress ORDER BY segment, destination");
  return rows.map(({ segment, destination, states, waiting }) => `${segment} ${destination} ${states} ${waiting}`);
}

/** The counts as the rows say, which the views show one by one. */
function countRows(select: (query: string) => readonly Row[]): readonly string[] {
  const rows = select("SELECT destination, state, count(*) AS count FROM deliveries GROUP BY 1, 2 ORDER BY 1, 2");
  return rows.map(({ destination, state, count }) => `${destination} ${state}: ${count}`);
}

/** Every segment counts rightly what waits in it. */
function assertOpen({ sql }: TestOutbox): void {
  const wrong = `SELECT s.first FROM segments s
    WHERE s.open <> (SELECT total(waiting) FROM progress p WHERE p.segment = s.first)
    OR EXISTS (SELECT 1 FROM progress p WHERE p.segment = s.first
      AND p.waiting <> length(p.states) - length(replace(p.states, 'w', '')))`;
  assert.deepEqual(sql(wrong), []);
}

describe("deliveries that are discarded", () => {
  it("have rows that say so, whether they had one before or not", async () => {
    await using o = await startOutbox();
    await appendTwoSegments(o);
    const tried = o.s.clock.now();
    await o.s.clock.advance("1m");
    await o.s.store().waiting.discard("crm", MANY);
    assert.deepEqual(letters(o), ["1 crm ttt 0", "4 crm ttt 0", "4 warehouse www 3"]);
    const rows = o.sql("SELECT * FROM deliveries WHERE destination = 'crm' ORDER BY event");
    assert.deepEqual(
      rows.map(({ event, state, attempts, attempted_at: at }) => [event, state, attempts, at]),
      [1, 2, 3, 4, 5, 6].map((id) => [id, "failed", ...(id % 3 === 2 ? [1, tried] : [0, null])]),
    );
    for (const { reason, due_at: dueAt, settled_at: settledAt } of rows) {
      assert.deepEqual([reason, dueAt, settledAt], ["discarded by operator", null, o.s.clock.now()]);
    }
    assert.deepEqual(countRows(o.sql), await o.s.counts());
    assertOpen(o);
  });

  it("keep their bodies, also those of a segment that was compressed", async () => {
    await using o = await startOutbox();
    const entries = makeLargeEntries(20, 1_000, { ownId: true });
    await o.s.append(...entries);
    assert.deepEqual(o.sql("SELECT typeof(bodies) AS type FROM contents"), [{ type: "blob" }]);
    await o.s.store().waiting.discard("crm", MANY);
    const rows = o.sql("SELECT body, about ->> 2 AS id FROM tried ORDER BY event");
    assert.deepEqual(
      rows,
      entries.map(({ body, event }) => ({ body, id: event.messageId })),
    );
  });

  it("let their segment be pruned, when nothing else waits in it", async () => {
    await using o = await startOutbox();
    await appendTwoSegments(o);
    await o.s.store().waiting.discard("crm", MANY);
    const all = o.s.clock.now() + 1;
    await o.s.prune({ delivered: all, failed: all, seen: 0 }, MANY);
    assert.deepEqual(letters(o), ["4 crm ttt 0", "4 warehouse www 3"]);
    assert.deepEqual(await o.s.counts(), ["warehouse waiting: 3"]);
  });
});

describe("deliveries that are moved", () => {
  it("are letters as before, at the other destination", async () => {
    await using o = await startOutbox();
    await appendTwoSegments(o);
    assert.deepEqual(letters(o), ["1 crm wtw 2", "4 crm wtw 2", "4 warehouse www 3"]);
    await o.s.store().waiting.move(MOVE, 3);
    assert.deepEqual(letters(o), [
      ...["1 crm -t- 0", "1 new w-w 2", "4 crm -tw 1", "4 new w-- 1", "4 warehouse www 3"],
    ]);
    assertOpen(o);
    await o.s.store().waiting.move(MOVE, MANY);
    assert.deepEqual(letters(o), [
      ...["1 crm --- 0", "1 new wtw 2", "4 crm --- 0", "4 new wtw 2", "4 warehouse www 3"],
    ]);
    assertOpen(o);
    assert.deepEqual(countRows(o.sql), await o.s.counts());
  });

  it("do not make a segment look as if something in it had settled", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(3));
    await o.s.store().waiting.move(MOVE, MANY);
    assert.deepEqual(o.sql("SELECT open, settled_at FROM segments"), [{ open: 3, settled_at: null }]);
  });

  it("have rows as if they had never been tried, where they had some", async () => {
    await using o = await startOutbox();
    await appendTwoSegments(o);
    await o.s.store().waiting.move(MOVE, MANY);
    const accepted = o.s.clock.now();
    const none = { first_attempt_at: null, attempted_at: null, settled_at: null, url: null, status: null };
    const row = {
      destination: "new",
      state: "waiting",
      attempts: 0,
      stood_still: 0,
      reason: null,
      finals: null,
      log: null,
      replayed_at: null,
      ...none,
    };
    assert.deepEqual(
      o.sql("SELECT * FROM tried ORDER BY event").map(({ about, body, sum, ...rest }) => rest),
      [2, 5].map((event) => ({ event, ...row, due_at: accepted, accepted_at: accepted })),
    );
  });

  it("fail where the event is already, with that as the reason, also when only rows are left of it", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ deliverTo: ["crm", "new"] }));
    const [one] = await o.s.read();
    const [other] = await o.s.read({ destination: "new" });
    assert.ok(one && other);
    await o.s.store().settle(one, retried(one, o.s.clock.now()));
    await o.s.store().settle(other, failed(other, o.s.clock.now()));
    await o.s.prune({ delivered: o.s.clock.now() + 1, failed: 0, seen: 0 }, MANY);
    assert.deepEqual(letters(o), []);
    assert.deepEqual(await o.s.store().waiting.move(MOVE, MANY), { moved: 0, doubled: 1, more: false });
    assert.deepEqual(o.sql("SELECT destination, state, attempts, reason FROM deliveries ORDER BY destination"), [
      { destination: "crm", state: "failed", attempts: 1, reason: "new has this event already" },
      { destination: "new", state: "failed", attempts: 1, reason: "refused: answered 400" },
    ]);
    assert.deepEqual(countRows(o.sql), await o.s.counts());
  });

  it("are found to be there by what the same commit has settled", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(2, { deliverTo: ["crm", "new"] }));
    const [other] = await o.s.read({ destination: "new" });
    const [, two] = await o.s.read();
    assert.ok(other && two);
    const now = o.s.clock.now();
    const [, , moved] = await Promise.all([
      o.s.store().settle(other, delivered(other, now)),
      o.s.store().settle(two, delivered(two, now)),
      o.s.store().waiting.move(MOVE, MANY),
    ]);
    assert.deepEqual(moved, { moved: 0, doubled: 1, more: false });
    assert.deepEqual(await o.s.counts(), ["crm delivered: 1", "crm failed: 1", "new delivered: 1", "new waiting: 1"]);
    assert.deepEqual(countRows(o.sql), await o.s.counts());
    assertOpen(o);
  });

  it("are routed: their events do not count as those that went nowhere", async () => {
    await using o = await startOutbox();
    await appendTwoSegments(o);
    await o.s.store().waiting.move(MOVE, MANY);
    for (const destination of ["new", "warehouse"]) {
      for (const queue of ["first", "retry"] as const) {
        for (const one of await o.s.read({ destination, queue })) {
          await o.s.store().settle(one, delivered(one, o.s.clock.now()));
        }
      }
    }
    const all = o.s.clock.now() + 1;
    const pruned = await o.s.prune({ delivered: all, failed: all, seen: 0 }, MANY);
    assert.deepEqual([pruned.delivered, pruned.unrouted], [9, 0]);
    assert.deepEqual(await o.s.counts(), []);
  });
});

describe("a page that cannot be written", () => {
  for (const [table, what] of [
    ["tried", "UPDATE"],
    ["progress", "UPDATE"],
    ["counts", "UPDATE"],
  ] as const) {
    it(`changes nothing (${table}), and is answered by a fault; later it can`, async () => {
      await using o = await startOutbox();
      await appendTwoSegments(o);
      const rows = () => ["segments", "progress", "tried", "counts"].map((name) => o.sql(`SELECT * FROM ${name}`));
      const [before, counts] = [rows(), await o.s.counts()];
      o.shell.exec(failing(table, "true", what));
      for (const answer of [await o.s.store().waiting.discard("crm", 3), await o.s.store().waiting.move(MOVE, MANY)]) {
        assert.partialDeepStrictEqual(answer, { code: "store_failed" });
      }
      assert.deepEqual(rows(), before);
      assert.deepEqual(await o.s.counts(), counts);
      o.shell.exec(`DROP TRIGGER failing_${table}`);
      assert.deepEqual(await o.s.store().waiting.discard("crm", 3), { discarded: 3, more: true });
      assert.deepEqual(await o.s.store().waiting.move(MOVE, MANY), { moved: 3, doubled: 0, more: false });
      assert.deepEqual(countRows(o.sql), await o.s.counts());
    });
  }

  it("is one of a damaged segment, which is not thrown away", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry());
    o.shell.exec("DELETE FROM contents");
    assert.partialDeepStrictEqual(await o.s.store().waiting.discard("crm", MANY), { code: "store_failed" });
    assert.match(String(o.s.told[0]?.args[1]), /segment 1 of the outbox is damaged/);
    assert.deepEqual(await o.s.counts(), ["crm waiting: 1"]);
  });
});

describe("a kill between two pages", () => {
  it("leaves each delivery on one side or the other, counted right, and the rest is done later", async () => {
    await using o = await startOutbox();
    for (let n = 0; n < 10; n += 1) await o.s.append(...makeEntries(7, { ownId: true }));
    for (const one of await o.s.read()) if (one.id % 5 === 0) await o.s.store().settle(one, retried(one, one.dueAt));
    for (let page = 1; page <= 7; page += 1) {
      await o.s.store().waiting.move(MOVE, 9);
      await withKilled(o, (sql) => {
        const counts = ["crm waiting", "new waiting"].map(
          (what, nth) => `${what}: ${nth === 0 ? 70 - 9 * page : 9 * page}`,
        );
        assert.deepEqual(countRows(sql), counts);
        const kept = sql("SELECT destination, state, count FROM counts ORDER BY destination");
        assert.deepEqual(
          kept.map(({ destination, state, count }) => `${destination} ${state}: ${count}`),
          counts,
        );
        assert.deepEqual(sql("SELECT count(DISTINCT event) AS events FROM deliveries"), [{ events: 70 }]);
      });
    }
    await o.s.reopen();
    assert.deepEqual(await o.s.store().waiting.move(MOVE, 9), { moved: 7, doubled: 0, more: false });
  });
});

/** The files as a kill at this moment would leave them. */
async function withKilled(o: TestOutbox, look: (sql: (query: string) => readonly Row[]) => void): Promise<void> {
  const folder = await mkdtemp(join(SCRATCH, "fairlead-killed-"));
  const path = join(folder, "fairlead.db");
  for (const end of ["", "-wal"]) await copyFile(`${o.path}${end}`, `${path}${end}`);
  const db: Database = await openDatabase(path);
  look((query) => db.prepare<[], Row>(query).all());
  db.close();
  await rm(folder, { recursive: true, force: true });
}
