import assert from "node:assert/strict";
import { readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { appendToFile, beginFile, beginOwnFile, removeFile } from "../../src/runtime/new-file.ts";
import { makeFolder } from "../folder.ts";

describe("a file that is being written", () => {
  it("is for its own user, and gets its name only when it is kept, in place of what had that", async () => {
    using f = makeFolder();
    const target = f.path("copy.db");
    writeFileSync(target, "old");
    const file = beginFile(target);
    writeFileSync(file.path, "new");
    file.flush();
    assert.equal(statSync(file.path).mode & 0o777, 0o600);
    assert.equal(readFileSync(target, "utf8"), "old");
    file.keep();
    assert.equal(readFileSync(target, "utf8"), "new");
    // Whoever cleans up after all ends removes nothing that was kept.
    file.drop();
    assert.deepEqual(f.names(), ["copy.db"]);
  });

  it("leaves nothing when it is dropped, once or twice", async () => {
    using f = makeFolder();
    const target = f.path("copy.db");
    const file = beginFile(target);
    file.drop();
    file.drop();
    assert.deepEqual(f.names(), []);
  });

  it("begins empty where a killed process has left a part of one", async () => {
    using f = makeFolder();
    const target = f.path("copy.db");
    writeFileSync(`${target}.part`, "half of it");
    const file = beginFile(target);
    assert.equal(statSync(file.path).size, 0);
    file.drop();
  });

  it("is not written to where a link of its name leads", async () => {
    using f = makeFolder();
    const target = f.path("copy.db");
    const precious = join(target, "../precious");
    for (const begin of [() => beginFile(target), () => beginOwnFile(target, 1)]) {
      writeFileSync(precious, "precious");
      const probe = begin();
      probe.drop();
      symlinkSync(precious, probe.path);
      const file = begin();
      writeFileSync(file.path, "copy");
      assert.equal(readFileSync(precious, "utf8"), "precious");
      file.keep();
      assert.equal(readFileSync(target, "utf8"), "copy");
    }
  });

  it("has a name for each process where several may write to one place", async () => {
    using f = makeFolder();
    const target = f.path("copy.db");
    const [one, other] = [beginOwnFile(target, 1), beginOwnFile(target, 2)];
    assert.notEqual(one.path, other.path);
    one.drop();
    other.drop();
  });

  it("says in words why it cannot be begun", () => {
    assert.throws(() => beginFile("/nowhere/copy.db"), { message: "cannot write /nowhere/copy.db: no such file" });
  });
});

describe("a file that a command keeps beside another", () => {
  it("is created for its owner alone, and appended to", async () => {
    using f = makeFolder();
    const path = f.path("a");
    await appendToFile(path, "one\n");
    await appendToFile(path, "zwölf\n");
    assert.equal(await readFile(path, "utf8"), "one\nzwölf\n");
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

  it("may be removed twice", async () => {
    using f = makeFolder();
    const path = f.path("a");
    await appendToFile(path, "");
    await removeFile(path);
    await removeFile(path);
    assert.deepEqual(f.names(), []);
  });

  it("that cannot be written is named, with why", async () => {
    using f = makeFolder();
    const path = f.path("none/a");
    const message = `cannot write ${path}: no such file`;
    await assert.rejects(appendToFile(path, "a"), { message });
  });
});
