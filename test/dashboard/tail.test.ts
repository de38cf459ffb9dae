import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { append, EMPTY_TAIL, type LiveEvent, MOST_ROWS, readLines, release } from "../../src/dashboard/tail.ts";

describe("the tail of live events", () => {
  it("has the newest event first", () => {
    const tail = append(append(EMPTY_TAIL, line("a", "b"), false), line("c"), false);
    assert.deepEqual(idsOf(tail.rows), ["c", "b", "a"]);
    assert.deepEqual(tail.counts, { accepted: 0, refused: 3, attempted: 0 });
  });

  it("drops the oldest rows, and gives no two rows the same number", () => {
    let tail = EMPTY_TAIL;
    for (let nth = 0; nth < 150; nth++) tail = append(tail, line(`a${nth}`, `b${nth}`), false);
    assert.equal(tail.rows.length, MOST_ROWS);
    assert.deepEqual(idsOf(tail.rows).slice(0, 2), ["b149", "a149"]);
    assert.equal(new Set(tail.rows.map(({ number }) => number)).size, MOST_ROWS);
    assert.equal(tail.unseen, 0);
  });

  it("counts what the daemon left out", () => {
    const tail = append(EMPTY_TAIL, { ...line("a"), omitted: 1_240 }, false);
    assert.equal(tail.unseen, 1_240);
  });

  it("keeps its rows while it is paused, and shows what was held back when it goes on", () => {
    const before = append(EMPTY_TAIL, line("a"), false);
    const paused = append(append(before, line("b"), true), line("c"), true);
    assert.deepEqual(idsOf(paused.rows), ["a"]);
    assert.deepEqual(idsOf(release(paused).rows), ["c", "b", "a"]);
    assert.deepEqual(release(paused).held, []);
  });

  it("holds back no more than the page can show, and counts the rest as never shown", () => {
    let tail = EMPTY_TAIL;
    for (let nth = 0; nth < MOST_ROWS + 3; nth++) tail = append(tail, line(`e${nth}`), true);
    assert.equal(tail.held.length, MOST_ROWS);
    assert.equal(tail.unseen, 3);
    assert.equal(idsOf(release(tail).rows)[0], `e${MOST_ROWS + 2}`);
  });
});

describe("lines of JSON", () => {
  it("are read as soon as they are whole, wherever the network cuts them", async () => {
    const bytes = new TextEncoder().encode('{"a":"→"}\n{"b":2}\n\n{"c":');
    for (let cut = 0; cut <= bytes.length; cut++) {
      const heard: unknown[] = [];
      await readLines(streamOf(bytes.subarray(0, cut), bytes.subarray(cut)), (one) => heard.push(one));
      assert.deepEqual(heard, [{ a: "→" }, { b: 2 }], `cut at ${cut}`);
    }
  });

  it("fail when they are not JSON", async () => {
    await assert.rejects(
      readLines(streamOf(new TextEncoder().encode("<html>\n")), () => {}),
      SyntaxError,
    );
  });
});

function line(...ids: readonly string[]) {
  return { events: ids.map(makeEvent), omitted: 0 };
}

function makeEvent(messageId: string): LiveEvent {
  return {
    kind: "refused",
    at: "2026-11-23T10:00:00.000Z",
    source: "web",
    type: "track",
    messageId,
    code: "missing_id",
    message: "m",
  };
}

function idsOf(rows: readonly { readonly event: LiveEvent }[]): readonly (string | null)[] {
  return rows.map(({ event }) => event.messageId);
}

function streamOf(...chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}
