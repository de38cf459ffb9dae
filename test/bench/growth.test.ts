import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { judge, judgeShared, writeGrowth } from "../../bench/growth/judge.ts";
import type { Cost } from "../../bench/growth/measures.ts";
import { readGrowthOptions } from "../../bench/growth/options.ts";
import { wholeRows } from "../../bench/growth/stores.ts";
import { type Variation, variationsOf } from "../../bench/growth/variations.ts";

describe("the judgement of growth", () => {
  it("compares the median of each number of rows with that of the fewest", () => {
    const { levels } = judgementOf([...costs(10_000, [10, 30, 20]), ...costs(100_000, [50, 22, 24])]);
    assert.deepEqual(
      levels.map(({ rows, micros, ratio }) => ({ rows, micros, ratio })),
      [
        { rows: 10_000, micros: 20, ratio: 1 },
        { rows: 100_000, micros: 24, ratio: 1.2 },
      ],
    );
  });

  it("goes by the worst of them, also when it is not the last", () => {
    const { worst, met } = judgementOf([...costs(10, [10]), ...costs(100, [13]), ...costs(1_000, [11])]);
    assert.deepEqual([worst, met], [1.3, false]);
  });

  it("is met at the bound, and when an event gets cheaper", () => {
    assert.equal(judgementOf([...costs(10, [100]), ...costs(100, [125])]).met, true);
    assert.equal(judgementOf([...costs(10, [100]), ...costs(100, [126])]).met, false);
    assert.equal(judgementOf([...costs(10, [100]), ...costs(100, [40])]).met, true);
  });

  it("does not depend on the order of the rounds", () => {
    const { levels } = judgementOf([...costs(1_000, [3]), ...costs(10, [2]), ...costs(100, [1])]);
    assert.deepEqual(
      levels.map(({ rows }) => rows),
      [10, 100, 1_000],
    );
  });

  it("says so when there is nothing to judge", () => {
    assert.throws(() => judgementOf([]), /nothing was measured: taken, ids of the server/);
  });
});

describe("deliveries to many destinations", () => {
  const [one, ten] = variationsOf(["destinations"]) as [Variation, Variation];
  const alone = judge({ measure: "kept", variation: one, costs: [...costs(10, [20]), ...costs(100, [25])] });

  it("may cost what the only one of an event costs, with as many rows in the store", () => {
    const many = judge({ measure: "kept", variation: ten, costs: [...costs(10, [200]), ...costs(100, [500])] });
    const [shared] = judgeShared([alone, many]);
    assert.deepEqual(
      shared?.levels.map(({ micros, ratio }) => [micros, ratio]),
      [
        [20, 1],
        [50, 2],
      ],
    );
    assert.deepEqual([shared?.worst, shared?.met], [2, false]);
  });

  it("are not compared with what was measured otherwise", () => {
    const many = judge({ measure: "drained", variation: ten, costs: costs(10, [200]) });
    assert.equal(judgeShared([alone, many])[0]?.met, false);
    assert.deepEqual(judgeShared([alone]), []);
  });
});

describe("the tables of growth", () => {
  it("say what an event costs at each number of rows, and how many there were in a second", () => {
    const [head = "", row = "", , rates = ""] = linesOf([
      judgementOf([...costs(10_000, [10]), ...costs(100_000, [11])]),
    ]);
    assert.deepEqual(cellsOf(head), ["calls, while so many rows wait", "10,000", "100,000", "worst", "wanted"]);
    assert.deepEqual(cellsOf(row), ["ids of the server", "10.0 µs 1.00", "11.0 µs 1.10", "1.10", "≤ 1.25", "met"]);
    assert.deepEqual(cellsOf(rates), ["ids of the server", "100,000", "90,909"]);
  });

  it("leave out what was not measured at a number of rows", () => {
    const [, row = ""] = linesOf([judgementOf(costs(100, [10])), judgementOf(costs(10, [10]))]);
    assert.deepEqual(cellsOf(row).slice(1, 3), ["–", "10.0 µs 1.00"]);
  });

  it("are one for each measure", () => {
    const some = costs(10, [1]);
    const [variation] = variationsOf(["ids"]) as [Variation];
    const both = [judgementOf(some), judge({ measure: "kept", variation, costs: some })];
    assert.deepEqual(
      writeGrowth(both).match(/^(calls|deliveries|events).*?(?= {2})/gm),
      [
        "calls, while so many rows wait",
        "events a second",
        "calls and their deliveries, beside so many delivered rows",
      ].concat("events a second"),
    );
  });
});

describe("what growth is measured with", () => {
  it("allows random ids more than all others", () => {
    const lenient = variationsOf(["ids", "destinations", "batch"]).filter(({ most }) => most !== 1.25);
    assert.deepEqual(
      lenient.map(({ ids, most }) => [ids, most]),
      [["random", 1.5]],
    );
  });

  it("counts a row for each event at each destination, in whole requests", () => {
    const rowsOf = (label: string): number => {
      const variation = variationsOf(["destinations", "batch"]).find((one) => one.label === label);
      return variation ? wholeRows(10_000, variation) : 0;
    };
    assert.deepEqual(["100 destinations", "requests of 1", "requests of 2,500"].map(rowsOf), [10_000, 10_000, 10_000]);
    assert.equal(wholeRows(1, variationsOf(["ids"])[0] as Variation), 20);
  });
});

describe("the command line of growth", () => {
  it("measures everything if nothing is named", () => {
    const options = readGrowthOptions([]);
    assert.notEqual(options, "help");
    if (options === "help") return;
    assert.deepEqual(options.series, ["ids", "destinations", "batch"]);
    assert.deepEqual(options.amounts.levels, [10_000, 100_000, 1_000_000, 5_000_000]);
  });

  it("drains before it measures what is kept", () => {
    const measuresOf = (text: string) => {
      const options = readGrowthOptions(["--measures", text]);
      return options === "help" ? [] : options.measures;
    };
    assert.deepEqual(measuresOf("taken"), ["taken"]);
    assert.deepEqual(measuresOf("kept,taken"), ["taken", "drained", "kept"]);
  });

  it("says what is wrong with it", () => {
    assert.throws(
      () => readGrowthOptions(["--measures", "taken,lost"]),
      /growth has no measure lost; there are taken, /,
    );
    assert.throws(() => readGrowthOptions(["rows"]), /growth has no series rows; there are ids, destinations, batch/);
    assert.throws(() => readGrowthOptions(["--levels", "100,10"]), /--levels must go up \(got "100,10"\)/);
    assert.throws(() => readGrowthOptions(["--levels", "10,x"]), /--levels must be a whole number above 0 \(got "x"\)/);
  });
});

function judgementOf(some: readonly Cost[]) {
  const [variation] = variationsOf(["ids"]) as [Variation];
  return judge({ measure: "taken", variation, costs: some });
}

function costs(rows: number, micros: readonly number[]): readonly Cost[] {
  return micros.map((one) => ({ rows, micros: one, eventsPerSecond: 1_000_000 / one }));
}

function linesOf(judged: readonly ReturnType<typeof judge>[]): readonly string[] {
  return writeGrowth(judged)
    .split("\n")
    .filter((line) => line !== "");
}

function cellsOf(line: string): readonly string[] {
  return line.split(/ {2,}/);
}
