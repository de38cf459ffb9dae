import assert from "node:assert/strict";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { after, describe, it } from "node:test";
import { createDatabase } from "../../src/store/postgres/database.ts";
import { grantTo, prepareSchema } from "../../src/store/postgres/migrate.ts";
import { openPool } from "../../src/store/postgres/pool.ts";
import { createFalseClock } from "../flow/clock.ts";
import { NO_SERVER, startServer, stopServer } from "../store/postgres/server.ts";
import { deliveriesIn, makePlace, type Place, query } from "./outbox.ts";
import { beginCommand, SLOW } from "./run.ts";

/** Nobody listens there. */
const NOWHERE = "postgres://me@127.0.0.1:1/events?sslmode=disable";

async function codeOf(p: Place, ...args: readonly string[]): Promise<string> {
  const { err, code } = await p.run("copy-outbox", ...args, "--json");
  const answer = JSON.parse(err.trim().split("\n").at(-1) ?? "");
  assert.notEqual(code, 0);
  return `${code} ${answer.code}`;
}

describe("fairlead copy-outbox", () => {
  it("wants one file and one database, of which the config may have one", SLOW, async () => {
    await using p = await makePlace();
    assert.equal(await codeOf(p), "2 usage");
    assert.equal(await codeOf(p, "--from", "a.db"), "2 copy_of_same_kind");
    assert.equal(await codeOf(p, "--from", NOWHERE, "--to", NOWHERE), "2 copy_of_same_kind");
    const { code, err } = await p.run("copy-outbox", "--from", "a.db", "--to", `${NOWHERE}&sslrootcert=x`);
    assert.deepEqual(
      [code, /^fairlead: --to has the parameter sslrootcert, which is not supported/.test(err)],
      [2, true],
    );
  });

  it("refuses an outbox that a daemon has open, and one that is not there", SLOW, async () => {
    await using p = await makePlace();
    assert.equal(await codeOf(p, "--to", NOWHERE), "1 outbox_in_use");
    await p.s.store().close();
    const { code, err } = await p.run("copy-outbox", "--from", p.path("none.db"), "--to", NOWHERE);
    assert.deepEqual(
      [code, err],
      [1, `fairlead: there is no outbox at ${p.path("none.db")}, or this user may not see it\n`],
    );
    assert.equal(await codeOf(p, "--from", NOWHERE), "1 target_not_empty");
  });

  it("says why it cannot connect, and warns of a password in the arguments without showing it", SLOW, async () => {
    await using p = await makePlace();
    await p.s.store().close();
    const { code, err } = await p.run("copy-outbox", "--to", NOWHERE.replace("me@", "me:hunter2@"));
    assert.equal(code, 1);
    assert.match(err, /^fairlead: warning: --to has a password, which all users of this machine can see/);
    assert.match(err, /cannot connect to PostgreSQL at 127\.0\.0\.1:1 as me to database events/);
    assert.doesNotMatch(err, /hunter2/);
    const far = await p.run("copy-outbox", "--from", "none.db", "--to", "postgres://me@db.example.com/events");
    assert.match(far.err, /^fairlead: warning: --to does not ask for TLS, so that the network may read all events/);
    assert.equal(await codeOf(p, "--to", NOWHERE), "1 database_away");
  });
});

describe("fairlead copy-outbox with a real server", { skip: NO_SERVER }, () => {
  after(stopServer);

  /** A database of its own on the server. */
  async function makeDatabase(name: string): Promise<string> {
    const { postgres } = await startServer();
    const db = createDatabase(openPool(postgres), createFalseClock());
    await db.query(`CREATE DATABASE ${name}`);
    await db.close();
    return `postgres://${postgres.user}@/${name}?host=${postgres.host}`;
  }

  it("copies an outbox there and back", SLOW, async () => {
    await using p = await makePlace();
    await p.s.store().close();
    const url = await makeDatabase("there_and_back");
    const out = await p.run("copy-outbox", "--to", url);
    assert.equal(out.err, "");
    assert.match(out.out, /^Copied \S+fairlead\.db to postgres:\/\/\S+: 4 events in /);
    assert.match(out.out, /^ {2}destination +waiting +delivered +failed +expired\n {2}crm +2 +1 +1 +0$/m);
    assert.match(out.out, /Never start a daemon with \S+fairlead\.db again/);
    assert.equal(await codeOf(p, "--to", url), "1 target_not_empty");
    writeFileSync(p.path("cluster.yaml"), `outbox: { url: "${url}" }\n`);
    const back = p.path("back.db");
    const { code, out: json } = await beginCommand([
      ...["copy-outbox", "--to", back, "--json", "--config", p.path("cluster.yaml")],
    ]).ended;
    assert.equal(code, 0);
    assert.partialDeepStrictEqual(JSON.parse(json), {
      ...{ from: url, to: back, events: 4, resumed: false },
      deliveries: { crm: { waiting: 2, delivered: 1, failed: 1 } },
    });
    assert.deepEqual(await deliveriesIn(back), await deliveriesIn(p.outbox));
    assert.equal(statSync(back).mode & 0o777, 0o600);
    assert.deepEqual(
      ["", "-wal", ".copying"].map((end) => existsSync(`${back}${end}`)),
      [true, false, false],
    );
  });

  it("refuses a database that a daemon has open, and one without an outbox", SLOW, async () => {
    await using p = await makePlace();
    await p.s.store().close();
    const url = await makeDatabase("in_use");
    const { postgres } = await startServer();
    const db = createDatabase(openPool({ ...postgres, database: "in_use" }), createFalseClock());
    const empty = await p.run("copy-outbox", "--from", url, "--to", p.path("new.db"));
    assert.match(empty.err, /^fairlead: there is no outbox at postgres:/);
    await prepareSchema(db);
    await db.query(`INSERT INTO daemons VALUES ('d', '{"host":"one","pid":7}', the_time() + 60000, 0, '[]')`);
    await db.close();
    assert.equal(await codeOf(p, "--to", url), "1 outbox_in_use");
    const { err } = await p.run("copy-outbox", "--from", url, "--to", p.path("new.db"));
    assert.match(err, /a daemon \(on one, pid 7\) has postgres:\S+ open: stop all daemons/);
    assert.deepEqual(await p.files(), ["config.yaml", "new.db.lock"]);
  });

  it("needs the owner of the tables to fill them, and not to read them", SLOW, async () => {
    await using p = await makePlace();
    await p.s.store().close();
    const url = await makeDatabase("roles");
    const { postgres } = await startServer();
    const db = createDatabase(openPool({ ...postgres, database: "roles" }), createFalseClock());
    await prepareSchema(db);
    await db.query("CREATE ROLE reader LOGIN");
    await grantTo(db, "reader");
    await db.close();
    const asReader = url.replace("fairlead@", "reader@");
    assert.equal(await codeOf(p, "--to", asReader), "1 grants_missing");
    assert.equal((await p.run("copy-outbox", "--to", url)).code, 0);
    const back = await p.run("copy-outbox", "--from", asReader, "--to", p.path("back.db"));
    assert.deepEqual([back.code, back.err], [0, ""]);
  });

  it("continues what was interrupted", SLOW, async () => {
    await using p = await makePlace();
    await p.s.store().close();
    const url = await makeDatabase("interrupted");
    const { postgres } = await startServer();
    const db = createDatabase(openPool({ ...postgres, database: "interrupted" }), createFalseClock());
    await prepareSchema(db);
    // It fails at the table after the events.
    await db.query("ALTER TABLE tried ADD CONSTRAINT never CHECK (false)");
    const { code, err } = await p.run("copy-outbox", "--to", url);
    assert.deepEqual([code, /"never"/.test(err)], [1, true]);
    await db.query("ALTER TABLE tried DROP CONSTRAINT never");
    const [found] = await db.query("SELECT count(*) AS segments FROM segments");
    assert.deepEqual(found, { segments: 1 });
    await db.close();
    const again = await p.run("copy-outbox", "--to", url, "--json");
    assert.partialDeepStrictEqual(JSON.parse(again.out), { resumed: true, events: 4 });
    const rows = await query(p.outbox, (one) => one.prepare("SELECT count(*) FROM tried").pluck().get());
    assert.equal(rows, 2);
  });
});
