import { median } from "../statistics.ts";
import type { Cost } from "./measures.ts";
import type { MeasureName, Variation } from "./variations.ts";

/** All rounds of one variation. */
export type Grown = {
  readonly measure: MeasureName;
  readonly variation: Variation;
  readonly costs: readonly Cost[];
};

/** What an event costs at one number of rows: medians of the rounds. */
export type Level = Cost & {
  /** Beside the fewest rows. */
  readonly ratio: number;
};

export type Judged = Pick<Grown, "measure" | "variation"> & {
  readonly levels: readonly Level[];
  /** The highest ratio. That an event gets cheaper is no fault. */
  readonly worst: number;
  readonly met: boolean;
};

/** What a delivery costs when an event has several, with all that goes before it. */
export type Shared = Pick<Judged, "measure" | "variation" | "worst" | "met"> & {
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
