import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { removeFile, replaceFile, writeFileAt } from "../../src/runtime/new-file.ts";

async function makeFolder(): Promise<AsyncDisposable & { readonly folder: string; readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-side-"));
  return { folder, path: join(folder, "a"), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

describe("a file that a command keeps beside another", () => {
  it("is replaced whole, for its owner alone, and leaves nothing beside it", async () => {
    await using made = await makeFolder();
    const { folder, path } = made;
    await replaceFile(path, "a long text");
    await replaceFile(path, "short");
    assert.equal(await readFile(path, "utf8"), "short");
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(folder), ["a"]);
  });

  it("is written from a place on, and ends there", async () => {
    await using made = await makeFolder();
    const { path } = made;
    assert.equal(await writeFileAt(path, 0, "one\n"), 4);
    assert.equal(await writeFileAt(path, 4, "zwölf\nzwölf\n"), 18);
    assert.equal(await writeFileAt(path, 4, "zwölf\n"), 11);
    assert.equal(await readFile(path, "utf8"), "one\nzwölf\n");
    assert.equal(await writeFileAt(path, 0, "new\n"), 4);
    assert.equal(await readFile(path, "utf8"), "new\n");
  });

  it("may be removed twice", async () => {
    await using made = await makeFolder();
    const { folder, path } = made;
    await replaceFile(path, "");
    await removeFile(path);
    await removeFile(path);
    assert.deepEqual(await readdir(folder), []);
  });

  it("that cannot be written is named, with why", async () => {
    await using made = await makeFolder();
    const { folder } = made;
    const path = join(folder, "none", "a");
    const message = `cannot write ${path}: no such file`;
    await assert.rejects(replaceFile(path, ""), { message });
    await assert.rejects(writeFileAt(path, 0, ""), { message });
  });
});
