import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { openDatabase } from "../../../src/store/sqlite/driver.ts";
import { makeEntries, retried } from "../make.ts";
import { startOutbox, type TestOutbox } from "./start.ts";

const PAGE = 4_096;

/** As a disk that changes a bit of the first entry of an index, while no daemon runs. */
async function damageIndex({ s, path, shell }: TestOutbox, index: string): Promise<void> {
  shell.close();
  await s.store().close();
  const db = await openDatabase(path);
  const root = db.prepare<[string], number>("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(index);
  db.close();
  assert.ok(root !== undefined);
  const file = await readFile(path);
  const at = file.indexOf("crm", (root - 1) * PAGE);
  assert.ok(at >= 0 && at < root * PAGE, "the entry is in its page");
  file.writeUInt8(file.readUInt8(at) ^ 4, at);
  await writeFile(path, file);
  await s.reopen();
}

function told({ s }: TestOutbox): readonly string[] {
  const failures = s.told.filter(({ what }) => what === "storeFailed");
  return failures.map(({ args }) => `${args[0]}: ${(args[1] as Error).message}`);
}

describe("an index in which the disk has changed a byte", () => {
  it("is made again when it no longer leads to a delivery that waits for its first attempt", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(2));
    await damageIndex(o, "progress_waiting");
    assert.equal((await o.s.read()).length, 0);
    await o.s.clock.advance("4s");
    assert.equal((await o.s.read()).length, 2);
    assert.equal(o.s.moves(), 1);
    assert.equal(told(o).length, 1);
    assert.match(
      told(o)[0] ?? "",
      /^check the index progress_waiting: it is damaged: it misses waiting deliveries \(at least 1\); it was rebuilt\. The disk /,
    );
  });

  it("is made again when it no longer leads to one that is to be tried again", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(2));
    for (const one of await o.s.read()) await o.s.store().settle(one, retried(one, o.s.clock.now()));
    await damageIndex(o, "tried_due");
    assert.equal((await o.s.read({ queue: "retry" })).length, 1);
    await o.s.clock.advance("2s");
    assert.equal((await o.s.read({ queue: "retry" })).length, 2);
    assert.match(
      told(o)[0] ?? "",
      /^check the index tried_due: it is damaged: it misses waiting deliveries \(at least 1\); /,
    );
  });

  it("is looked for again every ten minutes, through all rows however many", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(1_500));
    for (const one of await o.s.read({ limit: 1_500 })) {
      await o.s.store().settle(one, retried(one, o.s.clock.now()));
    }
    await o.s.clock.advance("1m");
    await damageIndex(o, "tried_due");
    await o.s.clock.advance("10m");
    assert.deepEqual(told(o).length, 1);
    await o.s.clock.advance("30m");
    assert.deepEqual(told(o).length, 1);
  });
});
