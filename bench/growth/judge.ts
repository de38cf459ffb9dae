import { median } from "../statistics.ts";
import { align } from "../table.ts";
import type { Cost } from "./measures.ts";
import type { MeasureName, Variation } from "./variations.ts";

/** All rounds of one variation. */
export type Grown = {
  readonly measure: MeasureName;
  readonly variation: Variation;
  readonly costs: readonly Cost[];
};

/** What an event costs at one number of rows: medians of the rounds. */
type Level = Cost & {
  /** Beside the fewest rows. */
  readonly ratio: number;
};

type Judged = Pick<Grown, "measure" | "variation"> & {
  readonly levels: readonly Level[];
  /** The highest ratio. That an event gets cheaper is no fault. */
  readonly worst: number;
  readonly met: boolean;
};

/** What a delivery costs when an event has several, with all that goes before it. */
type Shared = Pick<Judged, "measure" | "variation" | "worst" | "met"> & {
  /** `ratio`: beside an event that has one delivery, with as many rows in the store. */
  readonly levels: readonly Level[];
};

/** Whether an event costs as much with many rows in the store as with few. */
export function judge({ measure, variation, costs }: Grown): Judged {
  const byRows = [...Map.groupBy(costs, ({ rows }) => rows)].toSorted(([a], [b]) => a - b);
  const medians = byRows.map(([rows, some]) => ({
    rows,
    micros: median(some.map(({ micros }) => micros)),
    eventsPerSecond: median(some.map(({ eventsPerSecond }) => eventsPerSecond)),
  }));
  const [first] = medians;
  if (!first) throw new Error(`nothing was measured: ${measure}, ${variation.label}`);
  const levels = medians.map((level) => ({ ...level, ratio: level.micros / first.micros }));
  const worst = Math.max(...levels.map(({ ratio }) => ratio));
  return { measure, variation, levels, worst, met: worst <= variation.most };
}

/** Whether a delivery costs as much when an event goes to many destinations as when it goes to one. */
export function judgeShared(judged: readonly Judged[]): readonly Shared[] {
  return judged
    .filter(({ variation }) => variation.destinations > 1)
    .map(({ measure, variation, levels }) => {
      const alone = judged.find((one) => one.measure === measure && one.variation.destinations === 1);
      const shared = levels.map(({ rows, micros, eventsPerSecond }) => {
        const delivery = micros / variation.destinations;
        const base = alone?.levels.find((level) => level.rows === rows)?.micros ?? Number.NaN;
        return { rows, micros: delivery, eventsPerSecond, ratio: delivery / base };
      });
      const worst = Math.max(...shared.map(({ ratio }) => ratio));
      return { measure, variation, levels: shared, worst, met: worst <= variation.most };
    });
}

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
