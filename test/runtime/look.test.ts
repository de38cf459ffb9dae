import assert from "node:assert/strict";
import { chmod, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { look, lookNow } from "../../src/runtime/config-files.ts";

/** Runs with a file in a folder that goes when it ends. */
async function withFile(run: (file: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-look-"));
  try {
    const file = join(folder, "config.yaml");
    await writeFile(file, "a");
    await run(file, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Whether both ways to look see that something is done. */
async function sees(file: string, doing: () => Promise<unknown>): Promise<boolean> {
  const before = await look(file);
  assert.equal(lookNow(file), before);
  await doing();
  const after = await look(file);
  assert.equal(lookNow(file), after);
  return after !== before;
}

describe("the state of a file", () => {
  it("stays the same while nothing is done to it", async () => {
    await withFile(async (file) => assert.ok(!(await sees(file, () => look(file)))));
  });

  it("is another when it is written, replaced, removed and made again, or opened to somebody", async () => {
    await withFile(async (file, folder) => {
      assert.ok(await sees(file, () => writeFile(file, "bb")));
      await writeFile(join(folder, "other"), "cc");
      assert.ok(await sees(file, () => rename(join(folder, "other"), file)));
      assert.ok(await sees(file, () => chmod(file, 0o600)));
      assert.ok(await sees(file, () => rm(file)));
      assert.ok(await sees(file, () => writeFile(file, "cc")));
    });
  });

  it("is another when a symbolic link on its way leads elsewhere", async () => {
    await withFile(async (_, folder) => {
      await writeFile(join(folder, "new.yaml"), "a");
      const link = join(folder, "link.yaml");
      await symlink("config.yaml", link);
      await symlink("new.yaml", join(folder, "next"));
      assert.ok(await sees(link, () => rename(join(folder, "next"), link)));
    });
  });

  it("is a state too where there is no file", async () => {
    await withFile(async (file) => {
      assert.equal(await look(`${file}.none`), "ENOENT");
      assert.equal(await look(`${file}/below`), "ENOTDIR");
    });
  });
});
