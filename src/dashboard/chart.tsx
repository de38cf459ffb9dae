import { useEffect, useRef, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/jsx-runtime";
import uPlot from "uplot";
import type { SeriesAnswer as Series } from "../wire/series.ts";
import * as words from "./words.ts";

export type { Series };

export type Line = {
  readonly name: keyof Series["series"];
  readonly label: string;
  readonly tone: "one" | "two" | "good" | "bad";
};

type ChartOf = {
  readonly title: string;
  readonly of: Series;
  readonly lines: readonly Line[];
  readonly unit: "per second" | "count" | "ms";
};

const HEIGHT = 150;

/** Several charts of the same time, side by side. */
export function Charts({ of, charts }: ChartsOf): JSX.Element {
  return (
    <div class="charts">
      {charts.map((chart) => (
        <Chart key={chart.title} of={of} {...chart} />
      ))}
    </div>
  );
}

type ChartsOf = { readonly of: Series; readonly charts: readonly Omit<ChartOf, "of">[] };

/** Lines over time. Next to the picture it says its last values as text, for those who do not see it. */
export function Chart({ title, of, lines, unit }: ChartOf): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const data = toData(of, lines);
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const made = new uPlot(optionsOf(box, { lines, unit }, setPointed), data, box);
    plot.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height: HEIGHT }));
    sizes.observe(box);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = (): void => made.redraw();
    scheme.addEventListener("change", redraw);
    return () => {
      sizes.disconnect();
      scheme.removeEventListener("change", redraw);
      made.destroy();
      plot.current = null;
    };
  }, [lines.map(({ name }) => name).join(), unit]);
  useEffect(() => {
    plot.current?.setData(data);
  });
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong>
        {pointed === null ? null : <span class="quiet">{words.clockTime(timeOf(of, pointed))}</span>}
        {lines.map((line) => (
          <span key={line.name} class="legend">
            <span class={`swatch ${line.tone}`} aria-hidden="true" /> {line.label}:{" "}
            {shownAt(of.series[line.name], pointed, unit)}
          </span>
        ))}
      </figcaption>
      <div ref={place} class="plot" aria-hidden="true" />
    </figure>
  );
}

function toData({ until, step, series }: Series, lines: readonly Line[]): uPlot.AlignedData {
  const rows = lines.map(({ name }) => series[name] ?? []);
  const length = rows[0]?.length ?? 0;
  const end = Date.parse(until);
  const times = Array.from({ length }, (_, nth) => (end - (length - 1 - nth) * step) / 1_000);
  return [times, ...rows.map((row) => [...row])];
}

function timeOf({ until, step, series }: Series, nth: number): string {
  const length = Object.values(series)[0]?.length ?? 0;
  return new Date(Date.parse(until) - (length - 1 - nth) * step).toISOString();
}

/** The value at the cursor, or else the last one. */
function shownAt(row: readonly (number | null)[] = [], nth: number | null, unit: ChartOf["unit"]): string {
  const value = row.at(nth ?? -1) ?? null;
  return value === null ? "–" : show(value, unit);
}

function show(value: number, unit: ChartOf["unit"]): string {
  if (unit === "per second") return `${words.rate(value)}/s`;
  return unit === "ms" ? words.duration(value) : words.count(Math.round(value));
}

type Drawn = { readonly lines: readonly Line[]; readonly unit: ChartOf["unit"] };

/** `point` hears which point the cursor is at; null: at none. */
function optionsOf(box: HTMLElement, { lines, unit }: Drawn, point: (nth: number | null) => void): uPlot.Options {
  const ink = (name: string) => () => getComputedStyle(box).getPropertyValue(`--${name}`);
  const axis = { stroke: ink("quiet"), grid: { stroke: ink("line"), width: 1 }, ticks: { show: false }, font: FONT };
  return {
    width: Math.max(box.clientWidth, 50),
    height: HEIGHT,
    // Room for half of the last time, which stands below the right edge.
    padding: [null, 28, null, null],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: { y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      Object.assign({ values: times, space: 80, size: 28 }, axis),
      Object.assign({ size: 56, values: labels }, axis),
    ],
    hooks: { setCursor: [({ cursor }) => point(cursor.idx ?? null)] },
    series: [
      {},
      ...lines.map(({ label, tone }) => ({ label, stroke: ink(`chart-${tone}`), width: 1.5, points: { show: false } })),
    ],
  };

  /** In the reader's zone and form, with seconds while there are few points. */
  function times(_plot: uPlot, splits: readonly number[], _axis: number, _space: number, step: number): string[] {
    return splits.map((at) => (step < 60 ? words.clockTime : words.minute)(new Date(at * 1_000).toISOString()));
  }

  function labels(_plot: uPlot, splits: readonly number[]): string[] {
    return splits.map((value) => (unit === "ms" ? words.duration(value) : words.rate(value)));
  }
}

const FONT = "12px system-ui, sans-serif";
