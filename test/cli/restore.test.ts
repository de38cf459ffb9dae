import assert from "node:assert/strict";
import { chownSync, lchownSync, statSync } from "node:fs";
import { copyFile, open, readdir, readFile, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { toWords } from "../../src/cli/restore.ts";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { logOf } from "../../src/store/sqlite/files.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/schema.ts";
import { makeEntry } from "../store/make.ts";
import { PID } from "../store/sqlite/start.ts";
import {
  deliveriesIn,
  filesOf,
  HAS,
  keptName,
  leaveDamagedLog,
  makeBackup,
  makePlace,
  query,
  schemaOf,
} from "./outbox.ts";
import { SLOW } from "./run.ts";

const isRoot = process.getuid?.() === 0;

describe("fairlead restore", () => {
  it("puts a backup where no outbox is, and says what is in it and what comes of that", SLOW, async () => {
    await using p = await makeBackup();
    await rm(p.outbox);
    const { code, out, err } = await p.run("restore", p.backup);
    assert.deepEqual([code, err], [0, ""]);
    const [first = "", , ...rest] = out.trimEnd().split("\n");
    assert.match(first, new RegExp(`^Restored ${p.outbox} from ${p.backup}: [\\d.]+KB, checked\\.$`));
    assert.deepEqual(rest, [
      "  deliveries  2 waiting, 1 delivered, 1 failed, 0 expired",
      `  schema      ${SCHEMA_VERSION}`,
      "2 waiting deliveries will be sent when the daemon starts, even if delivered since the backup was made. " +
        "Events accepted since the backup are not in it.",
    ]);
    assert.deepEqual(await filesOf(p), ["", ".lock"]);
    assert.equal(statSync(p.outbox).mode & 0o777, 0o600);
    await p.s.reopen();
    assert.deepEqual(await p.s.counts(), ["crm delivered: 1", "crm failed: 1", "crm waiting: 2"]);
    assert.deepEqual(await p.s.append(makeEntry({ messageId: "m1" })), ["duplicate"]);
  });

  it("puts an outbox that is there aside only when it is told to, and keeps all of it", SLOW, async () => {
    await using p = await makeBackup();
    const refused = await p.run("restore", p.backup);
    assert.equal(refused.code, 2);
    assert.equal(
      refused.err,
      `fairlead: outbox_exists: there is an outbox at ${p.outbox} with 3 waiting deliveries; ` +
        "--force keeps it under another name and replaces it\n",
    );
    assert.deepEqual(await deliveriesIn(p.outbox), p.before);
    const { code, out } = await p.run("restore", "--force", p.backup);
    assert.equal(code, 0);
    assert.deepEqual(await deliveriesIn(keptName(out)), p.before);
    assert.deepEqual(await deliveriesIn(p.outbox), await deliveriesIn(p.backup));
    assert.deepEqual(await filesOf(p), ["", ".before-restore-TIME", ".lock"]);
    await p.s.reopen();
  });

  it("keeps the damaged log of what was there as it is, and takes no copy that has one", SLOW, async () => {
    await using p = await makePlace();
    assert.equal((await p.run("backup", p.path("backup.db"))).code, 0);
    const log = await leaveDamagedLog(p);
    const { code, out } = await p.run("restore", "--force", p.path("backup.db"));
    assert.equal(code, 0);
    assert.deepEqual(await filesOf(p), ["", ".before-restore-TIME", ".before-restore-TIME-wal", ".lock"]);
    const kept = keptName(out);
    assert.match(out, /^Its log is kept as \S+-wal: .*-wal is damaged: at least \d+ commits .*\.$/m);
    assert.deepEqual(await readFile(logOf(kept)), log);
    const refused = await p.run("restore", "--force", kept);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /^fairlead: store_damaged: .* cannot be used: .*-wal is damaged: at least \d+ commits /);
    assert.deepEqual(await readFile(logOf(kept)), log);
    await p.s.reopen();
  });

  it("keeps each of the outboxes that are put aside in one second", SLOW, async () => {
    await using p = await makeBackup();
    const names = new Set<string>();
    for (let nth = 0; nth < 3; nth += 1) {
      const { code, out, err } = await p.run("restore", "--force", p.backup);
      assert.deepEqual([code, err], [0, ""]);
      names.add(keptName(out));
    }
    assert.equal(names.size, 3);
    await p.s.reopen();
  });

  it("says the same as JSON", SLOW, async () => {
    await using p = await makeBackup();
    const { out } = await p.run("restore", "--force", "--json", p.backup);
    const { kept, bytes, newestAt, ...said } = JSON.parse(out);
    assert.ok(kept.startsWith(`${p.outbox}.before-restore-`), kept);
    assert.deepEqual([typeof bytes, typeof newestAt], ["number", "string"]);
    const counts = { events: 4, deliveries: HAS, computations: 0, suppressed: 0, schema: SCHEMA_VERSION };
    assert.deepEqual(said, { file: p.outbox, from: p.backup, unfolded: null, ...counts });
    await p.s.reopen();
  });

  it("refuses while a daemon has the outbox open, and names its pid", SLOW, async () => {
    await using p = await makePlace();
    assert.equal((await p.run("backup", p.path("backup.db"))).code, 0);
    const { code, err } = await p.run("restore", "--force", p.path("backup.db"));
    assert.equal(code, 1);
    assert.match(err, new RegExp(`another Fairlead \\(pid ${PID}\\) has it open; stop that process`));
    assert.deepEqual(await p.s.append(makeEntry({ messageId: "later" })), ["accepted"]);
  });

  it(
    "takes in what a killed daemon has left in its log: none of it gets into the copy, and all of it is kept",
    SLOW,
    async () => {
      await using p = await makeBackup();
      const writer = await openDatabase(p.outbox);
      writer.exec("INSERT INTO meta VALUES ('in_the_log', 1)");
      // The files as a kill at this moment leaves them.
      for (const end of ["", "-wal"]) await copyFile(`${p.outbox}${end}`, `${p.outbox}.killed${end}`);
      writer.close();
      for (const end of ["", "-wal"]) await rename(`${p.outbox}.killed${end}`, `${p.outbox}${end}`);
      const { code, out } = await p.run("restore", "--force", p.backup);
      assert.equal(code, 0);
      const find = (path: string) =>
        query(path, (db) => db.prepare("SELECT count(*) FROM meta WHERE name = 'in_the_log'").pluck().get());
      assert.deepEqual([await find(keptName(out)), await find(p.outbox)], [1, 0]);
      assert.deepEqual(await filesOf(p), ["", ".before-restore-TIME", ".lock"]);
      await p.s.reopen();
    },
  );

  it("puts an outbox aside that cannot be read any more, with its log", SLOW, async () => {
    await using p = await makeBackup();
    await writeFile(p.outbox, "no database, and long enough that this shows".repeat(100));
    await writeFile(`${p.outbox}-wal`, "the log of something");
    const { code, out } = await p.run("restore", "--force", p.backup);
    assert.equal(code, 0);
    assert.match(await readFile(keptName(out), "utf8"), /^no database/);
    assert.equal(await readFile(`${keptName(out)}-wal`, "utf8"), "the log of something");
    assert.equal((await deliveriesIn(p.outbox)).length, 4);
    await p.s.reopen();
  });

  it("leaves everything as it is when the backup is damaged, newer, or something else", SLOW, async () => {
    await using p = await makeBackup();
    const texts: readonly (readonly [string, RegExp])[] = [
      [
        "newer.db",
        /schema_newer: .+newer\.db cannot be used: its schema is version 99, and this Fairlead knows up to \d+; restore it with the/,
      ],
      ["damaged.db", /store_damaged: .+damaged\.db cannot be used: /],
      ["other.db", /store_unknown: .+other\.db is an SQLite file, but not an outbox of Fairlead/],
      ["text.db", /store_damaged: .*file is not a database/],
    ];
    await copyFile(p.backup, p.path("newer.db"));
    await schemaOf(p.path("newer.db"), 99);
    await copyFile(p.backup, p.path("damaged.db"));
    await damage(p.path("damaged.db"));
    await query(p.path("other.db"), (db) => db.exec("CREATE TABLE recipes (name)"));
    await writeFile(p.path("text.db"), "a recipe ".repeat(1_000));
    const before = await filesOf(p);
    for (const [name, words] of texts) {
      const { code, err } = await p.run("restore", "--force", p.path(name));
      assert.equal(code, 1, name);
      assert.match(err, words);
    }
    assert.deepEqual(await deliveriesIn(p.outbox), p.before);
    assert.deepEqual(await filesOf(p), before);
    await p.s.reopen();
  });

  it("refuses what is not there, and the outbox itself", SLOW, async () => {
    await using p = await makeBackup();
    assert.match((await p.run("restore", p.path("nowhere.db"))).err, /there is no file .+nowhere\.db/);
    assert.match((await p.run("restore", p.folder)).err, /is not a file$/m);
    const { code, err } = await p.run("restore", "--force", p.outbox);
    assert.deepEqual([code, err], [2, `fairlead: ${p.outbox} is the outbox itself\n`]);
    await p.s.reopen();
  });

  it("leaves nothing where no outbox was when there is nothing to restore", SLOW, async () => {
    await using p = await makeBackup();
    await rm(p.outbox);
    await rm(`${p.outbox}.lock`);
    await writeFile(p.path("text.db"), "a recipe ".repeat(1_000));
    assert.equal((await p.run("restore", p.path("text.db"))).code, 1);
    assert.deepEqual(await filesOf(p), []);
    await p.s.reopen();
  });

  it("puts the copy where a symbolic link leads", SLOW, async () => {
    await using p = await makeBackup();
    await rename(p.outbox, p.path("elsewhere.db"));
    await symlink(p.path("elsewhere.db"), p.outbox);
    assert.equal((await p.run("restore", "--force", p.backup)).code, 0);
    assert.deepEqual(await deliveriesIn(p.path("elsewhere.db")), await deliveriesIn(p.backup));
    assert.equal(await readlink(p.outbox), p.path("elsewhere.db"));
    await p.s.reopen();
  });

  it("by root gives the outbox and its lock to their folder's owner", { ...SLOW, skip: !isRoot }, async () => {
    await using p = await makeBackup();
    await rm(p.outbox);
    await rm(`${p.outbox}.lock`);
    chownSync(dirname(p.outbox), 4_321, 4_322);
    assert.equal((await p.run("restore", p.backup)).code, 0);
    for (const path of [p.outbox, `${p.outbox}.lock`]) {
      const { uid, gid } = statSync(path);
      assert.deepEqual([uid, gid], [4_321, 4_322]);
    }
    await p.s.reopen();
  });
});

describe("what fairlead restore says", () => {
  const contents = { schema: 6, events: 3, newestAt: null, computations: 2, suppressed: 1 };
  const about = { outbox: "o.db", from: "b.db", now: 0 };

  it("names audiences, suppressed users and what is kept", () => {
    const deliveries = { waiting: 1, delivered: 2, failed: 0, expired: 0 };
    const words = toWords(
      { bytes: 1_024, contents: { ...contents, deliveries }, kept: "o.db.before", unfolded: null },
      about,
    );
    assert.deepEqual(words.split("\n"), [
      "Restored o.db from b.db: 1KB, checked.",
      "  events      3",
      "  deliveries  1 waiting, 2 delivered, 0 failed, 0 expired",
      "  audiences and traits  2",
      "  suppressed users  1",
      "  schema      6",
      "1 waiting delivery will be sent when the daemon starts, even if delivered since the backup was made. " +
        "Events accepted since the backup are not in it.",
      "The previous outbox is kept as o.db.before.",
    ]);
  });

  it("says so when nothing waits", () => {
    const deliveries = { waiting: 0, delivered: 2, failed: 0, expired: 0 };
    const words = toWords({ bytes: 1, contents: { ...contents, deliveries }, kept: null, unfolded: null }, about);
    assert.match(words, /^It has no waiting deliveries\. Events accepted since the backup are not in it\.$/m);
  });
});

/** Overwrites the middle of the file. */
async function damage(path: string): Promise<void> {
  const file = await open(path, "r+");
  const { size } = await file.stat();
  await file.write(Buffer.alloc(16_384, 0xff), 0, 16_384, Math.floor(size / 8_192) * 4_096);
  await file.close();
}

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
