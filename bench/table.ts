import type { Check } from "./check.ts";
import { PEERS, type Peer } from "./peers/peers.ts";
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
  spread: ["to one", "to 100"],
  reload: ["no reloads", "reloads"],
  isolation: ["alone", "beside three sick"],
  comeback: ["no outage", "after one"],
  fairness: ["alone", "beside a flood"],
  audience: ["idle", "during a sync"],
};

function columnsOf({ row, base }: Line): Columns {
  return (base?.contender === "fairlead" && BESIDE_ITSELF[row]) || BESIDE_THE_FLOOR;
}

const NOTHING = "–";
/** Beside each of their numbers stands which part of it Fairlead's is. */
const PEER_NAMES: Readonly<Record<Peer, string>> = { bullmq: "BullMQ", go: "Go + SQLite" };

function writeTable(columns: Columns, results: readonly Result[]): string {
  const measured = PEERS.filter((known) => results.some(({ peers }) => peers.some(({ peer }) => peer === known)));
  const head = ["", ...columns, "ratio", "in each round", ...measured.map((peer) => PEER_NAMES[peer]), "wanted", ""];
  const rows = results.map(({ line, base, fairlead, peers, ratio, ratios, met }) => [
    line.label,
    writeNumber(base, line),
    writeNumber(fairlead, line),
    ratio?.toFixed(2) ?? NOTHING,
    ratios.length > 0 ? `${ratios[0]?.toFixed(2)}–${ratios.at(-1)?.toFixed(2)}` : NOTHING,
    ...measured.map((known) =>
      writePeer(
        peers.find(({ peer }) => peer === known),
        line,
      ),
    ),
    writeWanted(line, measured.includes("go")),
    met === null ? "" : met ? "met" : "missed",
  ]);
  return align([head, ...rows]);
}

const DIGITS: Readonly<Record<Line["unit"], number>> = {
  "/s": 0,
  s: 2,
  ms: 2,
  µs: 1,
  MB: 0,
  KB: 1,
  "%": 2,
  connections: 0,
  handshakes: 0,
  "": 2,
};

function writeNumber(number: number | null, { unit }: Line): string {
  if (number === null || Number.isNaN(number)) return NOTHING;
  const digits = { minimumFractionDigits: DIGITS[unit], maximumFractionDigits: DIGITS[unit] };
  return `${number.toLocaleString("en-US", digits)} ${unit}`.trimEnd();
}

function writePeer(beside: Result["peers"][number] | undefined, line: Line): string {
  if (!beside || Number.isNaN(beside.value)) return NOTHING;
  return `${writeNumber(beside.value, line)} ${beside.value > 0 ? beside.ratio.toFixed(2) : NOTHING}`;
}

function writeWanted({ wanted, unit, leastOfGo }: Line, hasGo: boolean): string {
  if (wanted === null) return NOTHING;
  if ("upTo" in wanted) return `≤ ${wanted.upTo} ${unit}`.trimEnd();
  const ratio = "least" in wanted ? `≥ ${wanted.least}` : `≤ ${wanted.most}`;
  return hasGo && leastOfGo !== undefined ? `${ratio}, ≥ ${leastOfGo.toFixed(1)} of Go` : ratio;
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
