import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Story } from "../../bench/million.ts";
import { drawStory } from "../../bench/million.ts";
import { draw, ticks } from "../../bench/plot.ts";

describe("the marks of an axis", () => {
  it("are round numbers, from zero to the first that is not below the highest value", () => {
    assert.deepEqual(ticks(100), [0, 20, 40, 60, 80, 100]);
    assert.deepEqual(ticks(175), [0, 20, 40, 60, 80, 100, 120, 140, 160, 180]);
    assert.deepEqual(ticks(230_000), [0, 50_000, 100_000, 150_000, 200_000, 250_000]);
  });

  it("are few enough to be read, whatever the value", () => {
    for (const highest of [1, 1.9, 2, 9, 10, 99, 1_234, 98_765, 1_000_001]) {
      const marks = ticks(highest);
      assert.ok(marks.length >= 5 && marks.length <= 11, `${highest}: ${marks.length}`);
      assert.ok((marks.at(-1) ?? 0) >= highest && (marks.at(-2) ?? 0) < highest, String(highest));
    }
  });
});

describe("a drawing", () => {
  const phases = [{ name: "all", from: 0, to: 10 }];
  const line = (ys: readonly number[]) => ({ name: "line", colour: "#123456", points: ys.map((y, x) => ({ x, y })) });

  it("puts zero at the bottom and the highest mark at the top", () => {
    const chart = { label: "things", curves: [line([0, 50, 100])] };
    const [[first, middle, last] = []] = curvesOf(draw({ title: "t", label: "s", charts: [chart], phases }));
    assert.deepEqual([first?.y, middle?.y, last?.y], [284, 184, 84]);
  });

  it("has room for a bound that nothing comes near", () => {
    const chart = { label: "things", curves: [line([0, 50])], bound: { name: "limit", y: 100 } };
    const [[, last] = []] = curvesOf(draw({ title: "t", label: "s", charts: [chart], phases }));
    assert.equal(last?.y, 184);
  });

  it("names its axes, its phases and its curves, and is XML whatever they are called", () => {
    const chart = { label: "a < b", curves: [line([1])] };
    const svg = draw({ title: "this & that", label: "seconds", charts: [chart], phases });
    for (const words of ["this &amp; that", "a &lt; b", "seconds", "all", "line"])
      assert.ok(svg.includes(`>${words}<`), words);
  });
});

describe("how a million went, drawn", () => {
  const story: Story = {
    takenAt: 2,
    drainsAt: 3,
    moments: [0, 1, 2, 3, 4, 5].map((at) => ({
      ...{ at, taken: Math.min(at, 2) * 1_000, delivered: Math.max(0, at - 3) * 500, memory: 100_000_000 },
    })),
  };

  it("has a curve for what was acknowledged, one for what was delivered, and one for the memory", () => {
    const [acknowledged, delivered, memory] = curvesOf(drawStory(story));
    assert.equal(acknowledged?.length, 4);
    assert.equal(delivered?.length, 4);
    assert.equal(memory?.length, 6);
    // At first 1,000 a second are acknowledged and none delivered; at the end it is 500 and none.
    assert.ok((acknowledged?.[0]?.y ?? 0) < (delivered?.[0]?.y ?? 0));
    assert.ok((acknowledged?.at(-1)?.y ?? 0) > (delivered?.at(-1)?.y ?? 0));
  });

  it("keeps a peak of memory, however short", () => {
    const moments = Array.from({ length: 4_000 }, (_, nth) => ({
      ...{ at: nth / 4, taken: nth, delivered: 0, memory: nth === 1_234 ? 200_000_000 : 100_000_000 },
    }));
    const [, , memory = []] = curvesOf(drawStory({ takenAt: 10, drainsAt: 20, moments }));
    assert.equal(new Set(memory.map(({ y }) => y)).size, 2);
  });

  it("is small, so that it can be part of the documentation, however long it took", () => {
    const moments = Array.from({ length: 4_000 }, (_, nth) => ({
      ...{ at: nth / 4, taken: nth * 5_000, delivered: nth * 4_000, memory: 100_000_000 + nth * 12_345 },
    }));
    assert.ok(drawStory({ takenAt: 10, drainsAt: 20, moments }).length < 60_000);
  });
});

function curvesOf(svg: string) {
  return [...svg.matchAll(/<polyline points="([^"]*)"/g)].map(([, points = ""]) =>
    points.split(" ").map((point) => {
      const [x, y] = point.split(",").map(Number);
      return { x, y };
    }),
  );
}
