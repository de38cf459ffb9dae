import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { StoreChange } from "../../../src/model/ports.ts";
import { createClock } from "../../../src/runtime/clock.ts";
import { openPostgres } from "../../../src/store/postgres/store.ts";
import { AMPLE, createFalseReport, makeAsk } from "../harness.ts";
import { delivered, makeEntries } from "../make.ts";
import { createServer, NO_SERVER, type RealServer } from "./server.ts";

/** Settlements stay in the server's memory until something else has to be on its disk. */
const FORGETFUL = ["fsync=off", "wal_writer_delay=10s"];
const PACE = { beat: 1_000, silence: 6_000, look: 1_000 };

describe("a server that crashes", { skip: NO_SERVER }, () => {
  let server: RealServer;
  after(() => server.stop());

  it("may have forgotten settlements, so that the daemon counts and reads again", async () => {
    server = await createServer({ settings: FORGETFUL });
    const told = createFalseReport([]);
    const store = await openPostgres({
      ...{ pool: await server.connect("crash"), clock: createClock(), report: told, bounds: AMPLE.bounds },
      ...{ name: "daemon", about: "{}", pace: PACE },
    });
    const moved = Promise.withResolvers<void>();
    store.changes((change: StoreChange) => change.kind === "moved" && moved.resolve());
    await store.append(makeEntries(5));
    const { deliveries } = await store.readQueue(makeAsk());
    await Promise.all(deliveries.slice(1).map((one) => store.settle(one, delivered(one, one.acceptedAt + 1))));
    await server.restart("immediate");
    await moved.promise;
    const waiting = (await store.readQueue(makeAsk())).deliveries.length;
    const counts = await store.backlog.counts();
    assert.deepEqual(
      counts
        .filter(({ count }) => count > 0)
        .map(({ state, count }) => `${state} ${count}`)
        .sort(),
      waiting === 5 ? ["waiting 5"] : [`delivered ${5 - waiting}`, `waiting ${waiting}`],
    );
    await store.close();
  });
});
