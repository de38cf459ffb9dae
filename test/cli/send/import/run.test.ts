import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Ended, runImport } from "../../../../src/cli/send/import/run.ts";
import { NOTHING, type State } from "../../../../src/cli/send/import/state.ts";
import type { Deliver } from "../../../../src/cli/send/import-batch.ts";
import type { Batch, RefusedLine } from "../../../../src/cli/send/import-lines.ts";

/** Of three lines: two calls, with one that is none between them. */
function batchAt(index: number): Batch {
  const line = index * 3;
  const refused = [{ line: line + 2, code: "invalid_json", message: "is not JSON", text: "x" }];
  const calls = [1, 3].map((nth) => ({ line: line + nth, text: `{"sent":${line + nth}}` }));
  const own = [1, 3].map((nth) => `{"own":${line + nth}}`);
  return { calls, own, refused, end: { offset: (index + 1) * 30, line: line + 3 } };
}

async function* batchesUpTo(count: number): AsyncGenerator<Batch, void> {
  for (let index = 0; index < count; index++) yield batchAt(index);
}

const TAKEN = { kind: "taken", accepted: 2, duplicate: 0, rejected: [] } as const;

async function run(deliver: Deliver, { batches = batchesUpTo(3) as AsyncIterator<Batch>, begun = NOTHING } = {}) {
  const stopping = new AbortController();
  const log: string[] = [];
  const refused: RefusedLine[] = [];
  const journal = {
    begun,
    async keep(state: State, lines: readonly RefusedLine[]) {
      log.push(`kept ${state.line}`);
      refused.push(...lines);
    },
    finish: async () => void log.push("finished"),
  };
  const running = runImport(batches, {
    deliver(calls) {
      log.push(`sent ${calls[0]?.line}`);
      return deliver(calls);
    },
    ...{ journal, signal: stopping.signal, onBatch: () => {} },
  });
  return { running, stopping, log, refused };
}

function stateOf(ended: Ended): State {
  return ended.state;
}

describe("an import", () => {
  it("writes down each batch before it sends the next, and forgets at the end", async () => {
    const { running, log } = await run(async () => TAKEN);
    const ended = await running;
    assert.deepEqual(log, ["sent 1", "kept 3", "sent 4", "kept 6", "sent 7", "kept 9", "finished"]);
    const state = { offset: 90, line: 9, accepted: 6, duplicate: 0, refused: 3 };
    assert.deepEqual(ended, { kind: "complete", state });
  });

  it("lists what the daemon refused among what was no call, by line, as it stood there", async () => {
    const rejected = [{ index: 1, code: "missing_event", message: "You must pass 'event'." }];
    const { running, refused } = await run(async () => ({ ...TAKEN, accepted: 1, rejected }), {
      batches: batchesUpTo(1),
    });
    assert.equal(stateOf(await running).refused, 2);
    assert.deepEqual(
      refused.map(({ line, code, text }) => [line, code, text]),
      [
        [2, "invalid_json", "x"],
        [3, "missing_event", '{"own":3}'],
      ],
    );
  });

  it("adds to what an earlier run has done", async () => {
    const begun = { offset: 5, line: 1, accepted: 10, duplicate: 20, refused: 30 };
    const { running } = await run(async () => ({ ...TAKEN, duplicate: 1 }), { batches: batchesUpTo(1), begun });
    assert.deepEqual(stateOf(await running), { offset: 30, line: 3, accepted: 12, duplicate: 21, refused: 31 });
  });

  it("stops where nothing can be sent any more, and keeps where it was", async () => {
    const verdicts = [TAKEN, { kind: "given-up", why: "it is away" } as const];
    const { running, log } = await run(async () => verdicts.shift() ?? TAKEN);
    const ended = await running;
    assert.deepEqual(log, ["sent 1", "kept 3", "sent 4"]);
    assert.deepEqual([ended.kind, stateOf(ended).line], ["stopped", 3]);
  });

  it("leaves nothing behind if nothing was taken", async () => {
    const { running, log } = await run(async () => ({ kind: "given-up", why: "it is away" }));
    await running;
    assert.deepEqual(log, ["sent 1", "finished"]);
  });

  it("stops after the batch that is under way when it is asked to", async () => {
    const sent = Promise.withResolvers<typeof TAKEN>();
    const { running, stopping, log } = await run(() => sent.promise);
    stopping.abort();
    sent.resolve(TAKEN);
    assert.deepEqual(await running, { kind: "stopped", state: stateOf(await running), why: null });
    assert.deepEqual(log, ["sent 1", "kept 3"]);
  });

  it("stops while it waits for an input that says nothing", async () => {
    const silent: AsyncIterator<Batch> = { next: () => new Promise(() => {}) };
    const { running, stopping } = await run(async () => TAKEN, { batches: silent });
    stopping.abort();
    assert.deepEqual(await running, { kind: "stopped", state: NOTHING, why: null });
  });

  it("sends no request for lines without any call", async () => {
    const blank = { calls: [], own: [], refused: [], end: { offset: 2, line: 2 } };
    const batches = (async function* () {
      yield blank;
    })();
    const { running, log } = await run(() => assert.fail(), { batches });
    assert.equal(stateOf(await running).line, 2);
    assert.deepEqual(log, ["kept 2", "finished"]);
  });
});
