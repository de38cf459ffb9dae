import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { IN_MEMORY, inFolder, inOwnFolder, loadNativePart } from "../../src/runtime/native-part.ts";
import { makeFolder } from "../folder.ts";

// Only what Bun has compiled has embedded parts.
const ON_LINUX = { skip: process.platform !== "linux" || typeof Bun === "undefined" };

describe("a native part in a folder of its own, as on macOS", () => {
  it("is loaded, and leaves nothing behind", ON_LINUX, () => {
    using f = makeFolder();
    const part = `../../node_modules/better-sqlite3/prebuilds/linux-${process.arch}.node`;
    const loaded = loadNativePart(fileURLToPath(new URL(part, import.meta.url)), [inOwnFolder(f.folder)]);
    assert.ok("Database" in loaded);
    assert.deepEqual(f.names(), []);
  });
});

describe("a native part that cannot be loaded", () => {
  it("is refused with what stood in the way at each place, and leaves nothing", ON_LINUX, () => {
    using f = makeFolder();
    writeFileSync(f.path("part.node"), "not a library");
    const places = [inFolder(f.path("none")), inFolder(f.folder), IN_MEMORY, inOwnFolder(f.folder)];
    assert.throws(() => loadNativePart(f.path("part.node"), places), {
      message: new RegExp(`^${f.folder}/none: ENOENT.+; ${f.folder}: .+; memory: .+; ${f.folder}: .+`),
    });
    assert.deepEqual(f.names(), ["part.node"]);
  });
});
