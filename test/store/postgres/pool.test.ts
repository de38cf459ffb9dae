import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import type { Postgres, PostgresTls } from "../../../src/model/config.ts";
import { Secret } from "../../../src/model/secret.ts";
import { parseDuration } from "../../../src/model/units.ts";
import { PACE } from "../../../src/store/postgres/claims.ts";
import type { Pool } from "../../../src/store/postgres/database.ts";
import { isLost, isTransient } from "../../../src/store/postgres/errors.ts";
import { openPool } from "../../../src/store/postgres/pool.ts";
import { makeFolder } from "../../folder.ts";
import { fixture } from "../../runtime/tls.ts";
import { describePool } from "./describe-pool.ts";
import { createServer, FOLDER, NO_SERVER, type RealServer, startServer, stopServer } from "./server.ts";

type Row = Readonly<Record<string, unknown>>;

/** One statement over a connection of its own. */
async function ask(pool: Pool, text: string): Promise<readonly Row[]> {
  const connection = await pool.connect();
  return connection.query<Row>(text).finally(() => connection.release());
}

/** The message of the error, which says that the connection is lost. */
async function refusal(postgres: Postgres): Promise<string> {
  const pool = openPool(postgres);
  const error = await pool.connect().catch((refused) => refused);
  assert.ok(error instanceof Error && isLost(error), String(error));
  await pool.end();
  return error.message;
}

async function whoAmI(postgres: Postgres): Promise<unknown> {
  const pool = openPool(postgres);
  const [row] = await ask(pool, "SELECT current_user AS who").finally(() => pool.end());
  return row?.who;
}

describe("connections to a real server", { skip: NO_SERVER }, () => {
  after(stopServer);
  describePool("PostgreSQL", startServer);

  async function open(changes: Partial<Postgres> = {}) {
    const { postgres } = await startServer();
    const pool = openPool({ ...postgres, ...changes });
    const admin = openPool(postgres);
    return {
      pool,
      admin,
      async [Symbol.asyncDispose]() {
        for (const one of [pool, admin]) await one.end();
      },
    };
  }

  /** Ends all connections but the administrator's own. */
  const END_OTHERS =
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'fairlead' AND pid <> pg_backend_pid()";

  it("breaks an idle connection without ending the process, and makes another one", async () => {
    await using s = await open();
    const [before] = await ask(s.pool, "SELECT pg_backend_pid() AS pid");
    await ask(s.admin, END_OTHERS);
    let later: Row | undefined;
    // The news of the end may come after the next statement.
    for (let tries = 0; later === undefined; tries += 1) {
      assert.ok(tries < 10);
      [later] = await ask(s.pool, "SELECT pg_backend_pid() AS pid").catch(() => []);
    }
    assert.notEqual(later.pid, before?.pid);
  });

  it("says that a connection is lost that breaks between two statements, and does not use it again", async () => {
    await using s = await open({ connections: 1 });
    const connection = await s.pool.connect();
    await connection.query("BEGIN");
    await ask(s.admin, END_OTHERS);
    await assert.rejects(connection.query("COMMIT"), isLost);
    connection.release();
    assert.deepEqual(await ask(s.pool, "SELECT 1 AS one"), [{ one: 1 }]);
  });

  it("ends a statement that takes too long, and keeps the connection", async () => {
    const { postgres } = await startServer();
    const pool = openPool(postgres, { statement: 20 });
    const connection = await pool.connect();
    const error = await connection.query("SELECT pg_sleep(60)").catch((refused) => refused);
    assert.deepEqual([error.code, isLost(error)], ["57014", false]);
    assert.deepEqual(await connection.query("SELECT 1 AS one"), [{ one: 1 }]);
    connection.release();
    await pool.end();
  });

  it("prepares a statement anew whose tables have changed since", async () => {
    await using s = await open({ connections: 1, options: "-c search_path=pg_temp" });
    const connection = await s.pool.connect();
    await connection.query("CREATE TABLE public.stale (a int)");
    const read = () => connection.query("SELECT * FROM public.stale WHERE a > $1", [0]);
    await read();
    await connection.query("ALTER TABLE public.stale ADD b int");
    await assert.rejects(read(), isTransient);
    connection.release();
    const next = await s.pool.connect();
    assert.deepEqual(await next.query("SELECT * FROM public.stale WHERE a > $1", [0]), []);
    await next.query("DROP TABLE public.stale");
    next.release();
  });

  it("plans with indexes before it knows how large the tables are, unless the operator says otherwise", async () => {
    const { postgres } = await startServer();
    for (const [options, settings] of [
      [null, { scan: "off", jit: "off" }],
      ["-c jit=on", { scan: "off", jit: "on" }],
    ] as const) {
      const pool = openPool({ ...postgres, options });
      const text = "SELECT current_setting('enable_seqscan') AS scan, current_setting('jit') AS jit";
      assert.deepEqual(await ask(pool, text).finally(() => pool.end()), [settings]);
    }
  });

  it("tells a deadlock from other failures", async () => {
    await using s = await open();
    await ask(s.pool, "CREATE TABLE IF NOT EXISTS locks AS SELECT 1 AS a UNION SELECT 2");
    const both = [await s.pool.connect(), await s.pool.connect()] as const;
    const lock = (nth: 0 | 1, row: number) => both[nth].query("SELECT a FROM locks WHERE a = $1 FOR UPDATE", [row]);
    for (const one of both) await one.query("BEGIN");
    await Promise.all([lock(0, 1), lock(1, 2)]);
    const ends = await Promise.allSettled([lock(0, 2), lock(1, 1)]);
    const failed = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
    assert.deepEqual(failed.map(isTransient), [true]);
    for (const one of both) await one.query("ROLLBACK").finally(() => one.release());
  });

  it("waits no longer than its limit for a lock", async () => {
    await using s = await open();
    const [{ limit } = { limit: "" }] = await ask(s.pool, "SELECT current_setting('lock_timeout') AS limit");
    assert.equal(limit, "10s");
  });

  it("frees what a suspended daemon has locked before others take its streams", async () => {
    await using s = await open();
    const [{ limit } = { limit: "" }] = await ask(
      s.pool,
      "SELECT current_setting('idle_in_transaction_session_timeout') AS limit",
    );
    const ms = parseDuration(String(limit)) ?? assert.fail();
    assert.ok(ms > 0 && ms < PACE.silence);
  });

  it("says where there is no server", async () => {
    const { postgres } = await startServer();
    const nowhere = { ...postgres, host: "/nonexistent", port: 5_433, user: "u", database: "d" };
    assert.match(
      await refusal(nowhere),
      /^cannot connect to PostgreSQL at \/nonexistent\/\.s\.PGSQL\.5433 as u to database d: .*ENOENT/,
    );
  });

  it("says that no user is named: the driver knows $USER at most, which containers do not have", async () => {
    const { postgres } = await startServer();
    const { user } = pg.defaults;
    Object.assign(pg.defaults, { user: undefined });
    const why = await refusal({ ...postgres, host: "/nonexistent", user: null, database: null }).finally(() =>
      Object.assign(pg.defaults, { user }),
    );
    assert.match(
      why,
      /^cannot connect to PostgreSQL at \/nonexistent\/\.s\.PGSQL\.\d+ as nobody: .*ENOENT.*; name a user/,
    );
  });
});

describe("a server that asks for a password", { skip: NO_SERVER }, () => {
  let server: RealServer;
  const password = "o'ne:\\ pass%20word";

  before(async () => {
    const files = { "hba.conf": "local all fairlead trust\nlocal all guest scram-sha-256\n" };
    server = await createServer({ files, settings: ["fsync=off", `hba_file=${FOLDER}/hba.conf`] });
    const admin = openPool(server.postgres);
    await ask(admin, `CREATE ROLE guest LOGIN PASSWORD '${password.replaceAll("'", "''")}'`);
    await admin.end();
  });
  after(() => server.stop());

  const guest = (given: string | null = null): Postgres => {
    return { ...server.postgres, user: "guest", password: given === null ? null : new Secret(given) };
  };

  /** Runs this with these variables in the environment. */
  async function withEnvironment<T>(variables: Readonly<Record<string, string>>, run: () => Promise<T>): Promise<T> {
    Object.assign(process.env, variables);
    return run().finally(() => {
      for (const name of Object.keys(variables)) delete process.env[name];
    });
  }

  it("gets that of the config", async () => {
    assert.equal(await whoAmI(guest(password)), "guest");
  });

  it("gets that of PGPASSWORD", async () => {
    assert.equal(await withEnvironment({ PGPASSWORD: password }, () => whoAmI(guest())), "guest");
  });

  it("gets that of PGPASSFILE, which only its user may read", async () => {
    using f = makeFolder();
    const line = `*:*:*:guest:${password.replace(/[\\:]/g, "\\$&")}\n`;
    writeFileSync(f.path("pgpass"), line, { mode: 0o600 });
    assert.equal(await withEnvironment({ PGPASSFILE: f.path("pgpass") }, () => whoAmI(guest())), "guest");
  });

  it("gets user, database and folder of the socket from the environment as well", async () => {
    const variables = {
      PGUSER: "guest",
      PGDATABASE: "postgres",
      PGHOST: server.postgres.host ?? "",
      PGPASSWORD: password,
    };
    const postgres = { ...guest(), user: null, database: null, host: null };
    assert.equal(await withEnvironment(variables, () => whoAmI(postgres)), "guest");
  });

  it("says that there is none, and never what a wrong one was", async () => {
    assert.match(await refusal(guest()), /as guest to database postgres: .*password/);
    const wrong = await refusal(guest("hunter2"));
    assert.match(wrong, /password authentication failed for user "guest"/);
    assert.doesNotMatch(wrong, /hunter2/);
  });
});

describe("a server with TLS", { skip: NO_SERVER }, () => {
  let server: RealServer;
  let port = 0;

  before(async () => {
    port = await freePort();
    const files = {
      "server.crt": fixture("good.crt"),
      "server.key": fixture("server.key"),
      "client-ca.crt": fixture("client-ca.crt"),
      "hba.conf": [
        "local all all trust",
        "hostssl all careful 127.0.0.1/32 trust clientcert=verify-ca",
        "hostssl all fairlead all trust",
      ].join("\n"),
    };
    const tls = ["ssl=on", `ssl_cert_file=${FOLDER}/server.crt`, `ssl_key_file=${FOLDER}/server.key`];
    const clients = [`ssl_ca_file=${FOLDER}/client-ca.crt`, `hba_file=${FOLDER}/hba.conf`];
    // All of loopback, so that there is an address that the certificate does not name.
    const network = ["listen_addresses=127.0.0.1,127.0.0.2", `port=${port}`];
    server = await createServer({ files, settings: ["fsync=off", ...network, ...tls, ...clients] });
    const admin = openPool({ ...server.postgres, port });
    await ask(admin, "CREATE ROLE careful LOGIN");
    await admin.end();
  });
  after(() => server.stop());

  const FULL: PostgresTls = { verify: "full", ca: fixture("ca.crt"), cert: null, key: null };
  const over = (tls: Postgres["tls"], host = "127.0.0.1"): Postgres => ({ ...server.postgres, host, port, tls });

  it("is trusted by its authority and its name", async () => {
    assert.equal(await whoAmI(over(FULL)), "fairlead");
    assert.equal(await whoAmI(over(FULL, "localhost")), "fairlead");
  });

  it("is not trusted under another name, unless only the authority is asked for", async () => {
    assert.match(await refusal(over(FULL, "127.0.0.2")), /127\.0\.0\.2|altnames|ERR_TLS_CERT_ALTNAME_INVALID/);
    assert.equal(await whoAmI(over({ ...FULL, verify: "authority" }, "127.0.0.2")), "fairlead");
  });

  it("is not trusted by another authority, unless none is asked for", async () => {
    const other = { ...FULL, ca: fixture("client-ca.crt") };
    assert.match(await refusal(over(other)), /unable to verify|self.signed|issuer/i);
    assert.match(await refusal(over({ ...other, verify: "authority" })), /unable to verify|self.signed|issuer/i);
    assert.equal(await whoAmI(over({ ...other, verify: "none" })), "fairlead");
  });

  it("gets our certificate when it asks for one", async () => {
    const ours = { ...FULL, cert: fixture("client.crt"), key: new Secret(fixture("server.key")) };
    assert.equal(await whoAmI({ ...over(ours), user: "careful" }), "careful");
    assert.match(await refusal({ ...over(FULL), user: "careful" }), /requires a valid client certificate/);
  });

  it("refuses a connection without TLS, with its own words", async () => {
    assert.match(await refusal(over("off")), /no pg_hba\.conf entry .*no encryption/);
  });
});

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
