import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type Batch,
  LONGEST_LINE,
  makeBatches,
  type ReadLine,
  readCallLine,
  readLines,
} from "../../../src/cli/send/import-lines.ts";
import { KB } from "../../../src/model/units.ts";

type Read = { readonly number: number; readonly text: string | null; readonly end: number };

async function linesOf(pieces: readonly string[]): Promise<readonly Read[]> {
  const lines: Read[] = [];
  for await (const { text, ...rest } of readLines(bytesOf(pieces), 100)) {
    lines.push({ ...rest, text: text && Buffer.from(text).toString() });
  }
  return lines;
}

async function* bytesOf(pieces: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}

describe("the lines of an input", () => {
  it("are numbered, and know where they end", async () => {
    assert.deepEqual(await linesOf(["one\ntwo\n\nfour\n"]), [
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
        const lines = await linesOf(pieces);
        assert.deepEqual(lines, await linesOf([whole]));
        assert.deepEqual(
          lines.map(({ text }) => text),
          expected,
        );
        assert.equal(lines.at(-1)?.end ?? 0, whole.length);
      }),
    );
  });

  it("that are too long are passed over, and counted", async () => {
    const long = "x".repeat(101);
    assert.deepEqual(await linesOf([`a\n${long}`, `${long}\nb\n${long}`]), [
      { number: 1, text: "a", end: 2 },
      { number: 2, text: null, end: 205 },
      { number: 3, text: "b", end: 207 },
      { number: 4, text: null, end: 308 },
    ]);
    assert.equal((await linesOf(["x".repeat(100)]))[0]?.text?.length, 100);
  });
});

function read(text: string, { number = 3, name = "events.jsonl" } = {}): ReadLine {
  return readCallLine({ number, text: Buffer.from(text), end: 0 }, name);
}

function sent(text: string, at?: { number?: number; name?: string }): string {
  const line = read(text, at);
  return line.kind === "call" ? line.call.text : assert.fail(JSON.stringify(line));
}

function idOf(text: string, at?: { number?: number; name?: string }): string {
  return JSON.parse(sent(text, at)).messageId;
}

function refusal(text: string): string {
  const line = read(text);
  return line.kind === "refused" ? `${line.refused.code}: ${line.refused.message}` : assert.fail(JSON.stringify(line));
}

const CALL = '{"type":"track","userId":"u1","event":"Bought"}';

describe("a line that is a call", () => {
  it("goes out as it stands there if it has a messageId: numbers are not rounded", () => {
    const text = '{ "type": "track", "messageId": "m1", "properties": { "n": 12345678901234567890, "x": 1.0 } }';
    assert.deepEqual(read(`${text}\r`), { kind: "call", call: { line: 3, text, original: text } });
  });

  it("gets a messageId that is the same each time, and short enough", () => {
    assert.equal(idOf(CALL), idOf(CALL));
    assert.match(idOf(CALL), /^import-[0-9a-f]{40}$/);
    assert.deepEqual(
      { ...JSON.parse(sent(CALL)), messageId: undefined },
      { ...JSON.parse(CALL), messageId: undefined },
    );
  });

  it("gets another messageId than the same call at another line, or of another file", () => {
    const ids = [
      idOf(CALL),
      idOf(CALL, { number: 4 }),
      idOf(CALL, { name: "other.jsonl" }),
      idOf(`${CALL.slice(0, -1)} }`),
    ];
    assert.equal(new Set(ids).size, 4);
  });

  it("gets one where it has an empty one, which the daemon would not count", () => {
    for (const empty of ["null", '""']) assert.match(idOf(`{"messageId":${empty},"type":"page"}`), /^import-/);
    assert.match(idOf("{}"), /^import-/);
    assert.match(idOf("{ }"), /^import-/);
  });

  it("may begin with the mark of an editor, and have spaces around it", () => {
    assert.equal(JSON.parse(sent(`\uFEFF  ${CALL} \r`)).event, "Bought");
  });
});

describe("a line that is no call", () => {
  it("is passed over if it is blank", () => {
    for (const blank of ["", " ", "\r", "\t \r"]) assert.deepEqual(read(blank), { kind: "blank" });
  });

  it("is refused with what is wrong, and where", () => {
    assert.equal(refusal('{"type":track}'), "invalid_json: is not JSON: expected a value at column 9");
    assert.equal(
      refusal(`${CALL} ${CALL}`),
      `invalid_json: is not JSON: expected nothing more at column ${CALL.length + 2}`,
    );
    for (const other of ["[]", "1", "null", '"a"']) assert.equal(refusal(other), "invalid_call: must be an object");
  });

  it("is refused if it is no text, or longer than any call", () => {
    const bytes = readCallLine({ number: 1, text: new Uint8Array([0x7b, 0xff, 0x7d]), end: 3 }, "a");
    assert.deepEqual(bytes, {
      kind: "refused",
      refused: { line: 1, code: "invalid_json", message: "is not UTF-8 text", text: null },
    });
    const long = readCallLine({ number: 2, text: null, end: 9 }, "a");
    assert.partialDeepStrictEqual(long, {
      refused: { line: 2, code: "line_too_long", message: "is longer than 256KB" },
    });
    // The longest way to write a character of two bytes, in a call of 32 KB.
    assert.ok(LONGEST_LINE > (32 * KB * 6) / 2);
  });
});

/** Each of ten bytes, for its place to be known. */
async function batchesOf(texts: readonly string[], fromLine = 1): Promise<readonly Batch[]> {
  const batches: Batch[] = [];
  for await (const batch of makeBatches(numbered(texts), { name: "events.jsonl", fromLine })) batches.push(batch);
  return batches;
}

async function* numbered(texts: readonly string[]) {
  for (const [index, text] of texts.entries())
    yield { number: index + 1, text: Buffer.from(text), end: (index + 1) * 10 };
}

function callOf(bytes: number): string {
  const call = (text: string): string => JSON.stringify({ type: "track", messageId: "m", properties: { text } });
  return call("x".repeat(bytes - call("").length));
}

const small = callOf(100);

describe("the batches of an import", () => {
  it("are never over 500 KB as requests, and nearly so", async () => {
    const batches = await batchesOf(Array.from({ length: 40 }, () => callOf(32 * KB)));
    const sizes = batches.map(({ calls }) => `{"batch":[${calls.map(({ text }) => text).join(",")}]}`.length);
    assert.deepEqual(
      batches.map(({ calls }) => calls.length),
      [15, 15, 10],
    );
    for (const size of sizes) assert.ok(size <= 500 * KB);
    const tight = await batchesOf(Array.from({ length: 600 }, () => callOf(1_000)));
    assert.deepEqual(
      tight.map(({ calls }) => calls.length),
      [511, 89],
    );
  });

  it("have 1,000 lines at most, and all of them in their order", async () => {
    const batches = await batchesOf(Array.from({ length: 2_001 }, () => small));
    assert.deepEqual(
      batches.map(({ calls, start, end, lastLine }) => [calls.length, calls[0]?.line, start, end, lastLine]),
      [
        [1_000, 1, 0, 10_000, 1_000],
        [1_000, 1_001, 10_000, 20_000, 2_000],
        [1, 2_001, 20_000, 20_010, 2_001],
      ],
    );
  });

  it("carry the lines that are no calls, which count like the others", async () => {
    const [first, second] = await batchesOf(["x", small, "", ...Array.from({ length: 999 }, () => "y")]);
    assert.deepEqual(first?.calls, [{ line: 2, text: small, original: small }]);
    assert.equal(first?.refused.length, 999);
    assert.deepEqual([second?.calls, second?.refused.length, second?.lastLine], [[], 1, 1_002]);
    const long = `[${"x".repeat(200 * KB)}`;
    assert.equal((await batchesOf([long, long, long])).length, 2);
  });

  it("are none of nothing, and one without calls of blank lines: it says that they are behind", async () => {
    assert.deepEqual(await batchesOf([]), []);
    assert.deepEqual(await batchesOf(["", " "]), [{ calls: [], refused: [], start: 0, end: 20, lastLine: 2 }]);
  });

  it("begin at any line, and name the calls as they do from the first on", async () => {
    const texts = Array.from({ length: 5 }, () => "{}");
    const [all] = await batchesOf(texts);
    const [later] = await batchesOf(texts, 4);
    assert.deepEqual(later, { ...all, calls: all?.calls.slice(3), start: 30 });
    assert.deepEqual(await batchesOf(texts, 6), []);
  });
});
