import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createClock } from "../../../src/runtime/clock.ts";
import { openPostgres } from "../../../src/store/postgres/store.ts";
import { AMPLE, createFalseReport, makeAsk } from "../harness.ts";
import { makeEntries } from "../make.ts";
import { NO_SERVER, startServer, stopServer } from "./server.ts";

const PACE = { beat: 100, silence: 1_000, look: 1_000 };
const SCHEMA = "takeover";

describe("a daemon that takes what dead ones have left", { skip: NO_SERVER }, () => {
  after(stopServer);

  it("delivers what it could take, also while somebody has locked the rest", { timeout: 60_000 }, async () => {
    const server = await startServer();
    const options = {
      clock: createClock(),
      report: createFalseReport([]),
      bounds: AMPLE.bounds,
      about: "{}",
      pace: PACE,
    };
    const dead: Awaited<ReturnType<typeof openPostgres>>[] = [];
    for (const [name, count] of [
      ["one", 3],
      ["other", 5],
    ] as const) {
      const pool = await server.connect(SCHEMA);
      const store = await openPostgres({ ...options, pool, name });
      await store.append(makeEntries(count, { source: name }));
      dead.push(store);
      await pool.kill();
    }
    const locking = await server.connect(SCHEMA);
    const connection = await locking.connect();
    await connection.query("BEGIN");
    await connection.query("SELECT FROM streams WHERE id = 2 FOR UPDATE");
    const heir = await openPostgres({ ...options, pool: await server.connect(SCHEMA), name: "heir" });
    const taken = Promise.withResolvers<void>();
    heir.changes(({ kind }) => kind === "moved" && taken.resolve());
    await taken.promise;
    assert.equal((await heir.readQueue(makeAsk())).deliveries.length, 3);
    const rest = Promise.withResolvers<void>();
    heir.changes(({ kind }) => kind === "moved" && rest.resolve());
    await connection.query("COMMIT");
    await rest.promise;
    assert.equal((await heir.readQueue(makeAsk())).deliveries.length, 8);
    connection.release();
    await locking.end();
    for (const store of [heir, ...dead]) await store.close();
  });
});
