import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { KB } from "../../src/model/units.ts";
import { type ByteSource, openBytes } from "../../src/runtime/input.ts";

async function makeFile(text: string): Promise<AsyncDisposable & { readonly path: string; readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-bytes-"));
  const path = join(folder, "a");
  await writeFile(path, text);
  return { path, folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

async function open(path: string): Promise<ByteSource> {
  const opened = await openBytes(path);
  return opened.ok ? opened.source : assert.fail(opened.why);
}

async function readAll(source: ByteSource, from: number): Promise<{ readonly text: string; readonly pieces: number }> {
  const pieces: Uint8Array[] = [];
  for await (const piece of source.pieces(from)) pieces.push(piece);
  return { text: Buffer.concat(pieces).toString(), pieces: pieces.length };
}

describe("the bytes of a file", () => {
  it("come in pieces, from any place on, and as often as they are asked for", async () => {
    const text = "0123456789".repeat(60 * KB);
    await using file = await makeFile(text);
    const source = await open(file.path);
    assert.equal(source.size, text.length);
    assert.deepEqual(await readAll(source, 0), { text, pieces: 3 });
    assert.equal((await readAll(source, text.length - 7)).text, "3456789");
    assert.equal((await readAll(source, text.length)).text, "");
    assert.equal(Buffer.from(await source.part(8, 12)).toString(), "8901");
    assert.equal((await source.part(text.length - 1, text.length + 9)).length, 1);
    await source.close();
  });

  it("are those of the file that was opened, also if another takes its name", async () => {
    await using file = await makeFile("old");
    const source = await open(file.path);
    await writeFile(join(file.folder, "b"), "new");
    await rename(join(file.folder, "b"), file.path);
    assert.equal((await readAll(source, 0)).text, "old");
    await source.close();
  });

  it("cannot be had of a folder, or of nothing", async () => {
    await using file = await makeFile("");
    assert.deepEqual(await openBytes(file.folder), { ok: false, why: "it is a folder" });
    assert.deepEqual(await openBytes(join(file.folder, "none")), { ok: false, why: "no such file" });
  });
});
