import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Batch, makeBatches } from "../../../../src/cli/send/import/batches.ts";
import { KB } from "../../../../src/model/units.ts";

/** Each of ten bytes, for its place to be known. */
async function batchesOf(texts: readonly string[]): Promise<readonly Batch[]> {
  const batches: Batch[] = [];
  for await (const batch of makeBatches(linesOf(texts), "events.jsonl")) batches.push(batch);
  return batches;
}

async function* linesOf(texts: readonly string[]) {
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
      batches.map(({ calls, end }) => [calls.length, calls[0]?.line, end]),
      [
        [1_000, 1, { offset: 10_000, line: 1_000 }],
        [1_000, 1_001, { offset: 20_000, line: 2_000 }],
        [1, 2_001, { offset: 20_010, line: 2_001 }],
      ],
    );
  });

  it("carry the lines that are no calls, which count like the others", async () => {
    const [first, second] = await batchesOf(["x", small, "", ...Array.from({ length: 999 }, () => "y")]);
    assert.deepEqual(
      first?.calls.map(({ line }) => line),
      [2],
    );
    assert.deepEqual(first?.own, [small]);
    assert.equal(first?.refused.length, 999);
    assert.deepEqual([second?.calls, second?.refused.length, second?.end.line], [[], 1, 1_002]);
    const long = `[${"x".repeat(200 * KB)}`;
    assert.equal((await batchesOf([long, long, long])).length, 2);
  });

  it("are none of nothing, and one without calls of blank lines: it says that they are behind", async () => {
    assert.deepEqual(await batchesOf([]), []);
    const end = { offset: 20, line: 2 };
    assert.deepEqual(await batchesOf(["", " "]), [{ calls: [], own: [], refused: [], end }]);
  });
});
