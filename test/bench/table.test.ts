import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Result } from "../../bench/results.ts";
import { linesOf, type RowName } from "../../bench/rows.ts";
import { writeTables } from "../../bench/table.ts";

describe("the tables of the bench", () => {
  it("show no floor beside what has none", () => {
    const tables = writeTables([...resultsOf("latency"), ...resultsOf("reload")]).split("\n\n");
    assert.deepEqual(tables.map(headOf), [
      ["floor", "Fairlead", "ratio", "in each round", "wanted"],
      ["no reloads", "reloads", "ratio", "in each round", "wanted"],
    ]);
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

function resultsOf(row: RowName): readonly Result[] {
  return linesOf([row]).map((line) => ({ line, base: 2, fairlead: 3, ratio: 1.5, ratios: [1.25, 1.75], met: true }));
}

function headOf(table: string): readonly string[] {
  return cellsOf(table.split("\n", 1)[0] ?? "").slice(1);
}

function cellsOf(line: string): readonly string[] {
  return line.split(/ {2,}/);
}
