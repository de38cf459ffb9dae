import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { callLine, checksum, type Kept, readLines, settledLine } from "../../src/client/spool/lines.ts";

const CALL: Kept = { text: '{"event":"é"}', ownTime: false, digits: false };

function join(...lines: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.of(...lines.flatMap((line) => [...line]));
}

function numbers(bytes: Uint8Array): readonly number[] {
  return [...readLines(bytes).calls.keys()];
}

describe("the lines of a segment", () => {
  it("have the checksum that the world calls CRC-32", () => {
    assert.equal(checksum(new TextEncoder().encode("123456789")), "cbf43926");
  });

  it("hold calls as they were, and which of them are settled", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ value: fc.jsonValue(), ownTime: fc.boolean(), digits: fc.boolean() }), { maxLength: 30 }),
        fc.uniqueArray(fc.nat(100)),
        (values, settled) => {
          const calls = values.map(({ value, ...rest }) => ({ text: JSON.stringify({ value }), ...rest }));
          const ascending = settled.sort((a, b) => a - b);
          const lines = [...calls.map((call, nth) => callLine(nth, call)), settledLine(ascending)];
          const content = readLines(join(...lines));
          assert.deepEqual([...content.calls], [...calls.entries()]);
          assert.deepEqual([...content.settled], ascending);
          assert.equal(content.damaged, 0);
        },
      ),
    );
  });

  it("are read up to the one that was being written, wherever that ends", () => {
    const whole = join(callLine(0, CALL), callLine(1, CALL));
    for (let end = callLine(0, CALL).length; end < whole.length; end += 1) {
      const { calls, damaged } = readLines(whole.subarray(0, end));
      assert.deepEqual([[...calls.keys()], damaged], [[0], 0]);
    }
  });

  it("are left out one by one where a byte has changed, and counted", () => {
    const lines = [callLine(0, CALL), callLine(1, CALL), callLine(2, CALL)];
    const [first = new Uint8Array()] = lines;
    for (let at = 0; at < first.length; at += 1) {
      const bytes = join(...lines);
      bytes[first.length + at] = 0x20 ^ (bytes[first.length + at] ?? 0);
      const { calls, damaged } = readLines(bytes);
      // Without its line break, a line takes the next one with it.
      assert.deepEqual([...calls.keys()], at === first.length - 1 ? [0] : [0, 2]);
      assert.equal(damaged, 1);
    }
  });

  it("go on after a line without an end", () => {
    assert.deepEqual(numbers(join(callLine(0, CALL).subarray(0, 20), Uint8Array.of(10), callLine(1, CALL))), [1]);
  });
});
