/** Charts as SVG, by hand: a few lines over time, below each other, with the same seconds. */

export type Point = { readonly x: number; readonly y: number };
export type Curve = { readonly name: string; readonly colour: string; readonly points: readonly Point[] };

export type Chart = {
  /** What is on the upright axis, with its unit. */
  readonly label: string;
  readonly curves: readonly Curve[];
  /** A line across, at a value that something should stay below. */
  readonly bound?: { readonly name: string; readonly y: number };
};

/** A part of the time, which is told above the charts and shaded in every other one. */
export type Phase = { readonly name: string; readonly from: number; readonly to: number };

export type Drawing = {
  readonly title: string;
  /** What is on the lying axis, with its unit. */
  readonly label: string;
  readonly charts: readonly Chart[];
  readonly phases: readonly Phase[];
};

const WIDTH = 900;
const CHART = { left: 90, right: 870, height: 200, first: 84, distance: 250 };
const GREY = "#666";
const BOUND = "#b00020";
const DASHED = 'stroke-dasharray="5 4"';

/** The drawing as the text of a file. */
export function draw({ title, label, charts, phases }: Drawing): string {
  const end = Math.max(...phases.map(({ to }) => to));
  const height = CHART.first + (charts.length - 1) * CHART.distance + CHART.height + 60;
  const across = scale(end, { from: CHART.left, to: CHART.right });
  const parts = [
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    text({ x: CHART.left, y: 28 }, title, 'font-size="17" fill="black"'),
    ...phases.map(({ name, from, to }) =>
      text({ x: (across(from) + across(to)) / 2, y: CHART.first - 22 }, name, 'text-anchor="middle"'),
    ),
    ...charts.map((chart, nth) => drawChart(chart, { top: CHART.first + nth * CHART.distance, end, phases })),
    text({ x: (CHART.left + CHART.right) / 2, y: height - 14 }, label, 'text-anchor="middle"'),
  ];
  const head = `xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`;
  return `<svg ${head} font-family="sans-serif" font-size="13" fill="${GREY}">\n${parts.join("\n")}\n</svg>\n`;
}

type Frame = { readonly top: number; readonly end: number; readonly phases: readonly Phase[] };

function drawChart({ label, curves, bound }: Chart, { top, end, phases }: Frame): string {
  const bottom = top + CHART.height;
  const highest = Math.max(1, bound?.y ?? 0, ...curves.flatMap(({ points }) => points.map(({ y }) => y)));
  const marks = ticks(highest);
  const entries = [...(bound ? [{ name: bound.name, colour: BOUND, dashed: true }] : []), ...curves];
  const across = scale(end, { from: CHART.left, to: CHART.right });
  const up = scale(marks.at(-1) ?? highest, { from: bottom, to: top });
  return [
    ...phases.map((phase, nth) => shade(phase, nth, { top, across })),
    ...marks.map((mark) => gridLine(up(mark), mark.toLocaleString("en-US"))),
    ...ticks(end)
      .filter((mark) => mark <= end)
      .map((mark) => text({ x: across(mark), y: bottom + 18 }, String(mark), 'text-anchor="middle"')),
    ...(bound ? [boundLine(up(bound.y))] : []),
    ...curves.map(({ colour, points }) => {
      const path = points.map(({ x, y }) => `${round(across(x))},${round(up(y))}`).join(" ");
      return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>`;
    }),
    text({ x: CHART.left, y: top - 6 }, label, ""),
    ...entries.map((entry, nth) => legend({ x: CHART.right - 190 * (entries.length - nth), y: top - 6 }, entry)),
  ].join("\n");
}

type Shading = { readonly top: number; readonly across: (value: number) => number };

function shade({ from, to }: Phase, nth: number, { top, across }: Shading): string {
  const place = `x="${round(across(from))}" y="${top}" width="${round(across(to) - across(from))}" height="${CHART.height}"`;
  return `<rect ${place} fill="${nth % 2 === 0 ? "#f4f4f4" : "#e6ecf5"}"/>`;
}

function gridLine(y: number, value: string): string {
  const line = `<line x1="${CHART.left}" x2="${CHART.right}" y1="${round(y)}" y2="${round(y)}" stroke="#d0d0d0"/>`;
  return `${line}${text({ x: CHART.left - 8, y: y + 4 }, value, 'text-anchor="end"')}`;
}

function boundLine(y: number): string {
  const place = `x1="${CHART.left}" x2="${CHART.right}" y1="${round(y)}" y2="${round(y)}"`;
  return `<line ${place} stroke="${BOUND}" ${DASHED}/>`;
}

type Entry = { readonly name: string; readonly colour: string; readonly dashed?: boolean };

function legend({ x, y }: Point, { name, colour, dashed }: Entry): string {
  const place = `x1="${x}" x2="${x + 24}" y1="${y - 4}" y2="${y - 4}"`;
  const line = `<line ${place} stroke="${colour}" ${dashed ? DASHED : 'stroke-width="3"'}/>`;
  return `${line}${text({ x: x + 30, y }, name, "")}`;
}

function text({ x, y }: Point, words: string, attributes: string): string {
  return `<text x="${round(x)}" y="${round(y)}"${attributes === "" ? "" : ` ${attributes}`}>${escaped(words)}</text>`;
}

/** From zero on. */
function scale(most: number, { from, to }: { readonly from: number; readonly to: number }): (value: number) => number {
  return (value) => from + (value / most) * (to - from);
}

/** Round numbers from zero to the first that is not below the highest value: four to ten steps. */
export function ticks(highest: number): readonly number[] {
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [power / 5, power / 2, power].find((one) => highest / one <= 9) ?? power * 2;
  return Array.from({ length: Math.ceil(highest / step) + 1 }, (_, nth) => nth * step);
}

/** A tenth of a pixel is enough, and keeps the file small. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
