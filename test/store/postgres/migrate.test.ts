import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase, type Database, type Sql } from "../../../src/store/postgres/database.ts";
import { codeOf } from "../../../src/store/postgres/errors.ts";
import { grantTo, prepareSchema, versionOf, refusalOf as whyRefused } from "../../../src/store/postgres/migrate.ts";
import { openPool } from "../../../src/store/postgres/pool.ts";
import { SCHEMA, STEPS, TABLE_NAMES } from "../../../src/store/postgres/schema.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { startPglite } from "./pglite.ts";
import { NO_SERVER, startServer, stopServer } from "./server.ts";

type TestDatabase = Database & AsyncDisposable;

let made = 0;

async function openEmpty(): Promise<TestDatabase> {
  const server = await startPglite();
  const schema = `migrated_${made++}`;
  const db = createDatabase(await server.connect(schema), createFalseClock());
  return {
    ...db,
    async [Symbol.asyncDispose]() {
      await db.close();
      await server.drop(schema);
    },
  };
}

/** Steps of versions to come. The second one adds a column, and the third one removes what the first had. */
const ADDS = { sql: "ALTER TABLE seen ADD COLUMN source text", oldest: 1 };
const REMOVES = { sql: "DROP TABLE vacuum_probe", oldest: 2 };

/** Its code and message. */
async function refusalOf(preparing: Promise<unknown>): Promise<readonly [code: string, message: string]> {
  const error = await preparing.then(
    () => assert.fail("it was not refused"),
    (refused: unknown) => refused,
  );
  assert.ok(error instanceof Error);
  return [codeOf(error), error.message];
}

describe("the tables on PostgreSQL", () => {
  it("are made where there are none, and are left as they are then", async () => {
    await using db = await openEmpty();
    assert.deepEqual(await prepareSchema(db), { from: 0, to: SCHEMA });
    assert.deepEqual(await prepareSchema(db), { from: SCHEMA, to: SCHEMA });
    const there = await db.query<{ name: string }>(
      "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
    );
    assert.deepEqual(there.map(({ name }) => name).sort(), TABLE_NAMES.toSorted());
  });

  it("are made once by daemons that start at the same moment", async () => {
    await using db = await openEmpty();
    await Promise.all([prepareSchema(db), prepareSchema(db), prepareSchema(db)]);
    assert.deepEqual(await versionOf(db), { version: SCHEMA, oldest: 1 });
  });

  it("are brought up to date by the steps that they lack", async () => {
    await using db = await openEmpty();
    await prepareSchema(db);
    const steps = [...STEPS, ADDS];
    assert.deepEqual(await prepareSchema(db, steps), { from: SCHEMA, to: SCHEMA + 1 });
    assert.deepEqual(await db.query("SELECT source FROM seen"), []);
    assert.deepEqual(await versionOf(db), { version: SCHEMA + 1, oldest: 1 });
  });

  it("of a newer version are used as long as its steps only add, and refused by name after that", async () => {
    await using db = await openEmpty();
    await prepareSchema(db, [...STEPS, ADDS]);
    await prepareSchema(db);
    await prepareSchema(db, [...STEPS, ADDS, REMOVES]);
    await prepareSchema(db, [...STEPS, ADDS]);
    assert.deepEqual(await refusalOf(prepareSchema(db)), [
      "schema_newer",
      `the tables of the outbox have version ${SCHEMA + 2}, which needs at least version 2, and this Fairlead knows ${SCHEMA}; ` +
        "start the newer Fairlead that migrated them",
    ]);
  });

  it("are not changed beside a daemon that could not live with it", async () => {
    await using db = await openEmpty();
    const steps = [...STEPS, ADDS, REMOVES];
    await prepareSchema(db, steps.slice(0, 2));
    const beat = (about: object) =>
      db.query("INSERT INTO daemons VALUES ($1, $2, the_time(), 0, '[]')", ["d1", JSON.stringify(about)]);
    await beat({ host: "m1", pid: 7, schema: 1 });
    assert.deepEqual(await refusalOf(prepareSchema(db, steps)), [
      "daemons_older",
      "the daemon on m1 (process 7) is too old for the tables that this Fairlead needs; upgrade it first",
    ]);
    await db.query("DELETE FROM daemons");
    await beat({ host: "m1", pid: 8, schema: 2 });
    assert.deepEqual(await prepareSchema(db, steps), { from: 2, to: 3 });
  });

  it("are as they were after a step that fails", async () => {
    await using db = await openEmpty();
    await prepareSchema(db);
    const steps = [...STEPS, { sql: "DROP TABLE seen; DROP TABLE nowhere", oldest: 1 }];
    await assert.rejects(prepareSchema(db, steps), /"nowhere" does not exist/);
    assert.deepEqual(await versionOf(db), { version: SCHEMA, oldest: 1 });
    assert.deepEqual(await db.query("SELECT key FROM seen"), []);
  });
});

describe("a server that an outbox cannot be on", () => {
  const serverOf = (row: object): Sql => ({ query: async <R>() => [row as R] });

  it("is one of before PostgreSQL 14", async () => {
    const refused = await whyRefused(serverOf({ number: 130_022, version: "13.22", isStandby: false }));
    assert.equal(refused?.code, "server_too_old");
    assert.match(refused.message, /^the server is PostgreSQL 13\.22, and the outbox needs 14 or later; upgrade/);
  });

  it("is a standby", async () => {
    const refused = await whyRefused(serverOf({ number: 160_004, version: "16.4", isStandby: true }));
    assert.equal(refused?.code, "server_is_standby");
  });
});

describe("a role that may not change the tables", { skip: NO_SERVER }, () => {
  after(stopServer);

  /** A schema with an owner, and a role for daemons. */
  async function start() {
    const server = await startServer();
    const [schema, owner, daemon] = ["outbox", "owner of it", "daemon"].map((name) => `${name} ${made++}`);
    const admin = openPool(server.postgres);
    const connection = await admin.connect();
    await connection.query(
      `CREATE ROLE "${owner}" LOGIN; CREATE ROLE "${daemon}" LOGIN; CREATE SCHEMA "${schema}" AUTHORIZATION "${owner}"`,
    );
    const opened: Database[] = [];

    function openAs(user = ""): Database {
      const options = `-c search_path="${schema?.replaceAll(" ", "\\ ")}"`;
      const db = createDatabase(openPool({ ...server.postgres, user, options }), createFalseClock());
      opened.push(db);
      return db;
    }

    return {
      owner: openAs(owner),
      daemon: openAs(daemon),
      grant: () => grantTo(openAs(owner), daemon ?? ""),
      run: (text: string) => openAs(owner).query(text.replaceAll("DAEMON", `"${daemon}"`)),
      names: { owner, daemon },
      async [Symbol.asyncDispose]() {
        for (const db of opened) await db.close();
        await connection.query(`DROP SCHEMA "${schema}" CASCADE; DROP ROLE "${owner}"; DROP ROLE "${daemon}"`);
        connection.release();
        await admin.end();
      },
    };
  }

  it("is told to run fairlead migrate while there are none", async () => {
    await using s = await start();
    const [code, message] = await refusalOf(prepareSchema(s.daemon));
    assert.equal(code, "schema_missing");
    assert.match(message, /^the database shows no tables of an outbox, and the role daemon \d+ may not make them \(/);
    assert.match(message, /; run fairlead migrate --as ROLE, with a role that may$/);
  });

  it("is told which rights it lacks, and needs no others than fairlead migrate grants", async () => {
    await using s = await start();
    await prepareSchema(s.owner);
    await s.run(`DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO DAEMON', current_schema()); END $$`);
    const [code, message] = await refusalOf(prepareSchema(s.daemon));
    assert.equal(code, "grants_missing");
    assert.match(message, /lacks SELECT, INSERT, UPDATE, DELETE on changes, clocks, .*; USAGE on event_numbers; run /);
    await s.grant();
    await prepareSchema(s.daemon);
    await s.run("REVOKE INSERT, DELETE ON tried FROM DAEMON; REVOKE INSERT, DELETE ON seen FROM DAEMON");
    await s.run("REVOKE EXECUTE ON FUNCTION the_time() FROM PUBLIC, DAEMON");
    const [, rest] = await refusalOf(prepareSchema(s.daemon));
    assert.match(rest, /^the role daemon \d+ lacks INSERT, DELETE on seen, tried; EXECUTE on the_time\(\); run /);
  });

  it("is told that they are older, where a step is lacking", async () => {
    await using s = await start();
    await prepareSchema(s.owner);
    await s.grant();
    const [code, message] = await refusalOf(prepareSchema(s.daemon, [...STEPS, ADDS]));
    assert.equal(code, "schema_older");
    assert.match(
      message,
      /have version 1, this Fairlead needs 2, and the role daemon \d+ may not change them \(must be/,
    );
  });
});
