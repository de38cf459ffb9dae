import assert from "node:assert/strict";
import { chownSync, lchownSync, statSync } from "node:fs";
import { copyFile, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { filesOf, keptName, makeBackup, query } from "./outbox.ts";
import { SLOW } from "./run.ts";

const isRoot = process.getuid?.() === 0;

describe("fairlead restore, beside logs that a kill has left", () => {
  it("never takes the log of an outbox that is gone for the copy's", SLOW, async () => {
    await using p = await makeBackup();
    const writer = await openDatabase(p.outbox);
    writer.exec("INSERT INTO meta VALUES ('in_the_log', 1)");
    await copyFile(`${p.outbox}-wal`, p.path("log"));
    writer.close();
    await rm(p.outbox);
    await rename(p.path("log"), `${p.outbox}-wal`);
    const { code, out } = await p.run("restore", p.backup);
    assert.equal(code, 0);
    assert.equal(
      await query(p.outbox, (db) => db.prepare("SELECT count(*) FROM meta WHERE name = 'in_the_log'").pluck().get()),
      0,
    );
    assert.match(keptName(out), /-wal$/);
    assert.deepEqual(await filesOf(p), ["", ".before-restore-TIME-wal", ".lock"]);
    await p.s.reopen();
  });

  it("leaves a backup as it is, and what is in its log", SLOW, async () => {
    await using p = await makeBackup();
    const writer = await openDatabase(p.backup);
    writer.exec("PRAGMA journal_mode = WAL; INSERT INTO meta VALUES ('in_the_log', 1)");
    for (const end of ["", "-wal"]) await copyFile(`${p.backup}${end}`, `${p.path("killed.db")}${end}`);
    writer.close();
    const log = await readFile(p.path("killed.db-wal"));
    assert.equal((await p.run("restore", "--force", p.path("killed.db"))).code, 0);
    assert.deepEqual(await readFile(p.path("killed.db-wal")), log);
    assert.equal(
      await query(p.outbox, (db) => db.prepare("SELECT count(*) FROM meta WHERE name = 'in_the_log'").pluck().get()),
      1,
    );
    await p.s.reopen();
  });
});

describe("fairlead restore by root, in a folder of somebody who would like more rights", () => {
  const somebody = [4_321, 4_322] as const;

  async function makeTrap() {
    const p = await makeBackup();
    chownSync(dirname(p.outbox), ...somebody);
    chownSync(p.outbox, ...somebody);
    await rm(`${p.outbox}.lock`, { force: true });
    return p;
  }

  it("makes nothing where a link leads that has the lock's name", { ...SLOW, skip: !isRoot }, async () => {
    await using p = await makeTrap();
    await symlink(p.path("of-root"), `${p.outbox}.lock`);
    const { code, err } = await p.run("restore", "--force", p.backup);
    assert.deepEqual(
      [code, err],
      [1, `fairlead: cannot lock ${p.outbox}: ${p.outbox}.lock is a symbolic link; remove it\n`],
    );
    assert.deepEqual(await p.files(), ["backup.db", "config.yaml"]);
    await rm(`${p.outbox}.lock`);
    await p.s.reopen();
  });

  it("replaces nothing that a link of theirs leads to", { ...SLOW, skip: !isRoot }, async () => {
    await using p = await makeTrap();
    await rm(p.outbox);
    await writeFile(p.path("of-root"), "precious");
    await symlink(p.path("of-root"), p.outbox);
    lchownSync(p.outbox, ...somebody);
    assert.equal((await p.run("restore", "--force", p.backup)).code, 1);
    assert.equal(await readFile(p.path("of-root"), "utf8"), "precious");
    assert.deepEqual(await p.files(), ["backup.db", "config.yaml", "of-root"]);
    await rm(p.outbox);
    await p.s.reopen();
  });

  it("makes nothing there that is not theirs", { ...SLOW, skip: !isRoot }, async () => {
    await using p = await makeTrap();
    assert.equal((await p.run("restore", "--force", p.backup)).code, 0);
    const files = await readdir(dirname(p.outbox));
    for (const name of files) {
      const { uid, gid } = statSync(`${dirname(p.outbox)}/${name}`);
      assert.deepEqual([name, uid, gid], [name, ...somebody]);
    }
    await p.s.reopen();
  });
});
