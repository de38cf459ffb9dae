import assert from "node:assert/strict";
import { chmodSync, existsSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { describe, it } from "node:test";
import {
  accessTo,
  actAs,
  isInOpenFolders,
  keepAs,
  namesIn,
  realPathOf,
  storedFile,
} from "../../src/runtime/stored-file.ts";
import { NO_OTHER_USER } from "../another-user.ts";
import { makeFolder } from "../folder.ts";

describe("what is at a path", () => {
  it("is one file by all of its names, and nothing where there is none", async () => {
    using f = makeFolder();
    writeFileSync(f.path("a"), "text", { mode: 0o640 });
    linkSync(f.path("a"), f.path("b"));
    writeFileSync(f.path("c"), "text");
    const [a, b, c] = ["a", "b", "c"].map((name) => storedFile(f.path(name)));
    assert.deepEqual([a?.kind, a?.size, a?.mode], ["file", 4, 0o640]);
    assert.equal(a?.identity, b?.identity);
    assert.notEqual(a?.identity, c?.identity);
    assert.equal(a?.device, c?.device);
    assert.equal(storedFile(f.folder)?.kind, "folder");
    assert.equal(storedFile(f.path("none")), null);
    assert.deepEqual([accessTo(f.path("a")), accessTo(f.path("none"))], ["granted", "missing"]);
    assert.deepEqual([namesIn(f.folder).length, namesIn(f.path("none"))], [3, []]);
  });

  it("is where its links lead, also before it is made", async () => {
    using f = makeFolder();
    mkdirSync(f.path("data"));
    symlinkSync(f.path("data"), f.path("link"));
    assert.equal(realPathOf(f.path("link/new.db")), f.path("data/new.db"));
    symlinkSync(f.path("gone"), f.path("broken"));
    assert.throws(() => realPathOf(f.path("broken")));
  });

  it("is closed to others where one folder above it is", async () => {
    using f = makeFolder();
    mkdirSync(f.path("in"));
    writeFileSync(f.path("in/a"), "");
    chmodSync(f.path("in"), 0o755);
    assert.equal(isInOpenFolders(f.path("in/a")), false);
    chmodSync(f.folder, 0o755);
    // As far as the folder of temporary files is open itself.
    assert.equal(isInOpenFolders(f.path("in/a")), isInOpenFolders(f.folder));
  });

  it("gets another name, but none that is taken", async () => {
    using f = makeFolder();
    writeFileSync(f.path("a"), "a");
    writeFileSync(f.path("b"), "b");
    keepAs(f.path("a"), f.path("kept"));
    assert.equal(await readFile(f.path("kept"), "utf8"), "a");
    assert.throws(() => keepAs(f.path("a"), f.path("b")), /EEXIST/);
    assert.equal(await readFile(f.path("b"), "utf8"), "b");
  });
});

const SOMEBODY = { uid: 4_321, gid: 4_322 };

describe("what root does as somebody", () => {
  const skip = NO_OTHER_USER;

  it("is theirs, and goes no further than they may, until it is done", { skip }, async () => {
    using f = makeFolder();
    chmodSync(f.folder, 0o777);
    mkdirSync(f.path("of-root"), { mode: 0o700 });
    const done = actAs(SOMEBODY, async () => {
      writeFileSync(f.path("theirs"), "text");
      await Promise.resolve();
      writeFileSync(f.path("of-root/file"), "text");
    });
    await assert.rejects(done, { code: "EACCES" });
    assert.equal(existsSync(f.path("of-root/file")), false);
    const { uid, gid } = statSync(f.path("theirs"));
    assert.deepEqual({ uid, gid }, SOMEBODY);
    writeFileSync(f.path("of-root/file"), "text");
    const now = statSync(f.path("of-root/file"));
    assert.deepEqual([now.uid, now.gid], [0, process.getgid?.()]);
  });

  it("is root's own if root is who it is for", { skip }, async () => {
    using f = makeFolder();
    await actAs({ uid: 0, gid: 0 }, async () => writeFileSync(f.path("file"), "text"));
    assert.equal(statSync(f.path("file")).uid, 0);
  });
});
