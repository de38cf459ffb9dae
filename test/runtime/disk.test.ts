import assert from "node:assert/strict";
import { statfsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { disk, spaceFor } from "../../src/runtime/disk.ts";
import { makeFolder } from "../folder.ts";

/** What others write to the disk while the test runs. */
const NOISE = 1e9;

describe("the disk", () => {
  it("says what is free for this user, and how large it is, of a folder and of a file", async () => {
    using f = makeFolder();
    const file = f.path("fairlead.db");
    await writeFile(file, "x");
    const { bavail, blocks, bsize } = statfsSync(f.folder);
    for (const path of [f.folder, file]) {
      const { free, total } = await disk.space(path);
      assert.equal(total, blocks * bsize);
      assert.ok(Math.abs(free - bavail * bsize) < NOISE && free > 0 && free <= total);
    }
  });

  it("cannot say it of what is not there", async () => {
    await assert.rejects(disk.space("/nowhere/fairlead.db"), /ENOENT/);
  });

  it("says how long a file is, and that one that is not there has nothing", async () => {
    using f = makeFolder();
    const file = f.path("fairlead.db-wal");
    assert.equal(await disk.size(file), 0);
    await writeFile(file, "12345");
    assert.equal(await disk.size(file), 5);
    await assert.rejects(disk.size(join(file, "below-a-file")), /ENOTDIR/);
  });
});

describe("the disk that an outbox is on", () => {
  it("is that of the nearest folder while nothing is there yet", async () => {
    using f = makeFolder();
    const { blocks, bsize } = statfsSync(f.folder);
    const found = spaceFor(f.path("not/yet/fairlead.db"));
    assert.deepEqual([found?.total, found?.used], [blocks * bsize, 0]);
  });

  it("has what the outbox and its log have already", async () => {
    using f = makeFolder();
    const path = f.path("fairlead.db");
    await writeFile(path, "x".repeat(1_000));
    await writeFile(`${path}-wal`, "x".repeat(200));
    await writeFile(`${path}-shm`, "x".repeat(30));
    assert.equal(spaceFor(path)?.used, 1_230);
  });

  it("is unknown where a part of the path is a file", async () => {
    using f = makeFolder();
    const file = f.path("file");
    await writeFile(file, "");
    assert.equal(spaceFor(join(file, "fairlead.db")), null);
  });
});
