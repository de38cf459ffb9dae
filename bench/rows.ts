/** The lines of the table: what is measured, how much of the floor's number is wanted, and which runs it takes. */
import type { Contender } from "./contender.ts";
import { type Bench, type Measured, measureBacklog, measureSingles, measureSteady } from "./measure.ts";
import { IDS, type Ids } from "./requests.ts";

export const ROW_NAMES = ["singles", "batches", "drain", "cpu", "latency"] as const;
export type RowName = (typeof ROW_NAMES)[number];

export type Line = {
  readonly row: RowName;
  readonly label: string;
  /** How numbers of this kind are written. */
  readonly unit: "/s" | "s" | "ms";
  /** The run that gives each contender's number, and the number's name in it. */
  readonly runs: Readonly<Record<Contender, RunName>>;
  readonly value: string;
  readonly wanted: Wanted;
};

/** Fairlead's number, as a part of the floor's. */
export type Wanted = { readonly least: number } | { readonly most: number };

/** What is done with a server in one go. */
export type RunName = `singles ${Ids}` | `batches ${Ids}` | "backlog" | "steady";

export function measure(run: RunName, contender: Contender, bench: Bench): Promise<Measured> {
  const [kind, ids = "none"] = run.split(" ") as [string, Ids?];
  if (kind === "singles") return measureSingles(contender, ids, bench);
  if (kind === "batches") return measureBacklog(contender, { ids, drain: false }, bench);
  if (kind === "backlog") return measureBacklog(contender, { ids, drain: true }, bench);
  return measureSteady(contender, ids, bench);
}

export function linesOf(rows: readonly RowName[]): readonly Line[] {
  return LINES.filter(({ row }) => rows.includes(row));
}

const ID_LABELS: Readonly<Record<Ids, string>> = {
  none: "no messageId",
  ordered: "time-ordered messageIds",
  random: "random messageIds",
};

/** The floor does not look at messageIds, so it has one number for all of them. */
const LINES: readonly Line[] = [
  ...IDS.map<Line>((ids) => ({
    row: "singles",
    label: `single calls delivered, ${ID_LABELS[ids]}`,
    unit: "/s",
    runs: { floor: "singles none", fairlead: `singles ${ids}` },
    value: "perSecond",
    wanted: { least: 0.8 },
  })),
  ...IDS.map<Line>((ids) => ({
    row: "batches",
    label: `events in batches of 100, ${ID_LABELS[ids]}`,
    unit: "/s",
    runs: { floor: "backlog", fairlead: ids === "none" ? "backlog" : `batches ${ids}` },
    value: "acceptedPerSecond",
    wanted: { least: 0.7 },
  })),
  {
    row: "drain",
    label: "draining them to one receiver",
    unit: "/s",
    runs: { floor: "backlog", fairlead: "backlog" },
    value: "drainedPerSecond",
    wanted: { least: 0.8 },
  },
  ...IDS.map<Line>((ids) => ({
    row: "cpu",
    label: `CPU for 100,000 single calls, ${ID_LABELS[ids]}`,
    unit: "s",
    runs: { floor: "singles none", fairlead: `singles ${ids}` },
    value: "cpuSeconds",
    wanted: { most: 1.3 },
  })),
  ...["p50", "p99"].map<Line>((value) => ({
    row: "latency",
    label: `acknowledgement at 200 calls/s, ${value}`,
    unit: "ms",
    runs: { floor: "steady", fairlead: "steady" },
    value,
    wanted: { most: 2 },
  })),
];
