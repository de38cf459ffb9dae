import assert from "node:assert/strict";
import { readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { appendToFile, beginFile, beginOwnFile, removeFile } from "../../src/runtime/new-file.ts";

async function makeFolder() {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-new-file-"));
  return {
    target: join(folder, "copy.db"),
    files: async () => (await readdir(folder)).sort(),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

describe("a file that is being written", () => {
  it("is for its own user, and gets its name only when it is kept, in place of what had that", async () => {
    await using f = await makeFolder();
    writeFileSync(f.target, "old");
    const file = beginFile(f.target);
    writeFileSync(file.path, "new");
    file.flush();
    assert.equal(statSync(file.path).mode & 0o777, 0o600);
    assert.equal(readFileSync(f.target, "utf8"), "old");
    file.keep();
    assert.equal(readFileSync(f.target, "utf8"), "new");
    // Whoever cleans up after all ends removes nothing that was kept.
    file.drop();
    assert.deepEqual(await f.files(), ["copy.db"]);
  });

  it("leaves nothing when it is dropped, once or twice", async () => {
    await using f = await makeFolder();
    const file = beginFile(f.target);
    file.drop();
    file.drop();
    assert.deepEqual(await f.files(), []);
  });

  it("begins empty where a killed process has left a part of one", async () => {
    await using f = await makeFolder();
    writeFileSync(`${f.target}.part`, "half of it");
    const file = beginFile(f.target);
    assert.equal(statSync(file.path).size, 0);
    file.drop();
  });

  it("is not written to where a link of its name leads", async () => {
    await using f = await makeFolder();
    const precious = join(f.target, "../precious");
    for (const begin of [() => beginFile(f.target), () => beginOwnFile(f.target, 1)]) {
      writeFileSync(precious, "precious");
      const probe = begin();
      probe.drop();
      symlinkSync(precious, probe.path);
      const file = begin();
      writeFileSync(file.path, "copy");
      assert.equal(readFileSync(precious, "utf8"), "precious");
      file.keep();
      assert.equal(readFileSync(f.target, "utf8"), "copy");
    }
  });

  it("has a name for each process where several may write to one place", async () => {
    await using f = await makeFolder();
    const [one, other] = [beginOwnFile(f.target, 1), beginOwnFile(f.target, 2)];
    assert.notEqual(one.path, other.path);
    one.drop();
    other.drop();
  });

  it("says in words why it cannot be begun", () => {
    assert.throws(() => beginFile("/nowhere/copy.db"), { message: "cannot write /nowhere/copy.db: no such file" });
  });
});

async function makeSideFolder(): Promise<AsyncDisposable & { readonly folder: string; readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-side-"));
  return { folder, path: join(folder, "a"), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

describe("a file that a command keeps beside another", () => {
  it("is created for its owner alone, and appended to", async () => {
    await using made = await makeSideFolder();
    const { path } = made;
    await appendToFile(path, "one\n");
    await appendToFile(path, "zwölf\n");
    assert.equal(await readFile(path, "utf8"), "one\nzwölf\n");
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

  it("may be removed twice", async () => {
    await using made = await makeSideFolder();
    const { folder, path } = made;
    await appendToFile(path, "");
    await removeFile(path);
    await removeFile(path);
    assert.deepEqual(await readdir(folder), []);
  });

  it("that cannot be written is named, with why", async () => {
    await using made = await makeSideFolder();
    const { folder } = made;
    const path = join(folder, "none", "a");
    const message = `cannot write ${path}: no such file`;
    await assert.rejects(appendToFile(path, "a"), { message });
  });
});
