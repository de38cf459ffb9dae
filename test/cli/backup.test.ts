import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { copyFile, link, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { backUp } from "../../src/cli/backup.ts";
import { formatTime, GB, MB } from "../../src/model/units.ts";
import { beginFile } from "../../src/runtime/new-file.ts";
import { type Database, openDatabase } from "../../src/store/sqlite/driver.ts";
import { logOf } from "../../src/store/sqlite/files.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/schema.ts";
import { noise } from "../model/make.ts";
import { makeEntry } from "../store/make.ts";
import { deliveriesIn, HAS, leaveDamagedLog, makePlace, type Place, query, schemaOf } from "./outbox.ts";
import { SLOW } from "./run.ts";

/** The same without its process. */
function backUpIn(p: Place, more: Partial<Parameters<typeof backUp>[0]> = {}): ReturnType<typeof backUp> {
  const target = p.path("copy.db");
  const outbox = { path: p.outbox, postgres: null, maxSize: GB, freeDisk: 0, keepDelivered: 0, keepFailed: 0 };
  const world = {
    holder: null,
    begin: () => beginFile(target),
    stepped() {},
    checking() {},
    signal: new AbortController().signal,
  };
  return backUp({ outbox, target, ...world, ...more });
}

describe("fairlead backup", () => {
  it(
    "copies the outbox of a daemon that runs into one file, for its owner only, and says what is in it",
    SLOW,
    async () => {
      await using p = await makePlace();
      const { code, out, err } = await p.run("backup", p.path("copy.db"));
      assert.deepEqual([code, err], [0, ""]);
      const [first, ...rest] = out.trimEnd().split("\n");
      assert.match(
        first ?? "",
        new RegExp(`^Copied ${p.outbox} to ${p.path("copy.db")}: [\\d.]+KB in \\S+; the copy is checked\\.$`),
      );
      assert.match(rest[0] ?? "", /^ {2}events {6}4, the newest from 2026-11-20T12:00:00\.000Z \(.+\)$/);
      assert.deepEqual(rest.slice(1), [
        "  deliveries  2 waiting, 1 delivered, 1 failed, 0 expired",
        `  schema      ${SCHEMA_VERSION}`,
      ]);
      assert.equal(statSync(p.path("copy.db")).mode & 0o777, 0o600);
      assert.deepEqual(await p.files(), ["config.yaml", "copy.db"]);
      assert.deepEqual(await deliveriesIn(p.path("copy.db")), await deliveriesIn(p.outbox));
      assert.deepEqual(await p.s.append(makeEntry({ messageId: "later" })), ["accepted"]);
    },
  );

  it("says the same as JSON", SLOW, async () => {
    await using p = await makePlace();
    const { out } = await p.run("backup", p.path("copy.db"), "--json");
    const { bytes, tookMs, ...said } = JSON.parse(out);
    assert.equal(bytes, statSync(p.path("copy.db")).size);
    assert.equal(typeof tookMs, "number");
    const paths = { file: p.path("copy.db"), from: p.outbox };
    const counts = { events: 4, deliveries: HAS, computations: 0, suppressed: 0 };
    assert.deepEqual(said, { ...paths, schema: SCHEMA_VERSION, ...counts, newestAt: formatTime(p.s.clock.now()) });
  });

  it("works when no daemon runs, and after one was killed", SLOW, async () => {
    await using p = await makePlace();
    await p.s.store().close();
    assert.equal((await p.run("backup", p.path("copy.db"))).code, 0);
    assert.equal((await deliveriesIn(p.path("copy.db"))).length, 4);
    await p.s.reopen();
  });

  it("leaves the log of a killed daemon to its next start, which says if it is damaged", SLOW, async () => {
    await using p = await makePlace();
    await p.s.store().close();
    const writer = await openDatabase(p.outbox);
    writer.exec("INSERT INTO meta VALUES ('in_the_log', 1)");
    for (const end of ["", "-wal"]) await copyFile(`${p.outbox}${end}`, `${p.path("killed.db")}${end}`);
    writer.close();
    for (const end of ["", "-wal"]) await copyFile(`${p.path("killed.db")}${end}`, `${p.outbox}${end}`);
    for (const command of [["backup", p.path("copy.db")], ["doctor"]]) {
      await p.run(...command);
      for (const end of ["", "-wal"]) {
        assert.deepEqual(await readFile(`${p.outbox}${end}`), await readFile(`${p.path("killed.db")}${end}`));
      }
    }
    const find = (db: Database) => db.prepare("SELECT count(*) FROM meta WHERE name = 'in_the_log'").pluck().get();
    assert.equal(await query(p.path("copy.db"), find), 1);
    await p.s.reopen();
  });

  it("keeps a file that is there, unless it is told to replace it", SLOW, async () => {
    await using p = await makePlace();
    await writeFile(p.path("copy.db"), "something dear");
    const refused = await p.run("backup", p.path("copy.db"));
    assert.equal(refused.code, 2);
    assert.equal(
      refused.err,
      `fairlead: file_exists: ${p.path("copy.db")} exists already; name another file, or replace it with --force\n`,
    );
    assert.equal((await p.run("backup", "--force", p.path("copy.db"))).code, 0);
    assert.equal((await deliveriesIn(p.path("copy.db"))).length, 4);
  });

  it("never writes over the outbox, its log or its lock, by whatever name, also when it is told to", SLOW, async () => {
    await using p = await makePlace();
    await link(p.outbox, p.path("another-name.db"));
    for (const own of [p.outbox, `${p.outbox}-wal`, `${p.outbox}.lock`, p.path("another-name.db")]) {
      const { code, err } = await p.run("backup", "--force", own);
      assert.deepEqual([code, err], [2, `fairlead: ${own} is the outbox itself; name another file\n`]);
    }
    assert.equal((await deliveriesIn(p.outbox)).length, 4);
  });

  it("says what is wrong with a place that it cannot write to", SLOW, async () => {
    await using p = await makePlace();
    await mkdir(p.path("folder"));
    const places: readonly (readonly [string, string])[] = [
      [p.path("folder"), "is a folder; name a file in it"],
      // A link to it, so that nothing but that would be replaced.
      [p.path("device"), "is a device or a pipe; a copy must be a file"],
      [p.path("nowhere/copy.db"), `there is no folder ${p.path("nowhere")}`],
    ];
    await symlink("/dev/null", p.path("device"));
    for (const [place, words] of places) {
      const { code, err } = await p.run("backup", "--force", place);
      assert.equal(code, 2);
      assert.ok(err.includes(words), err);
    }
  });

  it(
    "makes no copy without the commits behind a damaged place of the log, and says how to keep them",
    SLOW,
    async () => {
      await using p = await makePlace();
      const log = await leaveDamagedLog(p);
      const { code, err } = await p.run("backup", p.path("copy.db"));
      assert.equal(code, 1);
      assert.match(
        err,
        /^fairlead: store_damaged: .*-wal is damaged: at least \d+ commits .* copy the outbox and its -wal /,
      );
      assert.deepEqual(await p.files(), ["config.yaml"]);
      assert.deepEqual(await readFile(logOf(p.outbox)), log);
      await p.s.reopen();
    },
  );

  it("leaves to the daemon what outbox.freeDisk keeps for it", SLOW, async () => {
    await using p = await makePlace("  freeDisk: 100TB\n");
    const { code, err } = await p.run("backup", p.path("copy.db"));
    assert.equal(code, 1);
    assert.match(
      err,
      /^fairlead: no_room: the copy needs [\d.]+KB, but \S+ are free in .+, of which 100TB are reserved for the daemon/,
    );
    assert.deepEqual(await p.files(), ["config.yaml"]);
  });

  it("refuses what is no outbox, and one of a newer version", SLOW, async () => {
    await using p = await makePlace();
    await p.s.store().close();
    await schemaOf(p.outbox, 99);
    const newer = await p.run("backup", p.path("copy.db"));
    assert.equal(newer.code, 1);
    assert.match(
      newer.err,
      /schema_newer: the copy cannot be used: its schema is version 99, and this Fairlead knows up to /,
    );
    await schemaOf(p.outbox, SCHEMA_VERSION);
    await query(p.outbox, (db) => db.exec("DROP TABLE counts"));
    const other = await p.run("backup", p.path("copy.db"));
    assert.match(
      other.err,
      /store_unknown: the copy cannot be used: it is an SQLite file, but not an outbox of Fairlead/,
    );
    await rm(p.outbox);
    assert.match((await p.run("backup", p.path("copy.db"))).err, /there is no outbox at /);
    assert.deepEqual(await p.files(), ["config.yaml"]);
    await p.s.reopen();
  });
});

describe("a copy of the outbox", () => {
  it("is of one moment, however much comes in while it is made", SLOW, async () => {
    await using p = await makePlace();
    const large = (n: number) => makeEntry({ messageId: `large-${n}`, body: noise(300_000, n) });
    for (let n = 0; n < 60; n += 1) await p.s.append(large(n));
    const before = await deliveriesIn(p.outbox);
    let steps = 0;
    const result = await backUpIn(p, {
      stepped({ done, total }) {
        steps += 1;
        assert.ok(done <= total);
        // In another connection, as the daemon's.
        void p.s.append(makeEntry({ messageId: `meanwhile-${steps}` }));
      },
    });
    assert.ok("bytes" in result, JSON.stringify(result));
    assert.ok(steps >= 3, `${steps} steps`);
    assert.deepEqual(await deliveriesIn(p.path("copy.db")), before);
    assert.ok((await deliveriesIn(p.outbox)).length > before.length);
  });

  it("is given up before the log that it holds up gets too long, and nothing of it is left", SLOW, async () => {
    await using p = await makePlace();
    const tooMuch = { path: p.outbox, postgres: null, maxSize: MB, freeDisk: 0, keepDelivered: 0, keepFailed: 0 };
    for (let n = 0; n < 30; n += 1) await p.s.append(makeEntry({ messageId: `large-${n}`, body: noise(300_000, n) }));
    const writer = await openDatabase(p.outbox);
    const write = writer.prepare<[Buffer]>("INSERT OR REPLACE INTO seen VALUES (1, 1, ?)");
    const result = await backUpIn(p, {
      outbox: tooMuch,
      stepped() {
        for (let n = 0; n < 21; n += 1) write.run(Buffer.alloc(4 * MB, n));
      },
    });
    writer.close();
    assert.match("message" in result ? result.message : "", /log_too_long: the daemon's write-ahead log has grown to /);
    assert.deepEqual(await p.files(), ["config.yaml"]);
  });

  it("that is interrupted leaves nothing", async () => {
    await using p = await makePlace();
    const result = await backUpIn(p, { signal: AbortSignal.abort() });
    assert.match("message" in result ? result.message : "", /interrupted; nothing was written$/);
    assert.deepEqual(await p.files(), ["config.yaml"]);
  });

  it("gets no name if the outbox is damaged, and says where", async () => {
    await using p = await makePlace();
    await p.s.store().close();
    await leaveOutOfIndex(p.outbox);
    const result = await backUpIn(p);
    assert.match("message" in result ? result.message : "", /store_damaged: the copy cannot be used: /);
    assert.deepEqual(await p.files(), ["config.yaml"]);
    await p.s.reopen();
  });
});

/** Damages it as a bad disk might, so that only a full check finds it: an index does not have all rows of its table. */
async function leaveOutOfIndex(path: string): Promise<void> {
  const edit = (sql: string) =>
    query(path, (db) => {
      db.unsafeMode();
      db.pragma("writable_schema = ON");
      db.exec(sql);
    });
  await edit(`CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'tried_due';
    DELETE FROM main.sqlite_schema WHERE name = 'tried_due';
    CREATE TABLE kept_schema AS SELECT * FROM kept`);
  await query(path, (db) => db.exec("UPDATE tried SET due_at = due_at + 1 WHERE state = 'waiting'"));
  await edit("INSERT INTO main.sqlite_schema SELECT * FROM kept_schema; DROP TABLE kept_schema");
}
