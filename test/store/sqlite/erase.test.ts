import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openDatabase } from "../../../src/store/sqlite/driver.ts";
import { createErase } from "../../../src/store/sqlite/erase.ts";
import { createTables } from "../../../src/store/sqlite/tables.ts";
import { createFalseReport, makeTx } from "../harness.ts";
import { delivered, makeEntry } from "../make.ts";
import { startOutbox } from "./start.ts";

describe("an erased event", () => {
  it("is not kept in memory either, where its segment was opened for other destinations", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ messageId: "m1", userId: "u1", body: '{"plan":"pro"}' }));
    for (const one of await o.s.read()) await o.s.store().settle(one, delivered(one, o.s.clock.now()));
    await o.s.store().close();

    const db = await openDatabase(o.path);
    const report = createFalseReport([]);
    const tables = createTables(db, { flush() {}, report });
    const open = () => tables.openSegments.open(1, { events: 1, waiting: 0 });
    const opened = open();
    assert.deepEqual(opened.bodies, ['{"plan":"pro"}']);
    assert.equal(open(), opened);
    const of = { users: new Set(["u1"]), sources: null, upTo: 1 };
    const { events } = createErase(db, { tables, report })(makeTx(), { of, prefix: "delete-" }, null);
    assert.deepEqual([events, open().bodies], [1, ['{"type":"track","erased":true}']]);
    db.close();
  });
});
