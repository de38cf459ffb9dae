import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  type About,
  createRefusedList,
  type Ended,
  refusalLine,
  runImport,
  toJson,
  toWords,
  whyStopped,
} from "../../../src/cli/send/import.ts";
import type { Deliver } from "../../../src/cli/send/import-batch.ts";
import type { Batch, RefusedLine } from "../../../src/cli/send/import-lines.ts";

/** Of three lines: two calls, with one that is none between them. */
function batchAt(index: number): Batch {
  const line = index * 3;
  const refused = [{ line: line + 2, code: "invalid_json", message: "is not JSON", text: "x" }];
  const calls = [1, 3].map((nth) => ({ line: line + nth, text: `{"sent":${nth}}`, original: `{"own":${line + nth}}` }));
  return { calls, refused, start: index * 30, end: (index + 1) * 30, lastLine: line + 3 };
}

async function* batchesUpTo(count: number): AsyncGenerator<Batch, void> {
  for (let index = 0; index < count; index++) yield batchAt(index);
}

const TAKEN = { kind: "taken", accepted: 2, duplicate: 0, rejected: [] } as const;
const NOTHING = { line: 0, accepted: 0, duplicate: 0, refused: 0 };

function run(deliver: Deliver, batches: AsyncIterator<Batch> = batchesUpTo(3)) {
  const stopping = new AbortController();
  const log: string[] = [];
  const refused: RefusedLine[] = [];
  const running = runImport(batches, {
    deliver(calls) {
      log.push(`sent ${calls[0]?.line}`);
      return deliver(calls);
    },
    async listRefused(lines) {
      log.push(`listed ${lines.map(({ line }) => line)}`);
      refused.push(...lines);
    },
    signal: stopping.signal,
    onBatch: () => {},
  });
  return { running, stopping, log, refused };
}

describe("an import", () => {
  it("lists the refused lines of each batch before it sends the next", async () => {
    const { running, log } = run(async () => TAKEN);
    const ended = await running;
    assert.deepEqual(log, ["sent 1", "listed 2", "sent 4", "listed 5", "sent 7", "listed 8"]);
    assert.deepEqual(ended, { kind: "complete", tally: { line: 9, accepted: 6, duplicate: 0, refused: 3 } });
  });

  it("lists what the daemon refused among what was no call, by line, as it stood there", async () => {
    const why = { code: "missing_event", message: "You must pass 'event'." };
    const { running, refused } = run(
      async (calls) => ({ ...TAKEN, accepted: 1, rejected: calls.slice(1).map((call) => ({ call, ...why })) }),
      batchesUpTo(1),
    );
    assert.equal((await running).tally.refused, 2);
    assert.deepEqual(
      refused.map(({ line, code, text }) => [line, code, text]),
      [
        [2, "invalid_json", "x"],
        [3, "missing_event", '{"own":3}'],
      ],
    );
  });

  it("stops where nothing can be sent any more, and says where it was", async () => {
    const verdicts = [TAKEN, { kind: "given-up", why: "it is away" } as const];
    const { running, log } = run(async () => verdicts.shift() ?? TAKEN);
    const ended = await running;
    assert.deepEqual(log, ["sent 1", "listed 2", "sent 4"]);
    assert.deepEqual([ended.kind, ended.tally.line], ["stopped", 3]);
  });

  it("stops after the batch that is under way when it is asked to", async () => {
    const [sending, sent] = [Promise.withResolvers<void>(), Promise.withResolvers<typeof TAKEN>()];
    const { running, stopping, log } = run(() => {
      sending.resolve();
      return sent.promise;
    });
    await sending.promise;
    stopping.abort();
    sent.resolve(TAKEN);
    assert.partialDeepStrictEqual(await running, { kind: "stopped", tally: { line: 3 }, why: null });
    assert.deepEqual(log, ["sent 1", "listed 2"]);
  });

  it("stops while it waits for an input that says nothing", async () => {
    const silent: AsyncIterator<Batch> = { next: () => new Promise(() => {}) };
    const { running, stopping } = run(async () => TAKEN, silent);
    stopping.abort();
    assert.deepEqual(await running, { kind: "stopped", tally: NOTHING, why: null });
  });

  it("sends no request for lines without any call", async () => {
    const batches = (async function* () {
      yield { calls: [], refused: [], start: 0, end: 2, lastLine: 2 };
    })();
    const { running } = run(() => assert.fail(), batches);
    assert.deepEqual(await running, { kind: "complete", tally: { ...NOTHING, line: 2 } });
  });
});

describe("the list of refused lines", () => {
  const lines = [1, 2].map((line) => ({ line, code: "invalid_json", message: "is not JSON", text: "zwölf" }));
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");

  async function makePath(): Promise<AsyncDisposable & { readonly path: string }> {
    const folder = await mkdtemp(join(tmpdir(), "fairlead-refused-"));
    return { path: join(folder, "a.refused"), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  }

  it("has all of them, for its owner alone: they are personal data", async () => {
    await using made = await makePath();
    const list = createRefusedList(made.path, { append: false });
    for (const line of lines) await list([line]);
    await list([]);
    assert.equal(await readFile(made.path, "utf8"), text);
    assert.equal((await stat(made.path)).mode & 0o777, 0o600);
  });

  it("takes the place of an earlier one with the first batch, and is gone if there is nothing in it", async () => {
    await using made = await makePath();
    await writeFile(made.path, "an earlier one, which is longer\n".repeat(9));
    const list = createRefusedList(made.path, { append: false });
    assert.match(await readFile(made.path, "utf8"), /earlier/);
    await list(lines);
    assert.equal(await readFile(made.path, "utf8"), text);
    await createRefusedList(made.path, { append: false })([]);
    await assert.rejects(stat(made.path), { code: "ENOENT" });
  });

  it("is added to by an import that begins later in the file", async () => {
    await using made = await makePath();
    await createRefusedList(made.path, { append: false })(lines);
    await createRefusedList(made.path, { append: true })(lines);
    assert.equal(await readFile(made.path, "utf8"), text + text);
  });

  it("is not written for a pipe", async () => {
    await createRefusedList(null, { append: false })(lines);
  });
});

const about: About = { name: "events.jsonl", fromLine: 1, elapsed: 2_000, refusedFile: "events.jsonl.refused" };
const tally = { line: 100, accepted: 100, duplicate: 0, refused: 0 };
const complete: Ended = { kind: "complete", tally };
const stopped = { kind: "stopped", tally, why: "http://f answers 401" } as const;

describe("the report of an import, in words", () => {
  it("says how many, in what time, and leaves out what there is none of", () => {
    const text = "Imported: events.jsonl, 100 lines in 2s, 50 lines/s.\n  accepted   100";
    assert.equal(toWords(complete, about), text);
  });

  it("says what came before, and where refused lines are", () => {
    const ended: Ended = { kind: "complete", tally: { ...tally, accepted: 90, duplicate: 7, refused: 3 } };
    assert.match(
      toWords(ended, about),
      /\n {2}accepted {3}90\n {2}duplicate {2}7; the daemon already had them\n {2}refused {4}3; events\.jsonl\.refused lists them with the reasons$/,
    );
    assert.match(toWords(ended, { ...about, refusedFile: null }), /\n {2}refused {4}3$/);
  });

  it("says from which line on, and counts its own lines", () => {
    assert.match(toWords(complete, { ...about, fromLine: 61 }), /, 40 lines from line 61 in 2s, 20 lines\/s\.\n/);
    assert.match(toWords({ ...complete, tally: NOTHING }, { ...about, fromLine: 61 }), /, 0 lines from line 61 in/);
  });

  it("says why it stopped and how to continue", () => {
    const why = "the import of events.jsonl stopped after line 100: ";
    const next = ". To continue, run it again with --from-line 101";
    assert.equal(whyStopped(stopped, about), `${why}http://f answers 401${next}`);
    assert.equal(whyStopped({ ...stopped, why: null }, about), `${why}interrupted${next}`);
    const none = { ...stopped, tally: NOTHING };
    assert.equal(whyStopped(none, about), "nothing of events.jsonl was imported: http://f answers 401");
  });
});

describe("the report of an import, for a program", () => {
  it("has the counts, and why it stopped", () => {
    const counts = { lines: 100, accepted: 100, duplicate: 0, refused: 0 };
    const expected = { input: "events.jsonl", complete: true, ...counts, elapsedMs: 2_000 };
    assert.deepEqual(JSON.parse(toJson(complete, about)), expected);
    const message = whyStopped(stopped, about);
    assert.deepEqual(JSON.parse(toJson(stopped, about)), { ...expected, complete: false, message });
  });

  it("names the list of refused lines if there are any", () => {
    const ended: Ended = { kind: "complete", tally: { ...tally, refused: 1 } };
    assert.equal(JSON.parse(toJson(ended, about)).refusedFile, "events.jsonl.refused");
  });
});

describe("a refused line", () => {
  it("is printed with its number and why, and is safe to print", () => {
    const line = { line: 7, code: "unknown_type", message: 'got "\u001b[2J"', text: "" };
    assert.equal(refusalLine(line), 'line 7: unknown_type: got "\\u001b[2J"');
  });
});
