import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readInput } from "../../src/runtime/input.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-input-"));
after(() => rmSync(folder, { recursive: true }));

function file(bytes: Uint8Array): string {
  const path = join(folder, "file");
  writeFileSync(path, bytes);
  return path;
}

// Standard input is tried with the binary: test/binary/verify.test.ts.
describe("a file that a command reads", () => {
  it("comes byte for byte, a mark at its start and the newline at its end included", async () => {
    const bytes = Uint8Array.of(0xef, 0xbb, 0xbf, 0xff, 0x00, 0x0a);
    const input = await readInput(file(bytes), 6);
    assert.ok(input.ok);
    assert.deepEqual([...input.bytes], [...bytes]);
  });

  it("is refused if it is larger than it may be", async () => {
    assert.deepEqual(await readInput(file(new Uint8Array(1_025)), 1_024), { ok: false, why: "it is larger than 1KB" });
    assert.ok((await readInput(file(new Uint8Array(1_024)), 1_024)).ok);
  });

  it("is refused in words if it cannot be read", async () => {
    assert.deepEqual(await readInput(join(folder, "none"), 1), { ok: false, why: "no such file" });
    assert.deepEqual(await readInput(folder, 1), { ok: false, why: "it is a folder" });
    assert.deepEqual(await readInput(join(file(new Uint8Array(0)), "none"), 1), {
      ok: false,
      why: "a part of the path is not a folder",
    });
  });
});
