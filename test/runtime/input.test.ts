import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import process from "node:process";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { KB } from "../../src/model/units.ts";
import { type ByteSource, openBytes, readInput } from "../../src/runtime/input.ts";
import { makeFolder } from "../folder.ts";

const f = makeFolder();
after(f[Symbol.dispose]);

function file(content: Uint8Array | string): string {
  writeFileSync(f.path("file"), content);
  return f.path("file");
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
    assert.deepEqual(await readInput(f.path("none"), 1), { ok: false, why: "no such file" });
    assert.deepEqual(await readInput(f.folder, 1), { ok: false, why: "it is a folder" });
    assert.deepEqual(await readInput(`${file("")}/none`, 1), {
      ok: false,
      why: "a part of the path is not a folder",
    });
  });
});

async function open(path: string): Promise<ByteSource> {
  const opened = await openBytes(path);
  return opened.ok ? opened.source : assert.fail(opened.why);
}

async function readAll({ pieces }: ByteSource): Promise<{ readonly text: string; readonly count: number }> {
  const read: Uint8Array[] = [];
  for await (const piece of pieces) read.push(piece);
  return { text: Buffer.concat(read).toString(), count: read.length };
}

describe("the bytes of a file", () => {
  it("come in pieces", async () => {
    const text = "0123456789".repeat(60 * KB);
    const source = await open(file(text));
    assert.equal(source.size, text.length);
    assert.deepEqual(await readAll(source), { text, count: 3 });
    await source.close();
  });

  it("are left where the reader stops", async () => {
    const source = await open(file("0123456789".repeat(60 * KB)));
    for await (const piece of source.pieces) {
      assert.equal(piece.length, 256 * KB);
      break;
    }
    await source.close();
  });

  it("are those of the file that was opened, also if another takes its name", async () => {
    const source = await open(file("old"));
    writeFileSync(f.path("b"), "new");
    renameSync(f.path("b"), f.path("file"));
    assert.equal((await readAll(source)).text, "old");
    await source.close();
  });

  it("cannot be had of a folder, or of nothing", async () => {
    assert.deepEqual(await openBytes(f.folder), { ok: false, why: "it is a folder" });
    assert.deepEqual(await openBytes(f.path("none")), { ok: false, why: "no such file" });
  });
});

type Typing = { readonly typed: readonly string[]; readonly ends?: boolean };

/** What a process of its own reads, which ends as soon as it has read it. */
async function read({ typed, ends = false }: Typing): Promise<unknown> {
  const script = fileURLToPath(new URL("../fixtures/read-line.ts", import.meta.url));
  const args = typeof Bun === "undefined" ? ["run", "-A", "--no-check", script] : [script];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  let out = "";
  child.stdout.on("data", (text) => (out += text));
  const closed = new Promise<void>((resolve) => child.on("close", () => resolve()));
  for (const text of typed) child.stdin.write(text);
  if (ends) child.stdin.end();
  await closed;
  return JSON.parse(out);
}

const SLOW = { timeout: 60_000 };

describe("a line that a person types", () => {
  it("is there with its end, and nobody waits for more", SLOW, async () => {
    assert.equal(await read({ typed: ["yes\n"] }), "yes");
    assert.equal(await read({ typed: ["y", "es\nand more"] }), "yes");
    assert.equal(await read({ typed: ["\n"] }), "");
  });

  it("is null if there is none", SLOW, async () => {
    assert.equal(await read({ typed: [], ends: true }), null);
    assert.equal(await read({ typed: ["yes"], ends: true }), null);
  });
});
