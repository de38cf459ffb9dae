import type { Histogram } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import type Registry from "prom-client/lib/registry.js";
import { type Ms, SECOND } from "../model/units.ts";

/** Numbers that only rise, by the value of one label. */
export type Row = { add(label: Label, count?: number): void };
/** Rows by the values of all labels but the last. The row of the same values stays the same: callers may keep it. */
export type Tally = { row(...firsts: readonly string[]): Row };
export type Label = string | number;

type Naming = { readonly registry: Registry; readonly name: string; readonly help: string };

export type TallyOptions = Naming & {
  readonly labels: readonly [string, string, ...string[]];
  /** Values of the last label that start at 0 with each row. */
  readonly known?: readonly string[];
};

/**
 * Declares a counter with two labels or more. Adding touches plain numbers only, a few nanoseconds each; prom-client gets them
 * when somebody asks for the text.
 */
export function createTally({ registry, name, help, labels, known = [] }: TallyOptions): Tally {
  const rows = new Map<string, { readonly firsts: readonly string[]; readonly row: CountedRow }>();
  new Counter({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect() {
      this.reset();
      for (const { firsts, row } of rows.values()) {
        for (const [last, { count }] of row.cells) this.inc(toLabels(labels, [...firsts, last]), count);
      }
    },
  });
  return {
    row(...firsts) {
      const [first = ""] = firsts;
      const key = firsts.length === 1 ? first : JSON.stringify(firsts);
      const found = rows.get(key);
      if (found) return found.row;
      const row = createRow(known);
      rows.set(key, { firsts, row });
      return row;
    },
  };
}

function toLabels(labels: readonly string[], values: readonly Label[]): Record<string, Label> {
  return Object.fromEntries(labels.map((label, nth) => [label, values[nth] ?? ""]));
}

/** Declares a counter with one label, in the same way. */
export function createRowCounter({ registry, name, help, label }: Naming & { readonly label: string }): Row {
  const row = createRow([]);
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, { count }] of row.cells) this.inc({ [label]: value }, count);
    },
  });
  return row;
}

/** How long things took, in milliseconds. */
export type Timings = { took(duration: Ms): void };

/**
 * Declares a histogram in seconds with two labels; each pair of their values has timings of its own. Adding touches plain
 * numbers only, as above.
 */
export function createHistogram(
  { registry, name, help, labels }: Omit<TallyOptions, "known">,
  buckets: readonly number[],
): (first: string, second: string) => Timings {
  const all = new Map<string, { readonly labels: Labels; readonly counts: number[]; sum: Ms }>();
  const [firstLabel, secondLabel] = labels;
  const metric = {
    ...{ name, help, type: "histogram", aggregator: "sum" },
    get: async () => ({
      ...{ name, help, type: "histogram", aggregator: "sum" },
      values: [...all.values()].flatMap(({ labels, counts, sum }) => {
        let count = 0;
        const steps = [...buckets, "+Inf"].map((le, nth) => {
          count += counts[nth] ?? 0;
          return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
        });
        return [
          ...steps,
          { metricName: `${name}_sum`, labels, value: sum / SECOND },
          { metricName: `${name}_count`, labels, value: count },
        ];
      }),
    }),
  };
  // It is all that the registry asks of a metric when it writes its text.
  registry.registerMetric(metric as unknown as Histogram);
  return (first, second) => {
    const key = JSON.stringify([first, second]);
    const counts = buckets.map(() => 0);
    const fresh = { labels: { [firstLabel]: first, [secondLabel]: second }, counts: [...counts, 0], sum: 0 };
    const timings = all.get(key) ?? fresh;
    all.set(key, timings);
    return {
      took(duration) {
        const nth = buckets.findIndex((bucket) => duration <= bucket * SECOND);
        const at = nth < 0 ? buckets.length : nth;
        timings.counts[at] = (timings.counts[at] ?? 0) + 1;
        timings.sum += duration;
      },
    };
  };
}

type Labels = Readonly<Record<string, string>>;

type CountedRow = Row & { readonly cells: ReadonlyMap<Label, { count: number }> };

function createRow(known: readonly string[]): CountedRow {
  const cells = new Map<Label, { count: number }>(known.map((label) => [label, { count: 0 }]));
  return {
    cells,
    add(label, count = 1) {
      const cell = cells.get(label);
      if (cell) cell.count += count;
      else cells.set(label, { count });
    },
  };
}
