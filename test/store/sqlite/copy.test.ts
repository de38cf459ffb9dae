import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Contents } from "../../../src/model/lookup.ts";
import { readContents } from "../../../src/store/sqlite/copy.ts";
import { openDatabase } from "../../../src/store/sqlite/driver.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/schema.ts";
import { delivered, failed, makeEntries, makeEntry } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

async function contentsOf({ path }: TestOutbox): Promise<Contents | null> {
  const db = await openDatabase(path);
  const contents = readContents(db);
  db.close();
  return contents;
}

describe("the contents of a store, as backup and doctor show them", () => {
  it("include the newest events, also before their rows are written, and after", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(3));
    const [first, second] = await o.s.read();
    assert.ok(first && second);
    await o.s.store().settle(first, failed(first, o.s.clock.now()));
    await o.s.clock.advance("1m");
    const fresh = await o.s.store().append(makeEntries(2, { ownId: true, deliverTo: ["crm", "lake"] }));
    assert.ok(Array.isArray(fresh));
    const [newest] = fresh.flatMap((receipt) => (receipt.kind === "accepted" ? receipt.deliveries : []));
    assert.ok(newest);
    // Both are written with the call: the one is folded, the other one is in the tail.
    await Promise.all([
      o.s.store().settle(second, delivered(second, o.s.clock.now())),
      o.s.store().settle(newest, delivered(newest, o.s.clock.now())),
      o.s.append(makeEntry({ messageId: "last", deliverTo: [] })),
    ]);
    assert.equal(o.sql("SELECT * FROM segments").length, 1);
    const expected = {
      ...{ schema: SCHEMA_VERSION, events: 6, newestAt: o.s.clock.now(), computations: 0, suppressed: 0 },
      deliveries: { waiting: 4, delivered: 2, failed: 1, expired: 0 },
    };
    assert.deepEqual(await contentsOf(o), expected);
    await o.fold();
    assert.equal(o.sql("SELECT * FROM segments").length, 3);
    assert.deepEqual(await contentsOf(o), expected);
  });

  it("of a store of an older schema are those of its tables", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(3));
    await o.s.store().close();
    const db = await openDatabase(o.path);
    db.exec("DROP VIEW events; DROP VIEW deliveries; ALTER TABLE contents DROP COLUMN tail");
    db.exec("ALTER TABLE contents DROP COLUMN tail_sum; PRAGMA user_version = 9");
    assert.equal(readContents(db)?.events, 3);
    db.close();
  });
});
