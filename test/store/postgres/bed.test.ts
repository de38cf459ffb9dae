import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Store } from "../../../src/model/ports.ts";
import type { Pool } from "../../../src/store/postgres/database.ts";
import { type OpenStore, startStore } from "../harness.ts";
import { openOn } from "./bed.ts";
import { startPglite } from "./pglite.ts";

const OWN_TIME = "CREATE FUNCTION the_time() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'";
const TABLES = ["streams", "leases", "daemons"].map(
  (name) => `CREATE TABLE IF NOT EXISTS ${name} (beat_at bigint, holder text)`,
);

/** As much of an engine as the bed knows of. */
function createOpen(opened: Pool[]): OpenStore {
  return openOn(startPglite, async ({ pool }) => {
    const connection = await pool.connect();
    const [{ known } = assert.fail()] = await connection.query<{ known: boolean }>(
      "SELECT to_regclass('streams') IS NOT NULL AS known",
    );
    if (!known) await connection.query([...TABLES, "INSERT INTO streams VALUES (7, 'dead')", OWN_TIME].join(";"));
    connection.release();
    opened.push(pool);
    return { changes: () => {}, hurry: () => {}, close: () => pool.end() } as unknown as Store;
  });
}

async function ask(pool: Pool | undefined, text: string): Promise<readonly unknown[]> {
  const connection = (await pool?.connect()) ?? assert.fail();
  return connection.query(text).finally(() => connection.release());
}

describe("the bed of a store on PostgreSQL", () => {
  it("has the database go by the clock of the test", async () => {
    const opened: Pool[] = [];
    await using s = await startStore(createOpen(opened));
    for (const duration of ["1s", "5h"]) {
      assert.deepEqual(await ask(opened[0], "SELECT the_time() AS now"), [{ now: s.clock.wall() }]);
      await s.clock.advance(duration);
    }
  });

  it("opens the same store again in the same folder, and another one in another", async () => {
    const opened: Pool[] = [];
    const open = createOpen(opened);
    await using s = await startStore(open);
    await using other = await startStore(open);
    await ask(opened[0], "UPDATE streams SET beat_at = 8");
    await s.reopen();
    assert.deepEqual(await ask(opened[2], "SELECT beat_at FROM streams"), [{ beat_at: 8 }]);
    await other.reopen();
    assert.deepEqual(await ask(opened[3], "SELECT beat_at FROM streams"), [{ beat_at: 7 }]);
  });

  it("kills the connections, and takes from the dead what they held", async () => {
    const opened: Pool[] = [];
    await using s = await startStore(createOpen(opened));
    const held = (await opened[0]?.connect()) ?? assert.fail();
    await held.query("BEGIN");
    await held.query("INSERT INTO streams VALUES (9, 'dead')");
    await s.kill();
    await assert.rejects(held.query("COMMIT"), /killed/);
    assert.deepEqual(await ask(opened[1], "SELECT beat_at, holder FROM streams"), [{ beat_at: 7, holder: null }]);
  });
});
