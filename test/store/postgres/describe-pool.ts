import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Connection, Pool } from "../../../src/store/postgres/database.ts";
import { isLost, isTransient } from "../../../src/store/postgres/errors.ts";
import type { TestServer } from "./bed.ts";

/** What the engine relies on, whichever server there is. */
export function describePool(name: string, start: () => Promise<TestServer>): void {
  describe(`connections to ${name}`, () => {
    let made = 0;
    const schemas: string[] = [];

    async function connect(schema = `pool_${process.pid}_${made++}`) {
      schemas.push(schema);
      const pool = await (await start()).connect(schema);
      return { schema, pool, one: await pool.connect(), [Symbol.asyncDispose]: () => pool.end() };
    }

    after(async () => {
      for (const schema of schemas) await (await start()).drop(schema);
    });

    const values: readonly (readonly [type: string, value: unknown])[] = [
      ["bigint", 2 ** 52 + 1],
      ["bigint", null],
      ["int", -7],
      ["smallint", 7],
      ["double precision", 0.1],
      ["boolean", true],
      ["boolean", false],
      ["text", 'ä "quoted" \\ {braces}, \u{1f600}\n'],
      ["text", ""],
      ["json", '{ "kept":  "as it is" }'],
      ["varbit", "0101100"],
      ["varbit", ""],
      ["bytea", Buffer.from([0, 1, 92, 255])],
      ["bytea", Buffer.alloc(0)],
      ["bigint[]", [1, 2 ** 52 + 1, null]],
      ["int[]", []],
      ["smallint[]", [1]],
      ["boolean[]", [true, false, null]],
      ["text[]", ["a,b", 'c"d', "e\\f", "{}", "NULL", "", null]],
      ["varbit[]", ["0101", ""]],
      ["bytea[]", [Buffer.from([0, 92, 34, 255]), Buffer.alloc(0)]],
    ];
    for (const [type, value] of values) {
      it(`takes and gives a ${type}: ${JSON.stringify(value)}`, async () => {
        await using bed = await connect();
        const { one } = bed;
        assert.deepEqual(await one.query(`SELECT $1::${type} AS value`, [value]), [{ value }]);
        one.release();
      });
    }

    it("gives sums and counts as numbers", async () => {
      await using bed = await connect();
      const sums = await bed.one.query("SELECT count(*) AS n, sum(x) AS sum FROM unnest($1::bigint[]) AS x", [[5, 7]]);
      assert.deepEqual(sums, [{ n: 2, sum: 12 }]);
      bed.one.release();
    });

    it("runs several statements that have no values, and answers the last one", async () => {
      await using bed = await connect();
      await bed.one.query("CREATE TABLE t (a int); CREATE TABLE u (a int)");
      assert.deepEqual(await bed.one.query("INSERT INTO t VALUES (1); SELECT a FROM t"), [{ a: 1 }]);
      assert.deepEqual(await bed.one.query("SELECT a FROM u WHERE a = $1", [1]), []);
      bed.one.release();
    });

    it("answers the error of a statement, and goes on", async () => {
      await using bed = await connect();
      const { one } = bed;
      await one.query("CREATE TABLE t (a int PRIMARY KEY)");
      const insert = () => one.query("INSERT INTO t VALUES ($1)", [1]);
      await insert();
      const error = await insert().catch((refusal) => refusal);
      assert.deepEqual([error.code, isLost(error), isTransient(error)], ["23505", false, false]);
      assert.deepEqual(await one.query("SELECT a FROM t"), [{ a: 1 }]);
      one.release();
    });

    it("keeps a transaction apart until it is committed", async () => {
      await using bed = await connect();
      const { one, pool } = bed;
      await one.query("CREATE TABLE t (a int)");
      await one.query("BEGIN");
      await one.query("INSERT INTO t VALUES ($1)", [1]);
      await one.query("COMMIT");
      await one.query("BEGIN");
      await one.query("INSERT INTO t VALUES ($1)", [2]);
      await one.query("ROLLBACK");
      const other = await pool.connect();
      assert.deepEqual(await other.query("SELECT a FROM t"), [{ a: 1 }]);
      for (const connection of [one, other]) connection.release();
    });

    it("has many connections at once, which all get their turn", async () => {
      await using bed = await connect();
      await bed.one.query("CREATE TABLE t (a int)");
      bed.one.release();
      await Promise.all(Array.from({ length: 30 }, (_, n) => insertInTransaction(bed.pool, n)));
      const all = await bed.pool.connect();
      assert.deepEqual(await all.query("SELECT count(*) AS n FROM t"), [{ n: 30 }]);
      all.release();
    });

    it("keeps one schema apart from another, with the same statements", async () => {
      await using bed = await connect();
      await using other = await connect();
      for (const [n, { one }] of [bed, other].entries()) {
        await one.query("CREATE TABLE t (a int)");
        await one.query("INSERT INTO t VALUES ($1)", [n]);
      }
      for (const [n, { one }] of [bed, other, bed].entries()) {
        assert.deepEqual(await one.query("SELECT a FROM t WHERE a >= $1", [0]), [{ a: n % 2 }]);
      }
      for (const { one } of [bed, other]) one.release();
    });

    it("gives no connection once it has ended", async () => {
      const { one, pool } = await connect();
      one.release();
      for (const end of [pool.end, pool.end]) await end();
      await assert.rejects(pool.connect(), isLost);
    });

    it("loses what was not committed when it is killed, and nothing else", async () => {
      await using bed = await connect();
      const { one, pool } = bed;
      await one.query("CREATE TABLE t (a int)");
      await one.query("INSERT INTO t VALUES (1)");
      await one.query("BEGIN");
      await one.query("INSERT INTO t VALUES (2)");
      await pool.kill();
      for (const lost of [one.query("COMMIT"), pool.connect()]) await assert.rejects(lost, isLost);
      one.release();
      await using next = await connect(bed.schema);
      assert.deepEqual(await next.one.query("SELECT a FROM t"), [{ a: 1 }]);
      next.one.release();
    });
  });
}

async function insertInTransaction(pool: Pool, n: number): Promise<void> {
  const connection: Connection = await pool.connect();
  await connection.query("BEGIN");
  await connection.query("INSERT INTO t VALUES ($1)", [n]);
  await connection.query("COMMIT");
  connection.release();
}
