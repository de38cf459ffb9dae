import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { appendToFile, removeFile } from "../../src/runtime/new-file.ts";

async function makeFolder(): Promise<AsyncDisposable & { readonly folder: string; readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-side-"));
  return { folder, path: join(folder, "a"), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

describe("a file that a command keeps beside another", () => {
  it("is appended to, and is for its owner alone", async () => {
    await using made = await makeFolder();
    const { folder, path } = made;
    await appendToFile(path, "one\n");
    await appendToFile(path, "zwölf\n");
    assert.equal(await readFile(path, "utf8"), "one\nzwölf\n");
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(folder), ["a"]);
  });

  it("may be removed twice", async () => {
    await using made = await makeFolder();
    const { folder, path } = made;
    await appendToFile(path, "");
    await removeFile(path);
    await removeFile(path);
    assert.deepEqual(await readdir(folder), []);
  });

  it("that cannot be written is named, with why", async () => {
    await using made = await makeFolder();
    const path = join(made.folder, "none", "a");
    await assert.rejects(appendToFile(path, ""), { message: `cannot write ${path}: no such file` });
  });
});
