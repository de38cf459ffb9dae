import type { Check } from "./check.ts";
import type { Occupation, Result, Sample } from "./results.ts";
import type { Line, RowName } from "./rows.ts";
import { median } from "./statistics.ts";

/** The results as tables for people: Fairlead beside the floor, and beside itself when nothing disturbs it. */
export function writeTables(results: readonly Result[]): string {
  const tables = Map.groupBy(results, ({ line }) => columnsOf(line));
  return [...tables].map(([columns, rows]) => writeTable(columns, rows)).join("\n\n");
}

type Columns = readonly [base: string, fairlead: string];

const BESIDE_THE_FLOOR: Columns = ["floor", "Fairlead"];
const BESIDE_ITSELF: { readonly [Row in RowName]?: Columns } = {
  reload: ["no reloads", "reloads"],
  isolation: ["alone", "beside three sick"],
  comeback: ["no outage", "after one"],
  audience: ["idle", "during a sync"],
};

function columnsOf({ row, base }: Line): Columns {
  return (base?.contender === "fairlead" && BESIDE_ITSELF[row]) || BESIDE_THE_FLOOR;
}

const NOTHING = "–";

function writeTable(columns: Columns, results: readonly Result[]): string {
  const hasPeers = results.some(({ peer }) => peer !== null);
  const head = ["", ...columns, ...(hasPeers ? ["BullMQ"] : []), "ratio", "in each round", "wanted", ""];
  const rows = results.map(({ line, base, fairlead, peer, ratio, ratios, met }) => [
    line.label,
    writeNumber(base, line),
    writeNumber(fairlead, line),
    ...(hasPeers ? [writeNumber(peer, line)] : []),
    ratio?.toFixed(2) ?? NOTHING,
    ratios.length > 0 ? `${ratios[0]?.toFixed(2)}–${ratios.at(-1)?.toFixed(2)}` : NOTHING,
    writeWanted(line),
    met === null ? "" : met ? "met" : "missed",
  ]);
  return align([head, ...rows]);
}

const DIGITS: Readonly<Record<Line["unit"], number>> = { "/s": 0, s: 2, ms: 2, MB: 0, KB: 1, "%": 2, "": 2 };

function writeNumber(number: number | null, { unit }: Line): string {
  if (number === null || Number.isNaN(number)) return NOTHING;
  const digits = { minimumFractionDigits: DIGITS[unit], maximumFractionDigits: DIGITS[unit] };
  return `${number.toLocaleString("en-US", digits)} ${unit}`.trimEnd();
}

function writeWanted({ wanted, unit }: Line): string {
  if (wanted === null) return NOTHING;
  if ("upTo" in wanted) return `≤ ${wanted.upTo} ${unit}`.trimEnd();
  return "least" in wanted ? `≥ ${wanted.least}` : `≤ ${wanted.most}`;
}

/** How a receiver that was away is met: what it gets from the first request on. Empty if there was none. */
export function writeMeetings(samples: readonly Sample[]): string {
  const met = samples.filter(({ run }) => run === "comeback");
  if (met.length === 0) return "";
  const of = (name: string): string => {
    const middle = median(met.map(({ values }) => values[name] ?? Number.NaN));
    return Math.round(middle).toLocaleString("en-US");
  };
  return `a receiver that has come back gets ${of("in10ms")} requests in the first 10 ms, ${of("in100ms")} in the first 100 ms and ${of("in1s")} in the first second`;
}

/** How busy each part was, in percent of one core. */
export function writeOccupations(occupations: readonly Occupation[]): string {
  const head = ["percent of a core", "server", "its main thread", "waiting for a core", "load", "receiver", "others"];
  const rows = occupations.map(({ run, contender, shares }) => {
    const parts = [shares.server, shares.mainThread, shares.queued, shares.load, shares.receiver, shares.others];
    return [`${run}, ${contender}`, ...parts.map((share) => (share * 100).toFixed(0))];
  });
  return align([head, ...rows]);
}

/** What load and receiver can do at most. */
export function writeCheck({ ceilings, latency }: Check): string {
  const head = ["load straight to receiver", "requests", "load", "receiver"];
  const rows = ceilings.map(({ what, requestsPerSecond, loadMicros, receiverMicros }) => [
    what,
    `${Math.round(requestsPerSecond).toLocaleString("en-US")} /s`,
    `${loadMicros.toFixed(1)} µs of CPU each`,
    `${receiverMicros.toFixed(1)} µs of CPU each`,
  ]);
  const { p50, p99 } = latency;
  return `${align([head, ...rows])}\nan answer at once, at 200 calls/s: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
}

/** The first column to the left, the others to the right. */
export function align(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return rows.map((row) => row.map(pad).join("  ").trimEnd()).join("\n");
}
