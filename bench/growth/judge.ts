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
