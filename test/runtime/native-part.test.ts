import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { IN_MEMORY, inFolder, loadNativePart } from "../../src/runtime/native-part.ts";

// Only what Bun has compiled has embedded parts.
const ON_LINUX = { skip: process.platform !== "linux" || typeof Bun === "undefined" };

function makeFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "fairlead-native-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

describe("a native part that cannot be loaded", () => {
  it("is refused with what stood in the way at each place, and leaves nothing", ON_LINUX, () => {
    using folder = makeFolder();
    writeFileSync(join(folder.path, "part.node"), "not a library");
    const places = [inFolder(join(folder.path, "none")), inFolder(folder.path), IN_MEMORY];
    assert.throws(() => loadNativePart(join(folder.path, "part.node"), places), {
      message: new RegExp(`^${folder.path}/none: ENOENT.+; ${folder.path}: .+; memory: .+`),
    });
    assert.deepEqual(readdirSync(folder.path), ["part.node"]);
  });
});
