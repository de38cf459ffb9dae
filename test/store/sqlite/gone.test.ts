// The outbox's files, removed, replaced or cut short while the store has them open.

import assert from "node:assert/strict";
import { copyFile, mkdir, readdir, rename, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { isFault } from "../../../src/model/fault.ts";
import { beginFile } from "../../../src/runtime/new-file.ts";
import { openDatabase } from "../../../src/store/sqlite/driver.ts";
import { lockOutbox, logOf } from "../../../src/store/sqlite/files.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { delivered, makeEntry } from "../make.ts";
import { PID, pathIn, startOutbox, type TestOutbox } from "./start.ts";

function told({ s }: TestOutbox): readonly string[] {
  return s.told
    .map(({ what }) => what)
    .filter((what) => ["storeGone", "storeFound", "storeRescued", "fileRenewed"].includes(what));
}

describe("the files of an outbox that is open", () => {
  it("are refused for anything new when they were removed, and keep up with what is delivered", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ messageId: "before" }));
    for (const name of await readdir(o.s.folder)) await rm(join(o.s.folder, name));
    assert.deepEqual(await o.s.append(makeEntry({ messageId: "after" })), ["outbox_gone"]);
    assert.deepEqual((await o.s.store().health.state()).gone, {
      what: "removed",
      path: o.path,
      since: o.s.clock.now(),
    });
    assert.equal((await o.s.store().health.state()).refusal?.code, "outbox_gone");
    assert.equal(await o.s.store().health.responds(), true);
    const [delivery] = await o.s.read();
    assert.ok(delivery);
    assert.equal(await o.s.store().settle(delivery, delivered(delivery, o.s.clock.now())), "written");
    assert.deepEqual(await o.s.counts(), ["crm delivered: 1"]);
    assert.deepEqual(told(o), ["storeGone"]);
  });

  it("are looked at every five seconds, whether anything comes in or not", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry());
    await rm(o.path);
    await o.s.clock.advance("5s");
    assert.deepEqual(told(o), ["storeGone"]);
  });

  it("count again as soon as they are back at their place", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ messageId: "before" }));
    const away = `${o.s.folder}-away`;
    await rename(o.s.folder, away);
    assert.deepEqual(await o.s.append(makeEntry({ messageId: "meanwhile" })), ["outbox_gone"]);
    await rename(away, o.s.folder);
    assert.deepEqual(await o.s.append(makeEntry({ messageId: "after" })), ["accepted"]);
    assert.equal((await o.s.store().health.state()).gone, null);
    assert.deepEqual(told(o), ["storeGone", "storeFound"]);
    await o.s.reopen();
    assert.equal((await o.s.read()).length, 2);
  });

  it("are told from a copy that has taken their place", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ messageId: "before" }));
    await copyFile(o.path, `${o.path}.copy`);
    await rename(`${o.path}.copy`, o.path);
    assert.deepEqual(await o.s.append(makeEntry({ messageId: "after" })), ["outbox_gone"]);
    assert.equal((await o.s.store().health.state()).gone?.what, "replaced");
  });

  it("are kept under another name when the daemon stops while they are gone", async () => {
    await using o = await startOutbox((place) =>
      openStore({ ...place, path: pathIn(place.folder), pid: PID, beginFile }),
    );
    await o.s.append(makeEntry({ messageId: "before" }));
    await rm(o.path);
    await rm(logOf(o.path));
    await o.s.store().close();
    assert.deepEqual(told(o), ["storeGone", "storeRescued"]);
    const rescued = await openDatabase(`${o.path}.rescued`);
    assert.equal(rescued.prepare("SELECT count(*) FROM deliveries WHERE state = 'waiting'").pluck().get(), 1);
    rescued.close();
  });

  for (const commits of [0, 1, 1_500]) {
    it(`are not written to when they were cut short after ${commits} commits`, async () => {
      await using o = await startOutbox();
      for (let n = 0; n < commits; n += 1) await o.s.append(makeEntry({ messageId: `m${n}` }));
      await truncate(o.path, 0);
      assert.deepEqual(await o.s.append(makeEntry({ messageId: "after" })), ["outbox_gone"]);
      assert.equal((await o.s.store().health.state()).gone?.what, "truncated");
      assert.equal(await o.s.store().health.responds(), true);
      assert.equal((await stat(o.path)).size, 0);
      const [first] = commits > 0 ? await o.s.read({ limit: 1 }).catch(() => []) : [];
      if (first) assert.ok(isFault(await o.s.store().settle(first, delivered(first, o.s.clock.now()))));
    });
  }

  it("are told to be cut short when it is the log whose commits are gone", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ messageId: "before" }));
    await truncate(logOf(o.path), 0);
    assert.deepEqual(await o.s.append(makeEntry({ messageId: "after" })), ["outbox_gone"]);
    const { what, path } = (await o.s.store().health.state()).gone ?? {};
    assert.deepEqual([what, path], ["truncated", logOf(o.path)]);
  });

  for (const end of ["-wal", "-shm"]) {
    it(`lose nothing when ${end} alone was removed: another log is begun`, async () => {
      await using o = await startOutbox();
      await o.s.append(makeEntry({ messageId: "before" }));
      await rm(o.path + end);
      assert.deepEqual(await o.s.append(makeEntry({ messageId: "after" })), ["accepted"]);
      assert.deepEqual(told(o), ["fileRenewed"]);
      const copy = join(o.s.folder, "as-after-a-kill");
      await mkdir(copy);
      for (const one of ["", "-wal"]) await copyFile(o.path + one, join(copy, `fairlead.db${one}`));
      const killed = await openDatabase(join(copy, "fairlead.db"));
      assert.equal(killed.prepare("SELECT count(*) FROM deliveries").pluck().get(), 2);
      killed.close();
    });
  }

  it("keep a second daemon out when the lock was removed, and count for nothing when one has come before", async () => {
    await using o = await startOutbox();
    await rm(`${o.path}.lock`);
    await o.s.clock.advance("5s");
    assert.deepEqual(told(o), ["fileRenewed"]);
    await assert.rejects(lockOutbox(o.path, 2), /another Fairlead \(pid 4711\) has it open/);
    await rm(`${o.path}.lock`);
    const second = await lockOutbox(o.path, 2);
    assert.deepEqual(await o.s.append(makeEntry()), ["outbox_gone"]);
    second.release();
    await o.s.clock.advance("5s");
    assert.deepEqual(await o.s.append(makeEntry()), ["accepted"]);
    assert.deepEqual(told(o), ["fileRenewed", "storeGone", "fileRenewed", "storeFound"]);
  });

  it("are refused while another program keeps a log from being begun anew, and not any more when it is gone", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ messageId: "before" }));
    o.shell.prepare("SELECT 1 FROM segments").get();
    await rm(logOf(o.path));
    assert.deepEqual(await o.s.append(makeEntry({ messageId: "meanwhile" })), ["outbox_gone"]);
    o.shell.close();
    await o.s.clock.advance("5s");
    assert.deepEqual(await o.s.append(makeEntry({ messageId: "after" })), ["accepted"]);
    assert.deepEqual(told(o), ["storeGone", "fileRenewed", "storeFound"]);
  });

  it("may be made short by others: by VACUUM, and by emptying the log", async () => {
    await using o = await startOutbox();
    for (let n = 0; n < 300; n += 1) await o.s.append(makeEntry({ messageId: `m${n}` }));
    o.shell.pragma("busy_timeout = 5000");
    o.shell.exec("DELETE FROM contents");
    o.shell.pragma("wal_checkpoint(TRUNCATE)");
    assert.equal((await o.s.store().health.state()).gone, null);
    const before = (await stat(o.path)).size;
    o.shell.exec("VACUUM");
    o.shell.pragma("wal_checkpoint(TRUNCATE)");
    assert.ok((await stat(o.path)).size < before);
    assert.deepEqual(await o.s.append(makeEntry({ messageId: "after" })), ["accepted"]);
    assert.deepEqual(told(o), []);
  });
});
