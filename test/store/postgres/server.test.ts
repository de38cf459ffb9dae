import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import pg from "pg";
import type { Postgres } from "../../../src/model/config.ts";
import { isFault, StoreAway } from "../../../src/model/fault.ts";
import { createClock } from "../../../src/runtime/clock.ts";
import { createDatabase } from "../../../src/store/postgres/database.ts";
import { codeOf } from "../../../src/store/postgres/errors.ts";
import { grantTo, prepareSchema } from "../../../src/store/postgres/migrate.ts";
import { openOutbox } from "../../../src/store/postgres/open.ts";
import { openPool } from "../../../src/store/postgres/pool.ts";
import { judgeServer, readServer, type ServerFacts } from "../../../src/store/postgres/server.ts";
import { AMPLE, createFalseReport, makeAsk, type Told } from "../harness.ts";
import { delivered, makeEntries } from "../make.ts";
import { startPglite } from "./pglite.ts";
import { createServer, NO_SERVER, startServer, stopServer } from "./server.ts";

const WELL: ServerFacts = {
  version: "16.4",
  major: 16,
  fsync: true,
  fullPageWrites: true,
  synchronousCommit: "on",
  asynchronousStandbys: 0,
  room: 97,
  ahead: 0,
  roundTrip: 1,
};
const USERS = { connections: 10, daemons: 3 };

function codesOf(facts: Partial<ServerFacts>, users = USERS): readonly string[] {
  return judgeServer({ ...WELL, ...facts }, users).map(({ code }) => code);
}

describe("what is doubtful about a server of PostgreSQL", () => {
  it("is nothing if acknowledged calls are safe there", () => {
    assert.deepEqual(codesOf({}), []);
    for (const synchronousCommit of ["local", "remote_write", "remote_apply"]) {
      assert.deepEqual(codesOf({ synchronousCommit }), []);
    }
  });

  it("is what can lose acknowledged calls", () => {
    assert.deepEqual(codesOf({ fsync: false, fullPageWrites: false }), ["fsync_off", "full_page_writes_off"]);
    assert.deepEqual(codesOf({ synchronousCommit: "off" }), ["synchronous_commit_off"]);
    assert.deepEqual(codesOf({ asynchronousStandbys: 1 }), ["standby_asynchronous"]);
  });

  it("is a version that nobody has tried", () => {
    assert.deepEqual([codesOf({ major: 18 }), codesOf({ major: 19 })], [[], ["server_untested"]]);
  });

  it("is a clock that differs by more than a few seconds, and a long way", () => {
    assert.deepEqual([codesOf({ ahead: -4_900 }), codesOf({ ahead: 4_900 })], [[], []]);
    const [doubt = assert.fail()] = judgeServer({ ...WELL, ahead: -60_000 }, USERS);
    assert.deepEqual(
      [doubt.code, doubt.what],
      ["server_clock_differs", "the server's clock is 1m behind this machine's"],
    );
    assert.deepEqual(codesOf({ roundTrip: 80 }), ["server_far"]);
  });

  it("is too little room for the connections of all daemons, and of one more", () => {
    assert.deepEqual([codesOf({ room: 44 }), codesOf({ room: 43 })], [[], ["connections_few"]]);
    assert.deepEqual(codesOf({ room: 22 }, { connections: 10, daemons: 1 }), []);
  });

  it("is read from the server", async () => {
    const pool = await (await startPglite()).connect("facts");
    const clock = createClock();
    const { roundTrip, ahead, room, version, ...facts } = await readServer(createDatabase(pool, clock), clock);
    await pool.end();
    const { asynchronousStandbys, synchronousCommit } = facts;
    assert.deepEqual([asynchronousStandbys, synchronousCommit], [0, "on"]);
    assert.ok(facts.major >= 14 && version.startsWith(String(facts.major)), version);
    assert.ok(Math.abs(ahead) < 5_000 && roundTrip < 5_000, `${ahead} ${roundTrip}`);
    assert.ok(room > 0, String(room));
  });
});

function open(postgres: Postgres, told: Told[]) {
  const about = { name: "d1", version: "1.0.0", host: "here", pid: 1, startedAt: 0 };
  const clock = createClock();
  return openOutbox(postgres, {
    ...AMPLE,
    postgres,
    path: "postgres://here/o",
    about,
    pid: 1,
    clock,
    report: createFalseReport(told),
  });
}

function doubtsIn(told: readonly Told[]): readonly unknown[] {
  const said = told.filter(({ what, args }) => what === "daemon" && args[0] === "database_doubtful");
  return said.map(({ args }) => (args[1] as { readonly code: string }).code).sort();
}

describe("a daemon on a real server", { skip: NO_SERVER }, () => {
  after(stopServer);

  async function run(postgres: Postgres, ...texts: readonly string[]): Promise<void> {
    const pool = openPool(postgres);
    const connection = await pool.connect();
    for (const text of texts) await connection.query(text);
    connection.release();
    await pool.end();
  }

  it("logs what is doubtful of it at the start, and never loses a call for it", async () => {
    const { postgres } = await startServer();
    await run(postgres, "CREATE ROLE hasty LOGIN CONNECTION LIMIT 15", "ALTER ROLE hasty SET synchronous_commit = off");
    await run(postgres, "CREATE SCHEMA hasty AUTHORIZATION hasty");
    const hasty = { ...postgres, user: "hasty" };
    const told: Told[] = [];
    await (await open(hasty, told)).close();
    assert.deepEqual(doubtsIn(told), ["connections_few", "fsync_off", "synchronous_commit_off"]);
    const pool = openPool(hasty);
    const connection = await pool.connect();
    assert.deepEqual(await connection.query("SHOW synchronous_commit"), [{ synchronous_commit: "on" }]);
    connection.release();
    await pool.end();
    await run(postgres, "DROP SCHEMA hasty CASCADE", "DROP ROLE hasty");
  });

  it("sees a standby that commits do not wait for, also with a role that may see nothing of it", async () => {
    const { postgres } = await startServer();
    await run(postgres, "CREATE ROLE watcher LOGIN");
    const { host, user } = postgres;
    // What a standby opens first.
    const config: object = { host, user, replication: "true" };
    const standby = new pg.Client(config);
    await standby.connect();
    const pool = openPool({ ...postgres, user: "watcher" });
    const clock = createClock();
    const facts = await readServer(createDatabase(pool, clock), clock);
    assert.equal(facts.asynchronousStandbys, 1);
    await standby.end();
    await pool.end();
    await run(postgres, "DROP ROLE watcher");
  });

  it("says that reads fail because the server is away, and not because of a bug", async () => {
    const server = await createServer();
    const told: Told[] = [];
    const store = await open(server.postgres, told);
    await server.stop();
    await assert.rejects(store.backlog.counts(), StoreAway);
    await assert.rejects(async () => store.sharing?.daemons(), StoreAway);
    await store.close();
  });

  it("has nothing to say of one that is well", async () => {
    const server = await createServer({ settings: [] });
    const told: Told[] = [];
    await (await open(server.postgres, told)).close();
    await server.stop();
    assert.deepEqual(told, []);
  });

  it("takes calls and settles them with the rights that fairlead migrate grants", async () => {
    const { postgres } = await startServer();
    await run(postgres, "CREATE ROLE bounded LOGIN", "CREATE SCHEMA bounded");
    const options = "-c search_path=bounded";
    const owner = createDatabase(openPool({ ...postgres, options }), createClock());
    await prepareSchema(owner);
    await grantTo(owner, "bounded");
    const told: Told[] = [];
    const store = await open({ ...postgres, user: "bounded", options }, told);
    assert.ok(!isFault(await store.append(makeEntries(3))));
    const { deliveries } = await store.readQueue(makeAsk());
    for (const one of deliveries) assert.equal(await store.settle(one, delivered(one, 5)), "written");
    const never = Number.MAX_SAFE_INTEGER;
    await store.prune({ delivered: never, failed: never, seen: never }, 1_000);
    await store.close();
    assert.equal(deliveries.length, 3);
    assert.deepEqual(
      told.filter(({ what }) => what === "storeFailed"),
      [],
    );
    await owner.close();
    await run(postgres, "DROP SCHEMA bounded CASCADE", "DROP ROLE bounded");
  });

  it("does not start where it may not make the tables, and says so with a code", async () => {
    const { postgres } = await startServer();
    await run(postgres, "CREATE ROLE nobody LOGIN");
    const error = await open({ ...postgres, user: "nobody", options: "-c search_path=nowhere" }, []).catch(
      (refused) => refused,
    );
    assert.equal(codeOf(error), "schema_missing");
    assert.match(
      error.message,
      /^cannot open the outbox at postgres:\/\/here\/o: the database shows no tables of an outbox/,
    );
    await run(postgres, "DROP ROLE nobody");
  });
});
