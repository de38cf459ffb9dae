import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Entry } from "../../src/client/queue.ts";
import { createFifo, createQueue, type WhenFull } from "../../src/client/queue.ts";

const ALL = { upTo: Number.MAX_SAFE_INTEGER, most: 100, bytes: 1_000 };

function entry(seq: number, bytes = 1): Entry {
  return { seq, type: "track", messageId: `m${seq}`, text: "", ownTime: false, bytes };
}

function filled(whenFull: WhenFull, count: number, limit = 2) {
  const queue = createQueue(limit, whenFull);
  const added = Array.from({ length: count }, (_, index) => queue.add(entry(index + 1), "displace"));
  return { queue, added };
}

function seqs(entries: readonly Entry[]): readonly number[] {
  return entries.map(({ seq }) => seq);
}

describe("the queue", () => {
  it("says that it is full, when it is to reject", () => {
    const { queue, added } = filled("reject", 3);
    assert.deepEqual(
      added.map(({ kind }) => kind),
      ["queued", "queued", "full"],
    );
    assert.deepEqual(seqs(queue.take(ALL)), [1, 2]);
  });

  it("gives up the oldest, when it is to drop it", () => {
    const { queue, added } = filled("dropOldest", 3);
    assert.deepEqual(added[2], { kind: "displaced", oldest: entry(1) });
    assert.deepEqual(queue.add(entry(4), "keep"), { kind: "full" });
    assert.deepEqual(seqs(queue.take(ALL)), [2, 3]);
  });

  it("lets calls wait for room in their order, and as many of them as it holds", async () => {
    const { queue, added } = filled("block", 5);
    assert.deepEqual(
      added.map(({ kind }) => kind),
      ["queued", "queued", "waits", "waits", "full"],
    );
    assert.deepEqual(seqs(queue.take({ ...ALL, most: 1 })), [1]);
    await (added[2]?.kind === "waits" && added[2].room);
    assert.deepEqual(seqs(queue.take(ALL)), [2, 3]);
    await (added[3]?.kind === "waits" && added[3].room);
    assert.deepEqual(seqs(queue.drain()), [4]);
  });

  it("gives back all it has, who waits for room included, and keeps nobody waiting", async () => {
    const { queue, added } = filled("block", 4);
    assert.deepEqual(seqs(queue.drain()), [1, 2, 3, 4]);
    await Promise.all(added.map((one) => one.kind === "waits" && one.room));
    assert.deepEqual(queue.take(ALL), []);
  });

  it("takes a batch up to its bounds: a seq, a count, and bytes with a comma between two", () => {
    const bytes = [10, 10, 10];
    const taken = (bounds: object): readonly number[] => {
      const queue = createQueue(10, "reject");
      bytes.forEach((size, index) => void queue.add(entry(index + 1, size), "displace"));
      return seqs(queue.take({ ...ALL, ...bounds }));
    };
    assert.deepEqual(taken({ upTo: 2 }), [1, 2]);
    assert.deepEqual(taken({ most: 1 }), [1]);
    assert.deepEqual(taken({ bytes: 32 }), [1, 2, 3]);
    assert.deepEqual(taken({ bytes: 31 }), [1, 2]);
    assert.deepEqual(taken({ bytes: 9 }), []);
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
