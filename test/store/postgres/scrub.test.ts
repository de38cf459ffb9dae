import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Connection, Pool } from "../../../src/store/postgres/database.ts";
import { createDatabase } from "../../../src/store/postgres/database.ts";
import { prepareSchema } from "../../../src/store/postgres/migrate.ts";
import { openPool } from "../../../src/store/postgres/pool.ts";
import { createScrub } from "../../../src/store/postgres/scrub.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { createFalseReport, type Told } from "../harness.ts";
import { createServer, NO_SERVER, type RealServer } from "./server.ts";

/** A row that is gone for every query, and for VACUUM only once nobody may read it. */
const ERASED = [
  "INSERT INTO deletion_users SELECT 'del-1', n, 'u1', 'hash' FROM generate_series(1, 500) n",
  "DELETE FROM deletion_users",
];
/** Those that have something of a user. */
const TABLES = ["segments", "tried", "deletion_users", "members", "changes"];
const IS_LEFT = "SELECT pg_relation_size('deletion_users') > 0 AS left";

/** Without autovacuum, which reads tables when it likes, and so keeps what a VACUUM would remove. */
let server: RealServer | null = null;

async function start() {
  server ??= await createServer({ settings: ["fsync=off", "autovacuum=off"] });
  const schema = "scrubbed";
  const pool: Pool = await server.connect(schema);
  const admin = await pool.connect();
  await prepareSchema(createDatabase(pool, createFalseClock()));
  const told: Told[] = [];
  const report = createFalseReport(told);

  async function isLeft(): Promise<boolean> {
    const [row] = await admin.query<{ left: boolean }>(IS_LEFT);
    return row?.left ?? assert.fail();
  }

  return {
    pool,
    admin,
    told,
    isLeft,
    scrubAs: (sql: Pick<Connection, "query">) => createScrub({ sql, report }),
    postgres: { ...server.postgres, options: `-c search_path=${schema}` },
    async [Symbol.asyncDispose]() {
      admin.release();
      await pool.end();
      await server?.drop(schema);
    },
  };
}

describe("what erased rows leave in PostgreSQL", { skip: NO_SERVER }, () => {
  after(() => server?.stop());

  it("is removed once no transaction may read them any more", async () => {
    await using s = await start();
    const { scrub } = s.scrubAs(s.admin);
    const reader = await s.pool.connect();
    await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await reader.query("SELECT 1");
    for (const statement of ERASED) await s.admin.query(statement);
    assert.deepEqual([await scrub(), await scrub(), await s.isLeft()], [false, false, true]);
    await reader.query("COMMIT");
    reader.release();
    assert.deepEqual([await scrub(), await s.isLeft()], [true, false]);
    assert.deepEqual(s.told, []);
  });

  it("stays if the role may not VACUUM, which is said once, until the owner has frozen the tables", async () => {
    await using s = await start();
    await using writer = await connectWriter(s);
    for (const statement of ERASED) await writer.query(statement);
    const { scrub } = s.scrubAs(writer);
    assert.deepEqual([await scrub(), await scrub(), await s.isLeft()], [false, false, true]);
    assert.match(
      String(s.told.map(({ args }) => args[1])),
      /^Error: the role writer may not VACUUM .* VACUUM \(FREEZE\) segments, /,
    );
    const [first, ...rest] = TABLES;
    for (const table of rest) await s.admin.query(`VACUUM (FREEZE) ${table}`);
    assert.equal(await scrub(), false);
    await s.admin.query(`VACUUM (FREEZE) ${first}`);
    assert.deepEqual([await scrub(), await s.isLeft()], [true, false]);
  });

  it("is not gone with a VACUUM (FREEZE) of before, or beside a transaction that may read it", async () => {
    await using s = await start();
    await using writer = await connectWriter(s);
    const { rewrite, scrub } = s.scrubAs(writer);
    const signal = new AbortController().signal;
    await rewrite(signal);
    const freeze = `VACUUM (FREEZE) ${TABLES.join(", ")}`;
    assert.equal(await scrub(), false);
    await s.admin.query(freeze);
    assert.equal(await scrub(), true);
    const reader = await s.pool.connect();
    await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await reader.query("SELECT 1");
    for (const statement of ERASED) await writer.query(statement);
    await rewrite(signal);
    assert.equal(await scrub(), false);
    await s.admin.query(freeze);
    assert.equal(await scrub(), false);
    await reader.query("COMMIT");
    reader.release();
    assert.deepEqual([await scrub(), await s.isLeft()], [false, true]);
    await s.admin.query(freeze);
    assert.deepEqual([await scrub(), await s.isLeft()], [true, false]);
  });

  it("is removed by the daemon itself once its role may", async () => {
    await using s = await start();
    await using writer = await connectWriter(s);
    for (const statement of ERASED) await writer.query(statement);
    const { scrub } = s.scrubAs(writer);
    assert.equal(await scrub(), false);
    for (const table of ["vacuum_probe", ...TABLES]) await s.admin.query(`ALTER TABLE ${table} OWNER TO writer`);
    assert.deepEqual([await scrub(), await s.isLeft()], [true, false]);
  });
});

/** A role that may do no more than write. */
async function connectWriter({ admin, postgres }: Awaited<ReturnType<typeof start>>) {
  await admin.query(
    `CREATE ROLE writer LOGIN; GRANT USAGE ON SCHEMA scrubbed TO writer;
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA scrubbed TO writer`,
  );
  const pool = openPool({ ...postgres, user: "writer" });
  const writer = await pool.connect();
  return {
    query: writer.query,
    async [Symbol.asyncDispose]() {
      writer.release();
      await pool.end();
      await admin.query("REASSIGN OWNED BY writer TO fairlead; DROP OWNED BY writer; DROP ROLE writer");
    },
  };
}
