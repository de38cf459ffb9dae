import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Attempt, Delivery } from "../../src/model/delivery.ts";
import { isFault } from "../../src/model/fault.ts";
import type { Store } from "../../src/model/ports.ts";
import { copyOutbox, type Source, type Target } from "../../src/store/copying/copy.ts";
import { type Batch, type Part, shiftLog, shiftTakers } from "../../src/store/copying/rows.ts";
import { createPostgresSource, createPostgresTarget, liveDaemon } from "../../src/store/postgres/copying.ts";
import { createDatabase, type Database as Postgres } from "../../src/store/postgres/database.ts";
import { prepareSchema } from "../../src/store/postgres/migrate.ts";
import { createSqliteSource, createSqliteTarget } from "../../src/store/sqlite/copying.ts";
import { type Database, openDatabase } from "../../src/store/sqlite/driver.ts";
import { openOutbox } from "../../src/store/sqlite/files.ts";
import { SLOW } from "../slow.ts";
import { AMPLE, createFalseReport, startStore, type TestStore, withoutRef } from "./harness.ts";
import { delivered, makeEntries, makeEntry, makeProgress, refused, retried } from "./make.ts";
import { followClock, openEngine } from "./postgres/bed.ts";
import { startPglite } from "./postgres/pglite.ts";
import { openSqlite, pathIn } from "./sqlite/start.ts";

const ODD = ["u\u0000x", "\u0001json:u", "\u0000json:u", "\u{1f600}", "\ue000"];
const SURROGATES = ["\ud800", "\udc00"];
const NAME = { source: "website", class: "audience", name: "Big \u0000", key: "big", id: "aud_1" } as const;
const ALL = { state: null, destination: null, source: null, type: null, user: null, since: null, until: null };
const LONG = "x".repeat(600);

/** A store with rows of every kind; its newest events are only in the tail. */
async function fill(s: TestStore): Promise<void> {
  const store = s.store();
  await s.append(...makeEntries(20, { deliverTo: ["crm", "ads"], body: JSON.stringify({ text: LONG }) }));
  await s.append(
    makeEntry({ messageId: "nowhere", deliverTo: [], skipped: [{ destination: "crm", rule: "historical" }] }),
  );
  const odd = [...ODD, ...SURROGATES].map((text) => makeEntry({ messageId: text, userId: text }));
  await s.append(...odd);
  const [one, two, three, four, five] = await s.read();
  assert.ok(one && two && three && four && five);
  const at = s.clock.now();
  await store.settle(one, delivered(one, at));
  await store.settle(two, { ...makeProgress(two, at), state: "failed", reason: "answered \u0000 400" });
  await store.settle(three, retried(three, at, at + 60_000));
  await store.settle(four, refused(four, at));
  await store.settle(five, { ...delivered(five, at), log: [ATTEMPT] });
  const [other] = await s.read({ destination: "ads" });
  assert.ok(other);
  await store.settle(other, delivered(other, at + 5));
  await store.waiting.move({ from: "ads", to: "mail" }, 3);
  await store.replay.page({
    search: { ...ALL, state: "delivered", destination: "ads" },
    page: { limit: 10, cursor: null },
    dryRun: false,
    isKnown: () => true,
  });
  await addAudience(s);
  await store.clocks.save([CLOCK, { ...CLOCK, destination: "ads", stoppedAt: null, pausedAt: null }], "command");
  await store.deletions.record({
    ...{ id: "del-1", requestedAt: 5, userIds: ["gone", "\ud800"], sources: null, affected: ["website"], untold: [] },
    ...{ erase: true, suppress: true },
  });
  const notice = makeEntry({ type: "delete", messageId: "delete-1", userId: "gone" });
  await s.append({ ...notice, notice: { deletion: "del-1", nth: 0 } });
  // Nothing folds these.
  await s.append(...makeEntries(3, { source: "app" }));
  const waiting = await s.read();
  const last = waiting.at(-1);
  assert.ok(last);
  await store.settle(last, delivered(last, at + 9));
  await s.append(makeEntry({ messageId: "newest" }));
}

const ATTEMPT: Attempt = {
  ...{ at: 7, url: "https://a.example.com/hook", duration: 3, outcome: "retry", status: 503, reason: "503" },
  ...{ answer: null, trigger: "first" },
};
const CLOCK = { destination: "crm", pausedAt: 5, unservedAt: null, offlineAt: null, stoppedAt: 5, stoodStill: 70 };

async function addAudience(s: TestStore): Promise<void> {
  const { members } = s.store();
  const number = await members.prepare({ id: "sync-1", kind: "list" });
  assert.ok(typeof number === "number");
  const changes = ["u1", "u2", ...ODD].map((user) => ({ user, value: true }));
  await members.note(number, changes);
  const open = await members.begin(number, { ...NAME, added: changes.length, changed: 0, removed: 0, latest: null });
  assert.ok(!isFault(open));
  // Some of the changes are left.
  for (const member of changes.slice(0, 4)) {
    const entry = makeEntry({ messageId: `call ${member.user}`, ownId: true });
    const change = { ...member, sync: open.sync.number, computation: open.computation.number };
    await s.append({ ...entry, change });
  }
}

/** What callers of a store can see. */
async function observe(store: Store): Promise<object> {
  const page = await store.lookup.deliveries(ALL, { limit: 1_000, cursor: null });
  assert.ok(!isFault(page));
  const details = [];
  for (const one of page.deliveries) details.push(await store.lookup.delivery(one));
  const queues: Record<string, readonly unknown[]> = {};
  for (const destination of ["crm", "ads", "mail"]) {
    for (const queue of ["first", "retry"] as const) {
      const ask = { destination, queue, after: null, dueBy: Number.MAX_SAFE_INTEGER, limit: 1_000 };
      queues[`${destination} ${queue}`] = inOrder((await store.readQueue(ask)).deliveries).map(withoutRef);
    }
  }
  const { deletions, members } = store;
  const counts = (await store.backlog.counts()).filter(({ count }) => count > 0);
  const big = await members.find(NAME);
  return {
    ...{ details, queues, big },
    counts: counts.map((one) => JSON.stringify(one)).sort(),
    trails: [await store.lookup.event("m1", ["website"]), await store.lookup.event("\ud800", ["website"])],
    values: await members.values(big?.number ?? 0, ["u1", "u2", ...ODD]),
    all: await members.all(),
    pending: await members.pending(1, 100),
    clocks: (await store.clocks.all()).toSorted((one, other) => (one.destination < other.destination ? -1 : 1)),
    people: await deletions.people("del-1"),
    receipt: await deletions.receipt("del-1"),
    salt: await deletions.salt(),
    unnoticed: await deletions.unnoticed({ id: "del-1", source: "website" }, 9),
    suppressed: await deletions.suppressed.among(["gone", "\ud800", "\udc00", "u1"], "website"),
  };
}

function inOrder(deliveries: readonly Delivery[]): readonly Delivery[] {
  return deliveries.toSorted((one, other) => one.id - other.id);
}

type Bench = AsyncDisposable & {
  readonly s: TestStore;
  readonly sqlite: Database;
  readonly postgres: Postgres;
  /** Opens the database as a daemon does. */
  openPostgres(): Promise<Store>;
  /** A new file for the way back. */
  openBack(): Promise<Database>;
};

let benches = 0;

/** A closed outbox with all kinds of rows, and an empty database. */
async function makeBench(): Promise<Bench & { readonly seen: object }> {
  const s = await startStore(openSqlite);
  await fill(s);
  // Not closed, which would fold the tail: as a killed daemon leaves it.
  const seen = await observe(s.store());
  benches += 1;
  const schema = `copying_${benches}`;
  const server = await startPglite();
  const pool = followClock(await server.connect(schema), s.clock);
  const postgres = createDatabase(pool, s.clock);
  await prepareSchema(postgres);
  const back = join(s.folder, "back");
  const opened: Database[] = [];
  async function open(path: string): Promise<Database> {
    const db = await openOutbox(path);
    opened.push(db);
    return db;
  }
  return {
    ...{ s, seen, postgres, sqlite: await open(pathIn(s.folder)) },
    openPostgres: () =>
      openEngine({ ...AMPLE, clock: s.clock, report: createFalseReport([]), pool: { ...pool, end: async () => {} } }),
    openBack: () => open(back),
    async [Symbol.asyncDispose]() {
      for (const db of opened) db.close();
      await pool.end();
      await server.drop(schema);
      await rm(back, { force: true });
      await s[Symbol.asyncDispose]();
    },
  };
}

const GO_ON = { stepped: () => {}, signal: new AbortController().signal };

async function copy(source: Source, target: Target) {
  const copied = await copyOutbox({ ...GO_ON, source, target });
  assert.ok(!("code" in copied), "code" in copied ? copied.message : "");
  return copied;
}

/** All tables but those that say where the clock and the tail were. */
function dump(db: Database): object {
  const names = [
    ...["segments", "progress", "tried", "counts", "clocks", "deletions", "deletion_users", "deletion_notices"],
    ...["suppressed", "salt", "computations", "members", "syncs", "changes", "call_key"],
  ];
  const tables = names.map((name) => [name, db.prepare(`SELECT * FROM ${name}`).all()]);
  const contents = db.prepare("SELECT segment, about, bodies, sum FROM contents ORDER BY segment").all();
  const keys = db.prepare<[], Buffer>("SELECT keys FROM seen ORDER BY first").pluck().all();
  return { ...Object.fromEntries(tables), contents, keys: Buffer.concat(keys).toString("hex").match(/.{32}/g)?.sort() };
}

describe("an outbox that is copied from SQLite to PostgreSQL", () => {
  it("is the same there for all that read it, and knows what came before", SLOW, async () => {
    await using b = await makeBench();
    const target = createPostgresTarget(b.postgres, "the database");
    const { totals, resumed } = await copy(createSqliteSource(b.sqlite, "the file"), target);
    assert.deepEqual([totals.events, resumed], [37, false]);
    const store = await b.openPostgres();
    assert.deepEqual(await observe(store), b.seen);
    const again = await store.append([
      makeEntry({ messageId: "m1" }),
      makeEntry({ messageId: "\ud800", userId: "u5" }),
    ]);
    assert.deepEqual(again, [{ kind: "duplicate" }, { kind: "duplicate" }]);
    const receipts = await store.append([makeEntry({ messageId: "later", userId: "u5" })]);
    assert.ok(!isFault(receipts) && receipts[0]?.kind === "accepted");
    // The next block of numbers.
    assert.ok((receipts[0].deliveries[0]?.id ?? 0) >= 257);
    assert.deepEqual(await store.append([makeEntry({ messageId: "theirs", userId: "gone" })]), [
      { kind: "suppressed" },
    ]);
    await store.close();
  });

  it("is to the byte what it was, once it is copied back", SLOW, async () => {
    await using b = await makeBench();
    const back = await b.openBack();
    await copy(createSqliteSource(b.sqlite, "the file"), createPostgresTarget(b.postgres, "the database"));
    await copy(createPostgresSource(b.postgres, "the database"), createSqliteTarget(back, "the other file"));
    assert.deepEqual(dump(back), dump(b.sqlite));
    const next = back.prepare("SELECT value FROM meta WHERE name = 'next_event'").pluck().get();
    assert.equal(next, 257);
  });

  it("goes on after every batch at which it was interrupted", SLOW, async () => {
    await using b = await makeBench();
    const source = inSmallBatches(createSqliteSource(b.sqlite, "the file"));
    const target = createPostgresTarget(b.postgres, "the database");
    const runs = await copyInPieces(source, target);
    assert.ok(runs > 20, `it took ${runs} runs`);
    const back = await b.openBack();
    const home = createSqliteTarget(back, "the other file");
    assert.ok((await copyInPieces(inSmallBatches(createPostgresSource(b.postgres, "the database")), home)) > 20);
    assert.deepEqual(dump(back), dump(b.sqlite));
  });

  it("opens for no daemon before it is finished", SLOW, async () => {
    await using b = await makeBench();
    const source = inSmallBatches(createSqliteSource(b.sqlite, "the file"));
    await copyOnce(source, createPostgresTarget(b.postgres, "the database"));
    await assert.rejects(b.openPostgres(), { code: "copy_unfinished" });
  });

  it(
    "is refused where there is an outbox, or the beginning of another copy, or where a daemon has run since",
    SLOW,
    async () => {
      await using b = await makeBench();
      const source = createSqliteSource(b.sqlite, "the file");
      const target = createPostgresTarget(b.postgres, "the database");
      await copyOnce(inSmallBatches(source), target);
      const other = { ...source, identity: async () => 1 };
      assert.equal(await codeOf(other, target), "copy_of_another");
      b.sqlite.exec("UPDATE meta SET value = value + 60000 WHERE name = 'last_at'");
      assert.equal(await codeOf(source, target), "source_changed");
      b.sqlite.exec("UPDATE meta SET value = value - 60000 WHERE name = 'last_at'");
      await copy(source, target);
      assert.equal(await codeOf(source, target), "target_not_empty");
      assert.equal(await liveDaemon(b.postgres), null);
      const store = await b.openPostgres();
      assert.notEqual(await liveDaemon(b.postgres), null);
      await store.close();
    },
  );

  it("is stopped by a daemon that writes into what is copied, be it one that was only frozen", SLOW, async () => {
    const changes = [
      "UPDATE streams SET epoch = epoch + 1",
      `INSERT INTO daemons VALUES ('frozen', '{}', the_time(), 0, '[]')`,
    ];
    for (const change of changes) {
      await using b = await makeBench();
      await copy(createSqliteSource(b.sqlite, "the file"), createPostgresTarget(b.postgres, "the database"));
      await b.postgres.query("INSERT INTO streams VALUES (9, NULL, 1, 0, false)");
      const source = inSmallBatches(createPostgresSource(b.postgres, "the database"));
      let batches = 0;
      const target: Target = {
        ...createSqliteTarget(await b.openBack(), "the other file"),
        async write() {
          batches += 1;
          if (batches === 3) await b.postgres.query(change);
        },
      };
      assert.deepEqual([await codeOf(source, target), batches], ["source_changed", 3]);
    }
  });

  it("is stopped by a daemon that has the target open, which was only frozen when the copy began", SLOW, async () => {
    await using b = await makeBench();
    const source = inSmallBatches(createSqliteSource(b.sqlite, "the file"));
    const target = createPostgresTarget(b.postgres, "the database");
    let batches = 0;
    const waking: Target = {
      ...target,
      async write(batch, mark) {
        batches += 1;
        await target.write(batch, mark);
        if (batches === 3) await b.postgres.query("INSERT INTO daemons VALUES ('frozen', '{}', the_time(), 0, '[]')");
      },
    };
    assert.deepEqual([await codeOf(source, waking), batches], ["outbox_in_use", 3]);
  });

  it("is not finished if it lacks something", SLOW, async () => {
    await using b = await makeBench();
    const source = createSqliteSource(b.sqlite, "the file");
    const target = createPostgresTarget(b.postgres, "the database");
    const deaf: Target = { ...target, write: (batch, mark) => target.write({ ...batch, rows: [] } as Batch, mark) };
    assert.equal(await codeOf(source, deaf), "copy_differs");
    assert.notEqual(await target.mark(), null);
  });

  it("has the times of the clock, where the store's own were others", () => {
    const line = '{"at":5,"url":"https://a.example.com","status":200,"events":[1,2]}\n';
    assert.equal(shiftTakers(line + line, 10), (line + line).replaceAll('"at":5', '"at":15'));
    const log = { first: [ATTEMPT], omitted: 0, last: [] };
    assert.deepEqual(JSON.parse(shiftLog(JSON.stringify(log), 10)), { ...log, first: [{ ...ATTEMPT, at: 17 }] });
  });

  it("shows the times that it has shown, where the clock is not at those of the rows", SLOW, async () => {
    await using b = await makeBench();
    const hour = 3_600_000;
    b.sqlite.exec(`UPDATE meta SET value = ${hour} WHERE name = 'wall_ahead'`);
    await copy(createSqliteSource(b.sqlite, "the file"), createPostgresTarget(b.postgres, "the database"));
    const [first] = b.sqlite.prepare<[], number>("SELECT accepted_at FROM segments ORDER BY first").pluck().all();
    const [segment] = await b.postgres.query("SELECT accepted_at - $1::bigint AS later FROM segments ORDER BY first", [
      first,
    ]);
    const [clock] = await b.postgres.query("SELECT paused_at, stood_still FROM clocks WHERE destination = 'crm'");
    const [request] = await b.postgres.query("SELECT requested_at FROM deletions");
    const [log] = await b.postgres.query(`SELECT log::json #>> '{first,0,at}' AS at FROM tried WHERE log IS NOT NULL`);
    assert.deepEqual(
      [segment, clock, request, log],
      [{ later: hour }, { paused_at: 5 + hour, stood_still: 70 }, { requested_at: 5 }, { at: String(7 + hour) }],
    );
  });

  it("has the damage of the outbox too, unless that is no JSON any more", SLOW, async () => {
    await using b = await makeBench();
    const source = createSqliteSource(b.sqlite, "the file");
    b.sqlite.exec("UPDATE contents SET about = substr(about, 2) WHERE segment = 1");
    const target = createPostgresTarget(b.postgres, "the database");
    await assert.rejects(
      copy(source, target),
      /^Error: segment 1 of the outbox is damaged: the description of its events/,
    );
    b.sqlite.exec("UPDATE contents SET about = '[' || about, bodies = x'00' WHERE segment = 1");
    assert.equal((await copy(source, target)).resumed, true);
    const store = await b.openPostgres();
    await assert.rejects(
      observe(store),
      /segment 1 of the outbox is damaged: its contents differ from what was written/,
    );
    await store.close();
  });

  it("is refused if its newest events are damaged", SLOW, async () => {
    await using b = await makeBench();
    const shell = await openDatabase(pathIn(b.s.folder));
    shell.exec("UPDATE contents SET tail = '{}' WHERE segment = (SELECT max(segment) FROM contents)");
    shell.close();
    assert.throws(() => createSqliteSource(b.sqlite, "the file"), /its destinations differ from what was written/);
  });
});

async function codeOf(source: Source, target: Target): Promise<string> {
  const result = await copyOutbox({ ...GO_ON, source, target });
  return "code" in result ? result.code : "copied";
}

/** Two rows make a batch, so that there are many. */
function inSmallBatches(source: Source): Source {
  async function* batches(part: Part, skip: number): AsyncGenerator<Batch> {
    for await (const { part: of, rows } of source.batches(part, skip)) {
      for (let start = 0; start < rows.length; start += 2) {
        yield { part: of, rows: rows.slice(start, start + 2) } as Batch;
      }
    }
  }
  return { ...source, batches };
}

/** Copies one batch more. Answers whether the copy is finished. */
async function copyOnce(source: Source, target: Target): Promise<boolean> {
  const interrupt = new AbortController();
  const job = { source, target, stepped: () => interrupt.abort(), signal: interrupt.signal };
  const result = await copyOutbox(job);
  if ("code" in result) assert.equal(result.code, "interrupted", result.message);
  return !("code" in result);
}

async function copyInPieces(source: Source, target: Target): Promise<number> {
  let runs = 1;
  while (!(await copyOnce(source, target))) runs += 1;
  return runs;
}
