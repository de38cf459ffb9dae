import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createKeyIndex, type Key, type KeyIndex } from "../../../src/store/sqlite/repeats.ts";

/** Numbers that a table holds; one that is further on begins the next. */
const TABLE = 2 ** 20;

function keyOf(text: string | number): Key {
  return createHash("sha256").update(String(text)).digest().toString("latin1", 0, 16);
}

/** The numbers that the index asks about. */
function nominees(index: KeyIndex, key: Key): readonly number[] {
  const numbers: number[] = [];
  index.some(key, (number) => numbers.push(number) < 0);
  return numbers;
}

/** A key that starts in this slot, with this tag: two of them differ only where the index does not look. */
function craft(slot: number, tag: number, rest = 0): Key {
  const key = Buffer.alloc(16, rest);
  key.writeUInt32LE(slot, 0);
  key.writeUInt32LE(tag, 4);
  return key.toString("latin1");
}

describe("the key index", () => {
  it("nominates the number of a key", () => {
    const index = createKeyIndex();
    for (let n = 1; n <= 10_000; n += 1) index.add(keyOf(n), n);
    for (let n = 1; n <= 10_000; n += 1) assert.ok(nominees(index, keyOf(n)).includes(n));
  });

  it("nominates hardly anything for a key that was not added", () => {
    const index = createKeyIndex();
    for (let n = 1; n <= 10_000; n += 1) index.add(keyOf(n), n);
    const found = Array.from({ length: 10_000 }, (_, n) => nominees(index, keyOf(`other ${n}`)).length);
    assert.ok(found.reduce((sum, count) => sum + count, 0) < 20);
    assert.deepEqual(nominees(createKeyIndex(), keyOf(1)), []);
  });

  it("nominates each of several keys that look alike", () => {
    const index = createKeyIndex();
    index.add(craft(5, 77), 1);
    index.add(craft(5, 77, 9), 2);
    index.add(craft(5, 78), 3);
    assert.deepEqual(nominees(index, craft(5, 77, 3)), [1, 2]);
    assert.deepEqual(nominees(index, craft(5, 78)), [3]);
  });

  it("goes on at its start when the last slots are taken", () => {
    const index = createKeyIndex();
    for (let n = 1; n <= 5; n += 1) index.add(craft(0xffffffff, 7, n), n);
    assert.deepEqual(nominees(index, craft(0xffffffff, 7)), [1, 2, 3, 4, 5]);
    index.add(craft(0, 8), 6);
    assert.deepEqual(nominees(index, craft(0, 8)), [6]);
  });

  it("finds the first number of a table, and a tag of zero", () => {
    const index = createKeyIndex();
    index.add(craft(3, 0), 1);
    index.add(craft(4, 0xfff), TABLE);
    assert.deepEqual(nominees(index, craft(3, 0)), [1]);
    assert.deepEqual(nominees(index, craft(4, 0xfff)), [TABLE]);
  });

  it("keeps numbers of any size apart, over several tables", () => {
    const index = createKeyIndex();
    const starts = [0, TABLE, 5 * TABLE, 3_000_000_000, 2 ** 45];
    for (const start of starts) index.add(keyOf("same"), start + 1);
    assert.deepEqual(
      nominees(index, keyOf("same")),
      starts.map((start) => start + 1),
    );
  });

  it("drops tables that lie wholly before a number, and no other", () => {
    const index = createKeyIndex();
    const key = keyOf("same");
    const numbers = [1, TABLE + 1, 2 * TABLE + 1];
    for (const number of numbers) index.add(key, number);
    index.forgetBefore(TABLE);
    assert.deepEqual(nominees(index, key), numbers);
    index.forgetBefore(TABLE + 1);
    assert.deepEqual(nominees(index, key), numbers.slice(1));
    index.forgetBefore(10 * TABLE);
    assert.deepEqual(nominees(index, key), numbers.slice(2));
    index.add(key, 2 * TABLE + 2);
    assert.deepEqual(nominees(index, key), [2 * TABLE + 1, 2 * TABLE + 2]);
  });

  it("nominates every number of every key, whatever was added and forgotten", () => {
    const anyKey = fc.tuple(fc.constantFrom(0, 1, 0xffffffff), fc.constantFrom(0, 1, 0xfff, 0x1001));
    const anyStep = fc.record({ key: anyKey, ahead: fc.constantFrom(1, 2, TABLE - 1, TABLE), forgets: fc.boolean() });
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 12 }), (steps) => {
        const index = createKeyIndex();
        let kept: { readonly key: Key; readonly number: number }[] = [];
        let number = 0;
        for (const { key, ahead, forgets } of steps) {
          number += ahead;
          kept.push({ key: craft(...key), number });
          index.add(craft(...key), number);
          if (forgets) {
            index.forgetBefore(number);
            kept = kept.slice(-1);
          }
          for (const one of kept) assert.ok(nominees(index, one.key).includes(one.number));
        }
      }),
      { numRuns: 40 },
    );
  });

  it("drops the oldest table when there are too many: memory has a bound", () => {
    const index = createKeyIndex();
    for (let n = 0; n < 16; n += 1) index.add(keyOf(n), n * TABLE + 1);
    assert.deepEqual(nominees(index, keyOf(0)), [1]);
    index.add(keyOf(16), 16 * TABLE + 1);
    assert.deepEqual(nominees(index, keyOf(0)), []);
    assert.equal(index.oldest(), TABLE + 1);
    assert.deepEqual(nominees(index, keyOf(16)), [16 * TABLE + 1]);
  });
});
