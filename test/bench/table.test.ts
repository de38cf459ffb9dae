import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { linesOf } from "../../bench/lines.ts";
import type { Result, Sample } from "../../bench/results.ts";
import type { Line, RowName } from "../../bench/rows.ts";
import { writeMeetings, writeTables } from "../../bench/table.ts";

describe("the tables of the bench", () => {
  it("show no floor beside what has none", () => {
    const tables = writeTables([...resultsOf("latency"), ...resultsOf("reload")]).split("\n\n");
    assert.deepEqual(tables.map(headOf), [
      ["floor", "Fairlead", "ratio", "in each round", "wanted"],
      ["no reloads", "reloads", "ratio", "in each round", "wanted"],
    ]);
  });

  it("say what disturbs Fairlead where it is compared with itself", () => {
    const tables = writeTables([...resultsOf("isolation"), ...resultsOf("comeback")]).split("\n\n");
    assert.deepEqual(
      tables.map((table) => headOf(table).slice(0, 2)),
      [
        ["alone", "beside three sick"],
        ["no outage", "after one"],
      ],
    );
  });

  it("are one when one is enough", () => {
    assert.equal(writeTables(resultsOf("reload")).split("\n\n").length, 1);
  });

  it("say what was measured, beside what, and what was wanted", () => {
    const [, first = ""] = writeTables(resultsOf("latency")).split("\n");
    const cells = ["acknowledgement at 200 calls/s, p50", "2.00 ms", "3.00 ms", "1.50", "1.25–1.75", "≤ 2", "met"];
    assert.deepEqual(cellsOf(first), cells);
  });
});

describe("a table of the bench", () => {
  it("has a column for each peer that was measured", () => {
    const [result] = resultsOf("singles") as [Result];
    assert.deepEqual(headOf(writeTables([result])).slice(4), ["wanted"]);
    const [head = "", row = ""] = writeTables([{ ...result, peers: [{ peer: "go", value: 6, ratio: 0.5 }] }]).split(
      "\n",
    );
    assert.deepEqual(headOf(head).slice(4), ["Go + SQLite", "wanted"]);
    assert.deepEqual(cellsOf(row).slice(5, 7), ["6 /s 0.50", "≥ 0.8, ≥ 1.0 of Go"]);
  });

  it("shows numbers that only explain the others, and judges none of them", () => {
    const [result] = resultsOf("steady").filter(({ line }) => line.wanted === null) as [Result];
    const [, row = ""] = writeTables([{ ...result, met: null }]).split("\n");
    assert.equal(cellsOf(row).at(-1), "–");
  });

  it("says what is wanted by itself in its unit, and has nothing where nothing was measured", () => {
    const [line] = linesOf(["start"]).filter(({ base }) => base === null) as [Line];
    const alone = { line, base: null, fairlead: 312.5, peers: [], ratio: null, ratios: [], met: true };
    const [, row = ""] = writeTables([alone]).split("\n");
    const label = "start until the first acknowledged call, a million waiting";
    assert.deepEqual(cellsOf(row), [label, "–", "312.50 ms", "–", "–", "≤ 500 ms", "met"]);
  });
});

describe("how a receiver that has come back is met", () => {
  const shares = { server: 1, mainThread: 1, queued: 0, load: 0, receiver: 0, others: 0 };
  const met = (in10ms: number): Sample => {
    const values = { in10ms, in100ms: 2_500, in1s: 30_000 };
    return { round: 1, run: "comeback", contender: "fairlead", shares, values };
  };

  it("is told as the median of the rounds", () => {
    assert.match(
      writeMeetings([met(60), met(90), met(70)]),
      /gets 70 requests in the first 10 ms, 2,500 in the first 100/,
    );
  });

  it("is not told of other runs", () => {
    assert.equal(writeMeetings([{ ...met(60), run: "backlog" }]), "");
  });
});

function resultsOf(row: RowName): readonly Result[] {
  return linesOf([row]).map((line) => ({
    line,
    base: 2,
    fairlead: 3,
    peers: [],
    ratio: 1.5,
    ratios: [1.25, 1.75],
    met: true,
  }));
}

function headOf(table: string): readonly string[] {
  return cellsOf(table.split("\n", 1)[0] ?? "").slice(1);
}

function cellsOf(line: string): readonly string[] {
  return line.split(/ {2,}/);
}
