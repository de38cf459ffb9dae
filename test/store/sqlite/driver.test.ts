import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { isDiskFailure, openDatabase } from "../../../src/store/sqlite/driver.ts";

describe("the driver", () => {
  it("opens a file, and makes it if there is none", async () => {
    const folder = await mkdtemp(join(tmpdir(), "fairlead-driver-"));
    const db = await openDatabase(join(folder, "a.db"));
    db.exec("CREATE TABLE t (a TEXT) STRICT; INSERT INTO t VALUES ('x')");
    db.close();
    const again = await openDatabase(join(folder, "a.db"));
    assert.deepEqual(again.prepare("SELECT a FROM t").all(), [{ a: "x" }]);
    again.close();
    await rm(folder, { recursive: true });
  });

  it("gives text back as it was, with NUL and characters of any plane; half of one becomes a replacement", async () => {
    const db = await openDatabase(":memory:");
    const echo = db.prepare<[string], string>("SELECT ?").pluck();
    for (const text of ["", "a\0b", "\0", "\u2028", "ü🙂\u{10ffff}"]) assert.equal(echo.get(text), text);
    assert.equal(echo.get("a\ud800b"), "a\ufffdb");
    db.close();
  });

  it("says which file it could not open, why, and what to do", async () => {
    const folder = await mkdtemp(join(tmpdir(), "fairlead-driver-"));
    const remedy = "its folder must exist, and this user must be allowed to write there";
    await assert.rejects(openDatabase(`${folder}/none/a.db`), {
      message: `cannot open ${folder}/none/a.db: Cannot open database because the directory does not exist; ${remedy}`,
    });
    await assert.rejects(openDatabase(folder), {
      message: `cannot open ${folder}: unable to open database file; ${remedy}`,
    });
    await rm(folder, { recursive: true });
  });

  it("says what to do when its native part cannot be loaded", () => {
    const { stdout, status } = runWithoutDriver();
    assert.equal(status, 0);
    assert.match(stdout, /^cannot load SQLite for linux-riscv64: .+; install the packages again \(make install\)\n$/);
  });
});

/** In a process of its own: a driver that is loaded once stays loaded. */
function runWithoutDriver(): { readonly stdout: string; readonly status: number | null } {
  const script = fileURLToPath(new URL("../../fixtures/open-without-driver.ts", import.meta.url));
  const args = typeof Bun === "undefined" ? ["run", "-A", "--no-check", script] : [script];
  return spawnSync(process.execPath, args, { encoding: "utf8" });
}

describe("an error of the disk", () => {
  it("is told from one of a row, and from a file that somebody else has", async () => {
    const db = await openDatabase(":memory:");
    db.exec("CREATE TABLE texts (text TEXT UNIQUE)");
    db.pragma("max_page_count = 8");
    const insert = db.prepare<[string]>("INSERT INTO texts VALUES (?)");
    insert.run("twice");
    const errors = [() => insert.run("x".repeat(100_000)), () => insert.run("twice")].map(thrownBy);
    assert.deepEqual(errors.map(isDiskFailure), [true, false]);
    db.close();
    for (const code of ["SQLITE_IOERR_WRITE", "SQLITE_IOERR"])
      assert.ok(isDiskFailure(Object.assign(new Error(), { code })));
    assert.equal(isDiskFailure(Object.assign(new Error(), { code: "SQLITE_BUSY" })), false);
    assert.equal(isDiskFailure("SQLITE_FULL"), false);
  });
});

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return assert.fail("nothing was thrown");
}
