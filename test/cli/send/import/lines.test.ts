import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type From, readLines } from "../../../../src/cli/send/import/lines.ts";

const START: From = { offset: 0, line: 0, most: 100 };

type Read = { readonly number: number; readonly text: string | null; readonly end: number };

async function read(pieces: readonly string[], from = START): Promise<readonly Read[]> {
  const lines: Read[] = [];
  for await (const { text, ...rest } of readLines(bytesOf(pieces), from)) {
    lines.push({ ...rest, text: text && Buffer.from(text).toString() });
  }
  return lines;
}

async function* bytesOf(pieces: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}

describe("the lines of an input", () => {
  it("are numbered, and know where they end", async () => {
    assert.deepEqual(await read(["one\ntwo\n\nfour\n"]), [
      { number: 1, text: "one", end: 4 },
      { number: 2, text: "two", end: 8 },
      { number: 3, text: "", end: 9 },
      { number: 4, text: "four", end: 14 },
    ]);
  });

  it("are the same however the bytes come, and the last one needs no newline", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.stringMatching(/^[a\n]{0,9}$/)), async (pieces) => {
        const whole = pieces.join("");
        const expected = whole.split("\n");
        if (expected.at(-1) === "") expected.pop();
        const lines = await read(pieces);
        assert.deepEqual(lines, await read([whole]));
        assert.deepEqual(
          lines.map(({ text }) => text),
          expected,
        );
        assert.equal(lines.at(-1)?.end ?? 0, whole.length);
      }),
    );
  });

  it("go on where an earlier run was", async () => {
    const [line] = await read(["three\n"], { offset: 8, line: 2, most: 100 });
    assert.deepEqual(line, { number: 3, text: "three", end: 14 });
  });

  it("that are too long are passed over, and counted", async () => {
    const long = "x".repeat(101);
    assert.deepEqual(await read([`a\n${long}`, `${long}\nb\n${long}`]), [
      { number: 1, text: "a", end: 2 },
      { number: 2, text: null, end: 205 },
      { number: 3, text: "b", end: 207 },
      { number: 4, text: null, end: 308 },
    ]);
    assert.equal((await read(["x".repeat(100)]))[0]?.text?.length, 100);
  });
});
