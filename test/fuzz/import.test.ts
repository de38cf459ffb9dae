// `send --import`: a file of any bytes becomes calls and refused lines, in whatever pieces it is read.
import assert from "node:assert/strict";
import fc from "fast-check";
import { type Line, type ReadLine, readCallLine, readLines } from "../../src/cli/send/import-lines.ts";
import { fuzz } from "./fuzz.ts";
import { fuzzTime } from "./slow.ts";
import { anyCuts, cut, type Text, textLike, written } from "./text.ts";

type Input = { readonly text: Text; readonly raw: boolean; readonly most: number; readonly cuts: readonly number[] };

const likeness = {
  seeds: [
    '{"type":"track","userId":"u1","event":"e"}\n{"type":"track","messageId":"m1"}\r\n\n  {}  ',
    '\uFEFF{"messageId":null,"a":{"messageId":"x"},"n":12345678901234567890}\n[1]\n"text"\n',
    '{"messageId":"","__proto__":{"messageId":"x"}}\n{"a":1,}\n{"a":"\\ud800"}',
  ],
  pieces: [
    "{",
    "}",
    '{"a":',
    '"messageId":',
    '"m1"',
    "null",
    ",",
    "\n",
    "\n",
    "\r\n",
    " ",
    "[",
    "]",
    '{"a":1}',
    "\u2003",
  ],
};

fuzz<Input>({
  name: "import",
  input: fc.record({
    text: textLike(likeness),
    raw: fc.boolean(),
    most: fc.constantFrom(0, 1, 40, 5_000),
    cuts: anyCuts,
  }),
  runs: 600,
  start: () => ({ holds }),
});

fuzzTime({
  ...likeness,
  name: "import",
  harmless: '{"userId":"u1"}\n',
  run: async (text) => (await linesOf([Buffer.from(text)], 300_000)).map((line) => readCallLine(line, "calls.jsonl")),
});

async function holds({ text, raw, most, cuts }: Input): Promise<void> {
  const bytes = new Uint8Array(Buffer.from(written(text), raw ? "latin1" : "utf8"));
  const whole = await linesOf([bytes], most);
  for (const places of bytes.length <= 400 ? [cuts, null] : [cuts]) {
    assert.deepEqual(await linesOf(cut(bytes, places), most), whole);
  }
  assert.equal(whole.at(-1)?.end ?? 0, bytes.length);
  for (const line of whole) holdsOfLine(line, readCallLine(line, "calls.jsonl"));
}

function holdsOfLine(line: Line, read: ReadLine): void {
  if (read.kind === "refused") assert.ok(read.refused.message !== "" && read.refused.line === line.number);
  if (read.kind !== "call") return;
  const { messageId, ...rest } = JSON.parse(read.call.text);
  const { messageId: own, ...asWritten } = JSON.parse(read.call.original);
  assert.deepEqual(rest, asWritten);
  if (own === undefined || own === null || own === "") assert.match(messageId, /^import-[0-9a-f]{40}$/);
  else assert.deepEqual(messageId, own);
  assert.deepEqual(readCallLine(line, "calls.jsonl"), read);
}

/** With copies of their bytes. */
async function linesOf(pieces: readonly Uint8Array[], most: number): Promise<readonly Line[]> {
  async function* all(): AsyncGenerator<Uint8Array> {
    yield* pieces;
  }
  const lines: Line[] = [];
  for await (const line of readLines(all(), most)) {
    lines.push({ ...line, text: line.text && new Uint8Array(line.text) });
  }
  return lines;
}
