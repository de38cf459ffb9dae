import { align } from "../table.ts";
import { type Judged, judgeShared, type Level } from "./judge.ts";
import type { MeasureName } from "./variations.ts";

const TITLES: Readonly<Record<MeasureName, string>> = {
  taken: "calls, while so many rows wait",
  drained: "deliveries, while so many rows wait",
  kept: "calls and their deliveries, beside so many delivered rows",
};

/** For each measure a table of what an event costs, one of how many there were in a second, and one of deliveries. */
export function writeGrowth(judged: readonly Judged[]): string {
  return [...Map.groupBy(judged, ({ measure }) => measure)]
    .flatMap(([measure, results]) => {
      const shared = judgeShared(results);
      const deliveries = shared.length > 0 ? [writeCosts("each delivery, beside one destination", shared)] : [];
      return [writeCosts(TITLES[measure], results), writeRates(results), ...deliveries];
    })
    .join("\n\n");
}

function writeCosts(title: string, results: readonly Judged[]): string {
  const rows = results.map(({ variation, levels, worst, met }) => [
    variation.label,
    ...cells(levels, results, ({ micros, ratio }) => `${micros.toFixed(1)} µs ${ratio.toFixed(2)}`),
    ...[worst.toFixed(2), `≤ ${variation.most}`, met ? "met" : "missed"],
  ]);
  return align([[title, ...allRows(results).map(count), "worst", "wanted", ""], ...rows]);
}

function writeRates(results: readonly Judged[]): string {
  const rows = results.map(({ variation, levels }) => [
    variation.label,
    ...cells(levels, results, ({ eventsPerSecond }) => count(eventsPerSecond)),
  ]);
  return align([["events a second", ...allRows(results).map(count)], ...rows]);
}

/** Not each was measured at each number of rows. */
function cells(
  levels: readonly Level[],
  results: readonly Judged[],
  write: (level: Level) => string,
): readonly string[] {
  return allRows(results).map((wanted) => {
    const level = levels.find(({ rows }) => rows === wanted);
    return level ? write(level) : "–";
  });
}

function allRows(results: readonly Judged[]): readonly number[] {
  const rows = results.flatMap(({ levels }) => levels.map(({ rows }) => rows));
  return [...new Set(rows)].toSorted((a, b) => a - b);
}

function count(number: number): string {
  return Math.round(number).toLocaleString("en-US");
}
