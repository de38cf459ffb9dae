import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Contender } from "../../bench/contender.ts";
import { resultOf, type Sample } from "../../bench/results.ts";
import type { Line, Wanted } from "../../bench/rows.ts";
import { median, percentile } from "../../bench/statistics.ts";
import { countDisturbed } from "../../bench/watch.ts";

describe("a result of the bench", () => {
  it("is the ratio of the medians, with the ratio of each round beside it", () => {
    const samples = [...rounds("floor", [100, 300, 200]), ...rounds("fairlead", [90, 150, 160])];
    const { base, fairlead, ratio, ratios } = resultOf(line({ least: 0.8 }), samples);
    assert.deepEqual([base, fairlead, ratio], [200, 150, 0.75]);
    assert.deepEqual(ratios, [0.5, 0.8, 0.9]);
  });

  it("is met at the wanted ratio, and missed on the other side of it", () => {
    const samples = [...rounds("floor", [100]), ...rounds("fairlead", [80])];
    const isMet = (wanted: Wanted) => resultOf(line(wanted), samples).met;
    assert.deepEqual([{ least: 0.8 }, { least: 0.81 }].map(isMet), [true, false]);
    assert.deepEqual([{ most: 0.8 }, { most: 0.79 }].map(isMet), [true, false]);
  });

  it("may compare Fairlead with itself", () => {
    const calm = rounds("fairlead", [4]).map((sample) => ({ ...sample, run: "calm steady 20" as const }));
    const base = { run: "calm steady 20", contender: "fairlead" } as const;
    const samples = [...calm, ...rounds("fairlead", [6])];
    assert.equal(resultOf({ ...line({ most: 2 }), base }, samples).ratio, 1.5);
  });

  it("may be wanted by itself, whatever the floor has", () => {
    const samples = [...rounds("floor", [10]), ...rounds("fairlead", [90, 110])];
    const isMet = (upTo: number) => resultOf(line({ upTo }), samples).met;
    assert.deepEqual([100, 99].map(isMet), [true, false]);
  });

  it("has no ratio where there is nothing to compare with", () => {
    const { base, ratio, ratios, met } = resultOf({ ...line({ upTo: 100 }), base: null }, rounds("fairlead", [90]));
    assert.deepEqual([base, ratio, ratios, met], [null, null, [], true]);
  });

  it("tells memory in megabytes", () => {
    const samples = [...rounds("floor", [50_000_000]), ...rounds("fairlead", [75_000_000])];
    const { base, fairlead, ratio } = resultOf({ ...line({ upTo: 60 }), unit: "MB" }, samples);
    assert.deepEqual([base, fairlead, ratio], [50, 75, 1.5]);
  });

  it("has a peer's number beside it, and the ratio to it", () => {
    const samples = [...rounds("floor", [100]), ...rounds("fairlead", [80])];
    assert.deepEqual(resultOf(line({ least: 0.8 }), samples).peers, []);
    const { peers, met } = resultOf(line({ least: 0.8 }), [...samples, ...rounds("bullmq", [20, 400, 160])]);
    assert.deepEqual([peers, met], [[{ peer: "bullmq", value: 160, ratio: 0.5 }], true]);
    const besideItself = { ...line({ least: 0.8 }), base: { run: "backlog", contender: "fairlead" } } as const;
    assert.deepEqual(resultOf(besideItself, [...samples, ...rounds("bullmq", [20])]).peers, []);
  });

  it("is missed if the Go program is faster than it may be", () => {
    const isMet = (go: number, leastOfGo: number) => {
      const samples = [...rounds("floor", [100]), ...rounds("fairlead", [80]), ...rounds("go", [go])];
      return resultOf({ ...line({ least: 0.8 }), leastOfGo }, samples).met;
    };
    assert.deepEqual([isMet(80, 1), isMet(81, 1), isMet(81, 0.5)], [true, false, true]);
  });

  it("is neither met nor missed where nothing is wanted", () => {
    assert.equal(resultOf({ ...line({ least: 0.8 }), wanted: null }, rounds("fairlead", [1])).met, null);
  });

  it("does not come from other runs", () => {
    const other = rounds("fairlead", [1]).map((sample) => ({ ...sample, run: "singles random" as const }));
    const samples = [...rounds("floor", [100]), ...rounds("fairlead", [80]), ...other];
    assert.equal(resultOf(line({ least: 0.8 }), samples).ratio, 0.8);
  });

  it("tells of runs during which other programs were busy", () => {
    const quiet = rounds("floor", [100, 100]);
    const disturbed = quiet.map((sample) => ({ ...sample, shares: { ...sample.shares, others: 0.5 } }));
    assert.equal(countDisturbed([...quiet, ...disturbed]), 2);
  });
});

describe("statistics", () => {
  it("takes the middle as the median, or the mean of the two in the middle", () => {
    assert.equal(median([30, 10, 20]), 20);
    assert.equal(median([40, 10, 30, 20]), 25);
  });

  it("takes the smallest number that is not below the wanted part", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    assert.deepEqual([percentile(hundred, 0.5), percentile(hundred, 0.99), percentile([7], 0.99)], [50, 99, 7]);
  });
});

function line(wanted: Wanted): Line {
  const base = { run: "backlog", contender: "floor" } as const;
  return { row: "drain", label: "draining", unit: "/s", base, run: "backlog", value: "drainedPerSecond", wanted };
}

function rounds(contender: Contender, numbers: readonly number[]): readonly Sample[] {
  const shares = { server: 1, mainThread: 1, queued: 0, load: 0, receiver: 0, others: 0 };
  return numbers.map((drainedPerSecond, index) => ({
    ...{ round: index + 1, contender, run: "backlog", shares },
    values: { drainedPerSecond },
  }));
}
