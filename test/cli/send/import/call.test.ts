import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LONGEST_LINE, type ReadLine, readCallLine } from "../../../../src/cli/send/import/call.ts";
import { KB } from "../../../../src/model/units.ts";

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
    assert.deepEqual(read(`${text}\r`), { kind: "call", call: { line: 3, text }, own: text });
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
