import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ENVELOPE_BYTES } from "../../src/client/envelope.ts";
import { createFifo, createQueue, type Entry } from "../../src/client/queue.ts";

const ALL = Number.MAX_SAFE_INTEGER;
/** Room for so many bytes of calls. */
const roomFor = (bytes: number): number => ENVELOPE_BYTES + bytes;
const SETTINGS = { queueLimit: 2, whenFull: "reject", flushAt: 100, maxBatchSize: roomFor(1_000) } as const;

function entry(seq: number, bytes = 1): Entry {
  return { seq, type: "track", messageId: `m${seq}`, text: "", ownTime: false, digits: false, bytes };
}

function filled(settings: object, count: number, bytes = 1) {
  const queue = createQueue({ ...SETTINGS, ...settings });
  const added = Array.from({ length: count }, (_, index) => queue.add(entry(index + 1, bytes), "displace"));
  return { queue, added };
}

function seqs(entries: readonly Entry[]): readonly number[] {
  return entries.map(({ seq }) => seq);
}

describe("the queue", () => {
  it("lets calls wait for room in their order, and as many of them as it holds", async () => {
    const { queue, added } = filled({ whenFull: "block", flushAt: 1 }, 5);
    assert.deepEqual(
      added.map(({ kind }) => kind),
      ["queued", "queued", "waits", "waits", "full"],
    );
    assert.deepEqual(seqs(queue.take(ALL)), [1]);
    await (added[2]?.kind === "waits" && added[2].room);
    assert.deepEqual(seqs(queue.take(ALL)), [2]);
    await (added[3]?.kind === "waits" && added[3].room);
    assert.deepEqual(seqs(queue.drain()), [3, 4]);
  });

  it("returns all calls when it is drained, and keeps none waiting for room", async () => {
    const { queue, added } = filled({ whenFull: "block" }, 4);
    assert.deepEqual(seqs(queue.drain()), [1, 2, 3, 4]);
    await Promise.all(added.map((one) => one.kind === "waits" && one.room));
    assert.deepEqual(queue.take(ALL), []);
  });

  it("takes a batch up to its bounds: a seq, a count, and bytes with a comma between two", () => {
    const taken = (settings: object, upTo = ALL): readonly number[] =>
      seqs(filled({ queueLimit: 10, ...settings }, 3, 10).queue.take(upTo));
    assert.deepEqual(taken({}, 2), [1, 2]);
    assert.deepEqual(taken({ flushAt: 1 }), [1]);
    assert.deepEqual(taken({ maxBatchSize: roomFor(32) }), [1, 2, 3]);
    assert.deepEqual(taken({ maxBatchSize: roomFor(31) }), [1, 2]);
    assert.deepEqual(taken({ maxBatchSize: roomFor(9) }), []);
  });
});

describe("first in, first out", () => {
  it("is an array, only faster", () => {
    const step = fc.oneof({ weight: 3, arbitrary: fc.constant("push") }, fc.constant("shift"), {
      weight: 2,
      arbitrary: fc.constant("many"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, inTheEnd) => {
        const fifo = createFifo<{ n: number }>();
        const model: { n: number }[] = [];
        let n = 0;
        const push = (): void => {
          n += 1;
          fifo.push({ n });
          model.push({ n });
        };
        for (const one of steps) {
          if (one === "push") push();
          else if (one === "many") for (let i = 0; i < 700; i += 1) push();
          else for (let i = 0; i < 600; i += 1) assert.deepEqual(fifo.shift(), model.shift());
          assert.equal(fifo.size(), model.length);
          assert.deepEqual(fifo.first(), model[0]);
        }
        if (inTheEnd) assert.deepEqual(fifo.takeAll(), model);
      }),
      { numRuns: 30 },
    );
  });
});
