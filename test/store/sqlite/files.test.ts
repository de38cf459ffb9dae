import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { Disk } from "../../../src/model/disk.ts";
import type { Entry } from "../../../src/model/ports.ts";
import { GB, KB, MB } from "../../../src/model/units.ts";
import { type Database, openDatabase } from "../../../src/store/sqlite/driver.ts";
import { LARGEST_LOG, lockOutbox, logOf, openOutbox } from "../../../src/store/sqlite/files.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/schema.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { SCRATCH } from "../../scratch.ts";
import { SLOW } from "../../slow.ts";
import { AMPLE, createFalseReport, startStore } from "../harness.ts";
import { delivered, expired, makeEntry, makeLargeEntries } from "../make.ts";
import { openSqlite, PID, startOutbox, type TestOutbox } from "./start.ts";

async function makePlace(): Promise<AsyncDisposable & { readonly folder: string; readonly path: string }> {
  const folder = await mkdtemp(join(SCRATCH, "fairlead-outbox-"));
  return { folder, path: join(folder, "fairlead.db"), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

function settings(db: Database): Readonly<Record<string, unknown>> {
  const names = ["auto_vacuum", "journal_mode", "synchronous", "busy_timeout", "journal_size_limit"];
  return Object.fromEntries(names.map((name) => [name, db.pragma(name, { simple: true })]));
}

const FULL = 2;
const INCREMENTAL = 2;

describe("the outbox's file", () => {
  it("is opened so that a commit is on the disk, and that what is pruned can be given back", async () => {
    await using place = await makePlace();
    for (const opening of ["new", "there already"]) {
      const db = await openOutbox(place.path);
      assert.deepEqual(
        settings(db),
        {
          ...{ auto_vacuum: INCREMENTAL, journal_mode: "wal", synchronous: FULL },
          // A daemon that stands still for longer answers nobody; and the log of a burst does not stay on the disk.
          ...{ busy_timeout: 200, journal_size_limit: 67_108_864 },
        },
        opening,
      );
      db.close();
    }
  });

  it("is refused when a newer Fairlead has written it, each time", async () => {
    await using place = await makePlace();
    const newer = await openOutbox(place.path);
    newer.pragma("user_version = 99");
    newer.close();
    await assert.rejects(open(place.path), {
      message:
        `cannot open outbox ${place.path}: its schema is version 99, and this Fairlead knows up to ${SCHEMA_VERSION}; ` +
        "use the newer Fairlead that wrote it, or a backup from before the upgrade",
    });
    // A second time: the first has let go of the lock, and of the file and its log.
    await assert.rejects(open(place.path), /its schema is version 99/);
    assert.deepEqual((await readdir(place.folder)).sort(), ["fairlead.db", "fairlead.db.lock"]);
  });

  it("is refused when it is something else", async () => {
    await using place = await makePlace();
    await writeFile(place.path, "outbox:\n  path: fairlead.db\n".repeat(100));
    await assert.rejects(open(place.path), {
      message:
        `cannot open outbox ${place.path}: file is not a database; it is no SQLite file, or its header is damaged: ` +
        "restore a backup, or set another outbox.path",
    });
  });

  it("is refused with its path and what to do when a page that is read at the start is damaged", async () => {
    await using place = await makePlace();
    const db = await openOutbox(place.path);
    const root = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'counts'").pluck().get());
    db.close();
    const file = await readFile(place.path);
    file.fill(0xff, (root - 1) * 4_096, root * 4_096);
    await writeFile(place.path, file);
    const refusal =
      /^Error: cannot open outbox .*fairlead\.db: database disk image is malformed; the file is damaged: stop/;
    await assert.rejects(open(place.path), refusal);
  });

  it("is refused when its folder is not there", async () => {
    await assert.rejects(open("/nowhere/at/all/fairlead.db"), /^Error: cannot open \/nowhere\/at\/all\/fairlead\.db/);
  });
});

function open(path: string): Promise<unknown> {
  const world = { clock: createFalseClock(), report: createFalseReport([]) };
  return openStore({ path, ...AMPLE, pid: 1, ...world });
}

async function makeFolder(): Promise<AsyncDisposable & { readonly folder: string; readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-lock-"));
  const path = join(folder, "fairlead.db");
  return { folder, path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

describe("the lock of the outbox", () => {
  it("refuses a second daemon, and names the first one's pid", async () => {
    await using s = await startStore(openSqlite);
    const place = { ...AMPLE, crowded() {}, moved() {}, withdrawn() {}, clock: s.clock, report: createFalseReport([]) };
    const path = join(s.folder, "fairlead.db");
    await assert.rejects(openSqlite({ ...place, folder: s.folder }), {
      message:
        `cannot open outbox ${path}: another Fairlead (pid ${PID}) has it open; ` +
        "stop that process, or set another outbox.path",
    });
    assert.deepEqual(await s.append(makeEntry()), ["accepted"]);
  });

  it("is free again when the first one has let go of it", async () => {
    await using f = await makeFolder();
    const first = await lockOutbox(f.path, 1);
    await assert.rejects(lockOutbox(f.path, 2), /\(pid 1\)/);
    first.release();
    const second = await lockOutbox(f.path, 2);
    await assert.rejects(lockOutbox(f.path, 3), /\(pid 2\)/);
    second.release();
  });

  it("holds one file, not the folder", async () => {
    await using f = await makeFolder();
    const first = await lockOutbox(f.path, 1);
    const second = await lockOutbox(join(f.folder, "another.db"), 2);
    first.release();
    second.release();
  });

  it("holds the file also for those who come through a symbolic link", async () => {
    await using f = await makeFolder();
    await writeFile(f.path, "");
    const link = join(f.folder, "link.db");
    await symlink(f.path, link);
    const first = await lockOutbox(f.path, 1);
    await assert.rejects(lockOutbox(link, 2), /\(pid 1\)/);
    first.release();
  });

  it("leaves the pid out when it cannot be read", async () => {
    await using f = await makeFolder();
    const other = await openDatabase(`${f.path}.lock`);
    other.exec("CREATE TABLE holder (pid INTEGER NOT NULL); BEGIN EXCLUSIVE");
    await assert.rejects(lockOutbox(f.path, 1), /: another Fairlead has it open; /);
    other.close();
  });

  it("says why, when it is no lock file", async () => {
    await using f = await makeFolder();
    await writeFile(`${f.path}.lock`, "something else, long enough to be looked at as a header".repeat(20));
    await assert.rejects(lockOutbox(f.path, 1), {
      message: `cannot lock outbox ${f.path}: file is not a database; remove ${f.path}.lock`,
    });
  });

  it("holds against another process, and is free as soon as that one is killed", async () => {
    await using f = await makeFolder();
    const child = await holdIn(f.folder);
    const place = { folder: f.folder, ...AMPLE, crowded() {}, moved() {}, withdrawn() {}, clock: createFalseClock() };
    const open = () => openSqlite({ ...place, report: createFalseReport([]) });
    try {
      await assert.rejects(open(), new RegExp(`another Fairlead \\(pid ${PID}\\) has it open`));
    } finally {
      await kill(child);
    }
    const store = await open();
    assert.deepEqual(await store.append([makeEntry()]), [{ kind: "duplicate" }]);
    await store.close();
  });
});

/** A process that has the store of this folder open. */
async function holdIn(folder: string): Promise<ChildProcess> {
  const script = fileURLToPath(new URL("../../fixtures/hold-outbox.ts", import.meta.url));
  const args = typeof Bun === "undefined" ? ["run", "-A", "--no-check", script] : [script];
  const child = spawn(process.execPath, [...args, folder], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  assert.equal(line, "holding");
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  assert.ok(child.pid);
  process.kill(child.pid, "SIGKILL");
  await exited;
}

// How much of the disk the outbox takes: the sizes of its real files.

const BODY = 48 * KB;
/** What a step may write before the log begins anew: 1,000 pages, and the last commit. */
const USUAL_LOG = 12 * MB;

async function size(path: string): Promise<number> {
  return (await stat(path)).size;
}

/** So many, in commits of 20. */
async function append(o: TestOutbox, count: number, from = 0): Promise<readonly string[]> {
  const kinds: string[] = [];
  for (let n = 0; n < count; n += 20) {
    const entries: readonly Entry[] = makeLargeEntries(20, BODY, { ownId: true });
    kinds.push(...(await o.s.append(...entries.map((one) => ({ ...one, source: `s${from + n}` })))));
  }
  return kinds;
}

async function settleAll(o: TestOutbox, end = delivered): Promise<void> {
  for (let waiting = await o.s.read(); waiting.length > 0; waiting = await o.s.read()) {
    await Promise.all(waiting.map((one) => o.s.store().settle(one, end(one, o.s.clock.now()))));
  }
}

describe("the write-ahead log", () => {
  it("does not grow with the backlog", SLOW, async () => {
    await using o = await startOutbox();
    await append(o, 700);
    assert.ok((await size(o.path)) > 20 * MB);
    assert.ok((await size(logOf(o.path))) < USUAL_LOG, `${await size(logOf(o.path))} bytes`);
    await settleAll(o);
    for (let more = true; more; ) {
      const all = o.s.clock.now() + 1;
      more = (await o.s.store().prune({ delivered: all, failed: all, seen: all }, 500)) !== null;
    }
    assert.ok((await size(logOf(o.path))) < LARGEST_LOG, `${await size(logOf(o.path))} bytes`);
    assert.ok((await size(o.path)) < 2 * MB, `${await size(o.path)} bytes`);
  });

  it("grows while another program reads, no further than maxSize, and is short again afterwards", SLOW, async () => {
    const disk: Disk = {
      space: async () => ({ free: 100 * GB, total: 100 * GB }),
      // At once: the false clock does not wait for the machine.
      size: async (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0,
      read: async () => new Uint8Array(),
      mark: AMPLE.disk.mark,
      alias: AMPLE.disk.alias,
    };
    await using o = await startOutbox((place) => openSqlite({ ...place, disk }));
    const { s } = o;
    s.setMaxSize(150 * MB);
    o.shell.exec("BEGIN; SELECT count(*) FROM segments");
    let kinds: readonly string[] = [];
    for (let n = 0; n < 40 && !kinds.includes("store_full"); n += 1) {
      kinds = await append(o, 100, n);
      await s.clock.advance("5s");
    }
    assert.ok(kinds.includes("store_full"), "it was full at last");
    const [log, file] = [await size(logOf(o.path)), await size(o.path)];
    assert.ok(log > LARGEST_LOG && log + file < 170 * MB, `${log} and ${file} bytes`);
    assert.equal((await s.store().health.state()).full, "maxSize");

    o.shell.exec("COMMIT");
    // One commit has all of it written to the file, and the next begins it anew.
    for (let n = 0; n < 2; n += 1) {
      await s.clock.advance("1s");
      await s.store().health.probe();
    }
    await s.clock.advance("5s");
    assert.ok((await size(logOf(o.path))) <= LARGEST_LOG);
    assert.equal((await s.store().health.state()).full, null);
    assert.deepEqual(new Set(await append(o, 20)), new Set(["accepted"]));
    assert.deepEqual(
      s.told.map(({ what }) => what).filter((what) => /^store(Full|Open)$/.test(what)),
      ["storeFull", "storeOpen"],
    );
  });
});

describe("the outbox's file", () => {
  it("gets short again in small steps, however much each of them removes", SLOW, async () => {
    await using o = await startOutbox();
    await append(o, 500);
    await settleAll(o, expired);
    const before = await size(o.path);
    assert.ok(before > 20 * MB);
    const all = o.s.clock.now() + 1;
    let steps = 0;
    for (; (await o.s.store().prune({ delivered: all, failed: all, seen: 0 }, 500)) !== null; steps += 1) {}
    // Two megabytes a step, and not all of it in the one that removed the last row.
    assert.ok(steps > before / (3 * MB), `${steps} steps`);
    const after = await size(o.path);
    assert.ok(after < 2 * MB, `${after} of ${before} bytes are left`);
  });

  it("keeps a little room, as what comes next would only make it grow again", async () => {
    await using o = await startOutbox();
    await append(o, 20);
    await settleAll(o);
    const all = o.s.clock.now() + 1;
    for (let more = true; more; )
      more = (await o.s.store().prune({ delivered: all, failed: 0, seen: 0 }, 500)) !== null;
    const free = Number(o.shell.pragma("freelist_count", { simple: true }));
    assert.ok(free > 100 && free <= 256, `${free} pages`);
  });
});
