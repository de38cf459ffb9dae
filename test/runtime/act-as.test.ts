import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { actAs } from "../../src/runtime/stored-file.ts";

const SOMEBODY = { uid: 4_321, gid: 4_322 };

async function makeFolder() {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-act-as-"));
  return { path: (name = "") => join(folder, name), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

describe("what root does as somebody", () => {
  const skip = process.getuid?.() !== 0;

  it("is theirs, and goes no further than they may, until it is done", { skip }, async () => {
    await using f = await makeFolder();
    chmodSync(f.path(), 0o777);
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
    await using f = await makeFolder();
    await actAs({ uid: 0, gid: 0 }, async () => writeFileSync(f.path("file"), "text"));
    assert.equal(statSync(f.path("file")).uid, 0);
  });
});
