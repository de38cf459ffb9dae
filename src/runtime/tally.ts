/** Counters and histograms for the hot path: adding touches plain numbers only, and prom-client gets them at each scrape. */
import type { Histogram } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import type Registry from "prom-client/lib/registry.js";
import { type Ms, SECOND } from "../model/units.ts";

/** Counts by the value of one label. */
export type Row = { add(label: string | number, count?: number): void };
/** Rows by the values of all labels but the last. The same values give the same row: callers may keep it. */
type Tally = { row(...firsts: readonly string[]): Row } & Forgetful;
/** The same label values give timings of the same series. */
type HistogramOfLabels = { row(...values: readonly string[]): Timings } & Forgetful;
type Forgetful = {
  /** Removes the series whose first label has none of these values. */
  keep(firsts: { has(first: string): boolean }): void;
};

type Declaration = { readonly name: string; readonly help: string; readonly labels: readonly string[] };

type TallyOptions = Declaration & {
  /** Values of the last label that start at 0 with each row. */
  readonly known?: readonly string[];
};

/** Declares a counter with labels. */
export function createTally(registry: Registry, { name, help, labels, known = [] }: TallyOptions): Tally {
  const rows = new Map<string, CountedRow & { readonly firsts: readonly string[] }>();
  new Counter({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect() {
      this.reset();
      for (const { firsts, cells } of rows.values()) {
        for (const [last, { count }] of cells) this.inc(toLabels(labels, [...firsts, last]), count);
      }
    },
  });
  return {
    row(...firsts) {
      const key = firsts.length === 1 ? (firsts[0] ?? "") : JSON.stringify(firsts);
      const found = rows.get(key);
      if (found) return found;
      const row = { ...createRow(known), firsts };
      rows.set(key, row);
      return row;
    },
    keep(kept) {
      for (const [key, { firsts }] of rows) if (!kept.has(firsts[0] ?? "")) rows.delete(key);
    },
  };
}

type Label = string | number;
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

function toLabels(labels: readonly string[], values: readonly Label[]): Record<string, Label> {
  return Object.fromEntries(labels.map((label, nth) => [label, values[nth] ?? ""]));
}

/** How long things took. */
export type Timings = { took(duration: Ms): void };

type Series = {
  readonly values: readonly string[];
  /** How many took at most as long as each bucket, and longer than the one before. */
  readonly counts: number[];
  sum: Ms;
};

/** Declares a histogram in seconds. */
export function createHistogram(
  registry: Registry,
  { name, help, labels: labelNames, buckets }: Declaration & { readonly buckets: readonly number[] },
): HistogramOfLabels {
  const all = new Map<string, Series>();
  const metric = { name, help, labelNames, type: "histogram", aggregator: "sum" };
  const get = async () => ({
    ...metric,
    values: [...all.values()].flatMap(({ values, counts, sum }) => {
      const labels = toLabels(labelNames, values);
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
  });
  // The registry uses nothing else of a metric when it writes its text.
  registry.registerMetric({ ...metric, get } as unknown as Histogram);
  return {
    row(...values) {
      const key = JSON.stringify(values);
      const series = all.get(key) ?? { values, counts: [...buckets, "+Inf"].map(() => 0), sum: 0 };
      all.set(key, series);
      return timingsOf(series, buckets);
    },
    keep(kept) {
      for (const [key, { values }] of all) if (!kept.has(values[0] ?? "")) all.delete(key);
    },
  };
}

function timingsOf(series: Series, buckets: readonly number[]): Timings {
  return {
    took(duration) {
      let at = 0;
      while (duration > (buckets[at] ?? Number.POSITIVE_INFINITY) * SECOND) at += 1;
      series.counts[at] = (series.counts[at] ?? 0) + 1;
      series.sum += duration;
    },
  };
}
