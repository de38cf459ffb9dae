import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createClock } from "../../../src/runtime/clock.ts";
import type { Pool } from "../../../src/store/postgres/database.ts";
import { openPostgres } from "../../../src/store/postgres/store.ts";
import { AMPLE, createFalseReport, describeCounts, makeAsk } from "../harness.ts";
import { delivered, makeEntries } from "../make.ts";
import { NO_SERVER, startServer, stopServer } from "./server.ts";

const PACE = { beat: 100, silence: 1_000, look: 1_000 };
const SCHEMA = "recount";

/** Stops at the statement that counts rows, until `goOn` is resolved. */
function holdUp(pool: Pool) {
  const counting = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow: Pool = {
    end: pool.end,
    async connect() {
      const connection = await pool.connect();
      return {
        ...connection,
        async query<R>(text: string, values?: readonly unknown[]) {
          const counts = text.includes("sum(bit_count(waiting))");
          const rows = await connection.query<R>(text, values);
          if (counts) {
            counting.resolve();
            await goOn.promise;
          }
          return rows;
        },
      };
    },
  };
  return { pool: slow, counting: counting.promise, goOn: goOn.resolve };
}

describe("a daemon that counts what a dead one has left", { skip: NO_SERVER }, () => {
  after(stopServer);

  it("goes on with all writes meanwhile, and counts them too", async () => {
    const server = await startServer();
    const clock = createClock();
    const options = { clock, report: createFalseReport([]), bounds: AMPLE.bounds, about: "{}", pace: PACE };
    const dying = await server.connect(SCHEMA);
    const first = await openPostgres({ ...options, pool: dying, name: "first" });
    await first.append(makeEntries(5));
    await dying.kill();
    const { pool, counting, goOn } = holdUp(await server.connect(SCHEMA));
    const second = await openPostgres({ ...options, pool, name: "second" });
    const taken = Promise.withResolvers<void>();
    second.changes(({ kind }) => kind === "moved" && taken.resolve());
    await taken.promise;
    await counting;
    await second.append(makeEntries(3, { source: "app" }));
    const [one = assert.fail()] = (await second.readQueue(makeAsk())).deliveries;
    assert.equal(await second.settle(one, delivered(one, clock.now())), "written");
    goOn();
    const wanted = ["crm delivered: 1", "crm waiting: 7"];
    const until = clock.now() + 10_000;
    while (String(await describeCounts(second)) !== String(wanted) && clock.now() < until) await clock.nextTurn();
    assert.deepEqual(await describeCounts(second), wanted);
    await second.close();
    await first.close();
  });
});
