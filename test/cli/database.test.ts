import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, describe, it } from "node:test";
import { openPool } from "../../src/store/postgres/pool.ts";
import { makeFolder } from "../folder.ts";
import { NO_SERVER, startServer, stopServer } from "../store/postgres/server.ts";
import { beginCommand, SLOW } from "./run.ts";

const URL = "postgres://me:hunter2@db.example.com/events?sslmode=verify-full";

/** Runs a command with a config whose outbox is a database. */
async function run(...args: readonly string[]) {
  return runAt(URL, ...args);
}

async function runAt(url: string, ...args: readonly string[]) {
  using f = makeFolder();
  const path = f.path("config.yaml");
  writeFileSync(path, `outbox: { url: "${url}" }\nadmin: { listen: "unix:${f.path("admin.sock")}" }\n`, {
    mode: 0o600,
  });
  writeFileSync(f.path("copy.db"), "");
  const named = args.map((arg) => (arg === "COPY" ? f.path("copy.db") : arg));
  const ended = await beginCommand([...named, "--config", path]).ended;
  assert.doesNotMatch(ended.out + ended.err, /hunter2/);
  return ended;
}

const NOBODY = "postgres://me:hunter2@127.0.0.1:1/events?sslmode=disable";

/** What fairlead doctor finds about the outbox. */
async function examine(url: string): Promise<readonly string[]> {
  const { out } = await runAt(url, "doctor", "--json");
  const findings: readonly { check: string; level: string; code: string }[] = JSON.parse(out).findings;
  const seen = findings.filter(({ check }) => check === "store" || check === "disk");
  return seen.map(({ check, level, code }) => `${level} ${check} ${code}`);
}

describe("an outbox that is a database", () => {
  it("is not copied by fairlead backup, which says what to use", SLOW, async () => {
    const { code, err } = await run("backup", "COPY");
    assert.deepEqual(
      [code, err],
      [
        2,
        "fairlead: the outbox is a database, not a file (postgres://me@db.example.com/events?sslmode=verify-full): " +
          "back it up with pg_dump --format=custom\n",
      ],
    );
    const { code: error } = JSON.parse((await run("backup", "COPY", "--json")).err);
    assert.equal(error, "outbox_is_database");
  });

  it("is not replaced by fairlead restore, which says what to use", SLOW, async () => {
    const { code, err } = await run("restore", "COPY");
    assert.equal(code, 2);
    assert.match(err, /the outbox is a database, .*: stop all daemons, and restore it with pg_restore --clean\n$/);
  });

  it("is an error for fairlead doctor where nobody answers, and has no disk to look at", SLOW, async () => {
    assert.deepEqual(await examine(NOBODY), ["error store database_away", "skipped disk outbox_is_database"]);
  });

  it("is not made by fairlead migrate where nobody answers, which says where it has asked", SLOW, async () => {
    const { code, err } = await runAt(NOBODY, "migrate");
    assert.equal(code, 1);
    assert.match(err, /^fairlead: cannot connect to PostgreSQL at 127\.0\.0\.1:1 as me to database events: /);
    assert.equal(JSON.parse((await runAt(NOBODY, "migrate", "--json")).err).code, "database_away");
  });

  it("needs a user in its URL for fairlead migrate --as, which else does not know whom to grant", SLOW, async () => {
    const { code, err } = await runAt("postgres://127.0.0.1:1/events?sslmode=disable", "migrate", "--as", "owner");
    assert.equal(code, 2);
    assert.match(err, /^fairlead: --as needs to know the daemon's role, and outbox\.url names no user/);
  });

  it("is valid for fairlead check, and shown without its password", SLOW, async () => {
    const { code, out } = await run("check", "--explain");
    assert.equal(code, 0);
    assert.match(out, /url: postgres:\/\/me@db\.example\.com\/events\?sslmode=verify-full +# config\.yaml:1/);
  });
});

describe("an outbox on a real server", { skip: NO_SERVER }, () => {
  after(stopServer);

  it("is made by fairlead migrate as a role that may, for the role of the daemon", SLOW, async () => {
    const { postgres } = await startServer();
    const pool = openPool(postgres);
    const connection = await pool.connect();
    await connection.query(
      "CREATE ROLE owner LOGIN; CREATE ROLE daemon LOGIN; CREATE SCHEMA outbox AUTHORIZATION owner",
    );
    const options = encodeURIComponent("-c search_path=outbox");
    const url = `postgres://daemon:hunter2@/postgres?host=${postgres.host}&options=${options}&sslmode=disable`;
    const disk = "skipped disk outbox_is_database";
    assert.deepEqual(await examine(url), ["error store schema_missing", "warning store fsync_off", disk]);
    const refused = JSON.parse((await runAt(url, "migrate", "--json")).err);
    assert.equal(refused.code, "schema_missing");
    const { out } = await runAt(url, "migrate", "--as", "owner");
    assert.match(out, /^Created the tables, version 1: postgres:\/\/daemon@\/.*\nThe role daemon may use them\.\n$/);
    const again = JSON.parse((await runAt(url, "migrate", "--json")).out);
    assert.deepEqual([again.success, again.from, again.to, again.granted], [true, 1, 1, null]);
    const found = await examine(url);
    assert.deepEqual([found[0], found.at(-1)], ["ok store ok", disk]);
    await connection.query("REVOKE DELETE ON outbox.seen FROM daemon");
    assert.equal((await examine(url))[0], "error store grants_missing");
    await connection.query("DROP SCHEMA outbox CASCADE; DROP ROLE owner; DROP ROLE daemon");
    connection.release();
    await pool.end();
  });
});

describe("fairlead migrate of an outbox that is a file", () => {
  it("leaves it to the start of the daemon", SLOW, async () => {
    using f = makeFolder();
    writeFileSync(f.path("config.yaml"), `outbox: { path: "${f.path("outbox.db")}" }\n`);
    const { code, out } = await beginCommand(["migrate", "--config", f.path("config.yaml")]).ended;
    assert.deepEqual([code, out], [0, `${f.path("outbox.db")} is a file: the daemon upgrades it when it starts.\n`]);
  });
});
