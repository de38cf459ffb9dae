import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

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
