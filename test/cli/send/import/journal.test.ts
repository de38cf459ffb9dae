import assert from "node:assert/strict";
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Journal, openJournal } from "../../../../src/cli/send/import/journal.ts";
import { NOTHING, type State, targetOf } from "../../../../src/cli/send/import/state.ts";
import { openBytes } from "../../../../src/runtime/input.ts";

const TEXT = "one\ntwo\nthree\n";
const AFTER_TWO: State = { offset: 8, line: 2, accepted: 1, duplicate: 0, refused: 1 };
const REFUSED = { line: 2, code: "invalid_json", message: "is not JSON", text: "two" };

type Folder = AsyncDisposable & {
  readonly path: string;
  names(): Promise<readonly string[]>;
  read(suffix: string): Promise<string>;
  open(options?: { readonly key?: string }): Promise<Journal | string>;
};

/** A folder with events.jsonl in it. */
async function makeFolder(): Promise<Folder> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-journal-"));
  const path = join(folder, "events.jsonl");
  await writeFile(path, TEXT);
  const closing: (() => Promise<void>)[] = [];
  return {
    path,
    names: async () => (await readdir(folder)).toSorted(),
    read: (suffix) => readFile(`${path}${suffix}`, "utf8"),
    async open({ key = "key" } = {}) {
      const opened = await openBytes(path);
      if (!opened.ok) throw new Error(opened.why);
      closing.push(opened.source.close);
      return openJournal({ path, source: opened.source, base: "http://f", target: targetOf("http://f", key) });
    },
    async [Symbol.asyncDispose]() {
      for (const close of closing) await close();
      await rm(folder, { recursive: true });
    },
  };
}

function journalOf(opened: Journal | string): Journal {
  return typeof opened === "string" ? assert.fail(opened) : opened;
}

describe("the journal of an import", () => {
  it("goes on where an earlier run has stopped, and is gone at the end", async () => {
    await using f = await makeFolder();
    const first = journalOf(await f.open());
    assert.deepEqual(first.begun, NOTHING);
    await first.keep(AFTER_TWO, []);
    const second = journalOf(await f.open());
    assert.partialDeepStrictEqual(second.begun, AFTER_TWO);
    await second.finish();
    assert.deepEqual(await f.names(), ["events.jsonl"]);
  });

  it("is for its user alone: it names the target, and refused lines are personal data", async () => {
    await using f = await makeFolder();
    await journalOf(await f.open()).keep(AFTER_TWO, [REFUSED]);
    for (const suffix of [".fairlead-progress", ".refused"]) {
      assert.equal((await stat(`${f.path}${suffix}`)).mode & 0o777, 0o600);
    }
    assert.doesNotMatch(await f.read(".fairlead-progress"), /key/);
  });

  it("lists refused lines once, also if it was interrupted between the list and the progress", async () => {
    await using f = await makeFolder();
    const first = journalOf(await f.open());
    await first.keep(AFTER_TWO, [REFUSED]);
    await appendFile(`${f.path}.refused`, '{"line":3,"code":"invalid_json"}\n{"li');
    const second = journalOf(await f.open());
    await second.keep({ ...AFTER_TWO, offset: 14, line: 3, refused: 2 }, [{ ...REFUSED, line: 3, text: "three" }]);
    const lines = (await f.read(".refused")).trimEnd().split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      [REFUSED, { ...REFUSED, line: 3, text: "three" }],
    );
  });

  it("keeps the list of an earlier import until this one has come to something", async () => {
    await using f = await makeFolder();
    await writeFile(`${f.path}.refused`, "old\n");
    const journal = journalOf(await f.open());
    assert.equal(await f.read(".refused"), "old\n");
    await journal.keep(AFTER_TWO, []);
    assert.deepEqual(await f.names(), ["events.jsonl", "events.jsonl.fairlead-progress"]);
  });

  it("takes a file that has grown, and refuses one that is another", async () => {
    await using f = await makeFolder();
    await journalOf(await f.open()).keep(AFTER_TWO, []);
    await appendFile(f.path, "four\n");
    assert.equal(journalOf(await f.open()).begun.line, 2);
    for (const text of ["one\nTwo\nthree\n", "zero\none\ntwo\n", "one\n", ""]) {
      await writeFile(f.path, text);
      assert.equal(
        await f.open(),
        `${f.path} is not what it was when its import was interrupted after line 2: ` +
          `remove ${f.path}.fairlead-progress to begin anew`,
      );
    }
  });

  it("refuses to go on at another address, or with another write key", async () => {
    await using f = await makeFolder();
    await journalOf(await f.open()).keep(AFTER_TWO, []);
    const message = `an import of ${f.path} to http://f was interrupted, and this is another address or write key`;
    assert.ok(String(await f.open({ key: "other" })).startsWith(message));
  });

  it("refuses what it has not written itself", async () => {
    await using f = await makeFolder();
    await journalOf(await f.open()).keep(AFTER_TWO, []);
    const whole = JSON.parse(await f.read(".fairlead-progress"));
    for (const text of [
      "",
      "{",
      "null",
      JSON.stringify({ ...whole, line: -1 }),
      JSON.stringify({ ...whole, version: 2 }),
    ]) {
      await writeFile(`${f.path}.fairlead-progress`, text);
      assert.match(String(await f.open()), /is not what an import writes: remove it to begin anew$/);
    }
  });

  it("says before anything is sent that it cannot be written", async () => {
    await using f = await makeFolder();
    await mkdir(`${f.path}.fairlead-progress.new`);
    await assert.rejects(f.open(), { message: `cannot write ${f.path}.fairlead-progress: it is a folder` });
  });

  it("keeps nothing of what cannot be read again", async () => {
    const pipe = { size: null, pieces: () => assert.fail(), part: () => assert.fail(), close: async () => {} };
    const journal = journalOf(await openJournal({ path: null, source: pipe, base: "", target: "" }));
    await journal.keep(AFTER_TWO, [REFUSED]);
    assert.deepEqual([journal.begun, journal.refusedFile], [NOTHING, null]);
  });
});
