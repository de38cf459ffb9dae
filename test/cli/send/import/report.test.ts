import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type About, refusalLine, toJson, toWords, whyStopped } from "../../../../src/cli/send/import/report.ts";
import type { Ended } from "../../../../src/cli/send/import/run.ts";
import { NOTHING } from "../../../../src/cli/send/import/state.ts";

const about: About = {
  ...{ name: "events.jsonl", begun: NOTHING, elapsed: 2_000 },
  ...{ refusedFile: "events.jsonl.refused", resumable: true },
};
const state = { offset: 9, line: 100, accepted: 100, duplicate: 0, refused: 0 };
const complete: Ended = { kind: "complete", state };
const stopped = { kind: "stopped", state, why: "http://f answers 401" } as const;

describe("the report of an import, in words", () => {
  it("says how many, in what time, and leaves out what there is none of", () => {
    const text = "Imported: events.jsonl, 100 lines in 2s, 50 lines a second.\n  accepted   100";
    assert.equal(toWords(complete, about), text);
  });

  it("says what came before, and where refused lines are", () => {
    const ended: Ended = { kind: "complete", state: { ...state, accepted: 90, duplicate: 7, refused: 3 } };
    assert.match(
      toWords(ended, about),
      /\n {2}accepted {3}90\n {2}duplicate {2}7; they came before, within 24 hours\n {2}refused {4}3; they are in events\.jsonl\.refused, each with why$/,
    );
    assert.match(toWords(ended, { ...about, refusedFile: null }), /\n {2}refused {4}3$/);
  });

  it("says from where it went on, and counts its own lines for the rate", () => {
    const begun = { ...NOTHING, line: 60 };
    assert.match(toWords(complete, { ...about, begun }), /, 100 lines from line 61 on in 2s, 20 lines a second\.\n/);
  });

  it("says why it stopped and how to go on", () => {
    const why = "the import of events.jsonl was stopped after line 100: http://f answers 401. ";
    assert.equal(whyStopped(stopped, about), `${why}The same command goes on at line 101`);
    assert.match(whyStopped(stopped, { ...about, resumable: false }), /\. Pipe in the same again: /);
    assert.match(whyStopped({ ...stopped, why: null }, about), /line 100: it was asked to stop\. The same/);
    const none = { ...stopped, state: NOTHING };
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
    const ended: Ended = { kind: "complete", state: { ...state, refused: 1 } };
    assert.equal(JSON.parse(toJson(ended, about)).refusedFile, "events.jsonl.refused");
  });
});

describe("a refused line", () => {
  it("is told with its number and why, and is safe to print", () => {
    const line = { line: 7, code: "unknown_type", message: 'got "\u001b[2J"', text: "" };
    assert.equal(refusalLine(line), 'line 7: unknown_type: got "\\u001b[2J"');
  });
});
