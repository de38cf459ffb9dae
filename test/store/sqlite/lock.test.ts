import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../../../src/store/sqlite/driver.ts";
import { lockOutbox } from "../../../src/store/sqlite/files.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { AMPLE, createFalseReport, startStore } from "../harness.ts";
import { makeEntry } from "../make.ts";
import { openSqlite, PID } from "./start.ts";

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
        "stop that one, or set another outbox.path",
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
