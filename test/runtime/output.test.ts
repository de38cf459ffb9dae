import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createLineOutput, MOST_BYTES } from "../../src/runtime/output.ts";

/** Of this many, a pipe and the memory hold some thousand. */
const LINES = 2_000;

function start(flags: number) {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-lines-"));
  const path = join(folder, "pipe");
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const file = openSync(path, constants.O_WRONLY | flags);
  const told = { dropped: 0, resumed: [] as number[] };
  const output = createLineOutput({
    file,
    dropped: (lines) => {
      told.dropped += lines;
    },
    resumed: (lines) => {
      told.resumed.push(lines);
      output.write(`${lines} are missing\n`);
    },
  });
  return {
    ...{ output, told },
    read: () => readAll(reader),
    close: () => closeSync(reader),
    [Symbol.dispose]() {
      closeSync(file);
      rmSync(folder, { recursive: true });
    },
  };
}

function readAll(reader: number): string {
  const chunk = Buffer.alloc(65_536);
  for (let text = ""; ; ) {
    try {
      const size = readSync(reader, chunk);
      if (size === 0) return text;
      text += chunk.toString("utf8", 0, size);
    } catch {
      return text;
    }
  }
}

function lineOf(nth: number): string {
  return `${nth} ${"x".repeat(400)}\n`;
}

for (const [kind, flags] of [
  ["waits when it is full", 0],
  ["fails when it is full", constants.O_NONBLOCK],
] as const) {
  describe(`lines for a pipe that ${kind}, and is not read`, () => {
    it("are kept up to 256 KB and dropped beyond; a line stands where they are missing", async () => {
      using w = start(flags);
      for (let nth = 0; nth < LINES; nth += 1) w.output.write(lineOf(nth));
      const kept = LINES - w.told.dropped;
      assert.ok(kept * lineOf(0).length > MOST_BYTES && kept * lineOf(0).length < MOST_BYTES + 200_000, `${kept}`);
      assert.deepEqual(w.told.resumed, []);

      let text = w.read();
      const reading = setInterval(() => {
        text += w.read();
      }, 1);
      await w.output.flush();
      clearInterval(reading);
      w.output.write("after\n");
      text += w.read();
      const expected = Array.from({ length: kept }, (_, nth) => lineOf(nth)).join("");
      assert.equal(text, `${expected}${w.told.dropped} are missing\nafter\n`);
      assert.deepEqual(w.told.resumed, [w.told.dropped]);
      w.close();
    });
  });
}

describe("lines for a pipe that nobody can read any more", () => {
  it("are dropped and counted, each once", async () => {
    using w = start(0);
    w.close();
    for (let nth = 0; nth < 10; nth += 1) w.output.write(lineOf(nth));
    await w.output.flush();
    assert.equal(w.told.dropped, 10);
    assert.equal(w.told.resumed.at(-1), 9);
  });
});

describe("lines for a file on a disk", () => {
  it("are written at once, behind what was there", () => {
    const folder = mkdtempSync(join(tmpdir(), "fairlead-lines-"));
    const file = openSync(join(folder, "log"), "a");
    const output = createLineOutput({ file, dropped: () => assert.fail(), resumed: () => assert.fail() });
    for (let nth = 0; nth < 100; nth += 1) output.write(lineOf(nth));
    assert.equal(readFileSync(join(folder, "log"), "utf8").split("\n").length, 101);
    closeSync(file);
    rmSync(folder, { recursive: true });
  });
});
