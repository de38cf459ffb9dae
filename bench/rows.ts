/** The lines of the table: what is measured, how much of which other number is wanted, and which runs it takes. */
import { measureAudience, type Sync } from "./audience.ts";
import { measureComeback } from "./comeback.ts";
import type { Contender } from "./contender.ts";
import { type Load, measureIsolation, type Neighbours } from "./isolation.ts";
import { measureBacklog, measureReloads, measureSingles, measureSteady, type Rate } from "./measure.ts";
import { IDS, type Ids } from "./requests.ts";
import type { Bench } from "./run.ts";
import type { Measured } from "./watch.ts";

export const ROW_NAMES = [
  "singles",
  "batches",
  "drain",
  "cpu",
  "latency",
  "reload",
  "isolation",
  "comeback",
  "audience",
] as const;
export type RowName = (typeof ROW_NAMES)[number];

export type Line = {
  readonly row: RowName;
  readonly label: string;
  /** How numbers of this kind are written. */
  readonly unit: "/s" | "s" | "ms";
  /** The run that gives the number to compare with: the floor's, or Fairlead's own when nothing disturbs it. */
  readonly base: Turn;
  /** The run that gives Fairlead's number. */
  readonly run: RunName;
  /** What the number is called in both runs. */
  readonly value: string;
  readonly wanted: Wanted;
};

/** Fairlead's number, as a part of the other. */
export type Wanted = { readonly least: number } | { readonly most: number };

/** A run of one of the servers. */
export type Turn = { readonly run: RunName; readonly contender: Contender };

/** What is done with a server in one go. */
export type RunName =
  | `singles ${Ids}`
  | `batches ${Ids}`
  | "backlog"
  | "steady"
  | ReloadRun
  | `audience ${Sync}`
  | `isolation ${Load} ${Neighbours}`
  | "comeback";

/** With a config of so many sources, which is left alone or reloaded all the while. */
type ReloadRun = `${"calm" | "reloaded"} ${Rate} ${number}`;

export function measure(run: RunName, contender: Contender, bench: Bench): Promise<Measured> {
  const [kind, how, rest] = run.split(" ");
  const ids = (how ?? "none") as Ids;
  if (kind === "singles") return measureSingles(contender, ids, bench);
  if (kind === "batches") return measureBacklog(contender, { ids, drain: false }, bench);
  if (kind === "backlog") return measureBacklog(contender, { ids: "none", drain: true }, bench);
  if (kind === "isolation") return measureIsolation(how as Load, rest as Neighbours, bench);
  if (kind === "audience") return measureAudience(how as Sync, bench);
  if (kind === "comeback") return measureComeback(bench);
  if (kind === "steady") return measureSteady(contender, "none", bench);
  return measureReloads({ rate: how as Rate, sources: Number(rest), reloads: kind === "reloaded" }, bench);
}

export function linesOf(rows: readonly RowName[]): readonly Line[] {
  return LINES.filter(({ row }) => rows.includes(row));
}

const ID_LABELS: Readonly<Record<Ids, string>> = {
  none: "no messageId",
  ordered: "time-ordered messageIds",
  random: "random messageIds",
};

const RELOADS: readonly { readonly rate: Rate; readonly sources: number; readonly label: string }[] = [
  { rate: "steady", sources: 20, label: "acknowledgement at 200 calls/s" },
  { rate: "full", sources: 20, label: "acknowledgement at full rate" },
  { rate: "steady", sources: 500, label: "acknowledgement at 200 calls/s" },
];

/** The floor does not look at messageIds, so it has one number for all of them. */
const LINES: readonly Line[] = [
  ...IDS.map<Line>((ids) => ({
    row: "singles",
    label: `single calls delivered, ${ID_LABELS[ids]}`,
    unit: "/s",
    base: ofFloor("singles none"),
    run: `singles ${ids}`,
    value: "perSecond",
    wanted: { least: 0.8 },
  })),
  ...IDS.map<Line>((ids) => ({
    row: "batches",
    label: `events in batches of 100, ${ID_LABELS[ids]}`,
    unit: "/s",
    base: ofFloor("backlog"),
    run: ids === "none" ? "backlog" : `batches ${ids}`,
    value: "acceptedPerSecond",
    wanted: { least: 0.7 },
  })),
  {
    row: "drain",
    label: "draining them to one receiver",
    unit: "/s",
    base: ofFloor("backlog"),
    run: "backlog",
    value: "drainedPerSecond",
    wanted: { least: 0.8 },
  },
  ...IDS.map<Line>((ids) => ({
    row: "cpu",
    label: `CPU for 100,000 single calls, ${ID_LABELS[ids]}`,
    unit: "s",
    base: ofFloor("singles none"),
    run: `singles ${ids}`,
    value: "cpuSeconds",
    wanted: { most: 1.3 },
  })),
  ...["p50", "p99"].map<Line>((value) => ({
    row: "latency",
    label: `acknowledgement at 200 calls/s, ${value}`,
    unit: "ms",
    base: ofFloor("steady"),
    run: "steady",
    value,
    wanted: { most: 2 },
  })),
  ...RELOADS.flatMap(({ rate, sources, label }) =>
    ["p50", "p99"].map<Line>((value) => ({
      row: "reload",
      label: `${label}, ${sources} sources, ${value}`,
      unit: "ms",
      base: { run: `calm ${rate} ${sources}`, contender: "fairlead" },
      run: `reloaded ${rate} ${sources}`,
      value,
      wanted: { most: 2 },
    })),
  ),
  {
    row: "isolation",
    label: "single calls delivered",
    unit: "/s",
    base: { run: "isolation singles alone", contender: "fairlead" },
    run: "isolation singles sick",
    value: "perSecond",
    wanted: { least: 0.9 },
  },
  {
    row: "isolation",
    label: "draining a backlog",
    unit: "/s",
    base: { run: "isolation backlog alone", contender: "fairlead" },
    run: "isolation backlog sick",
    value: "drainedPerSecond",
    wanted: { least: 0.9 },
  },
  {
    row: "comeback",
    label: "draining a backlog",
    unit: "/s",
    base: { run: "backlog", contender: "fairlead" },
    run: "comeback",
    value: "drainedPerSecond",
    wanted: { least: 0.8 },
  },
  ...(["first", "change"] as const).map<Line>((sync) => ({
    row: "audience",
    label: `acknowledgement at 200 calls/s, ${sync === "first" ? "first sync" : "1 % change"}, p99`,
    unit: "ms",
    base: { run: "audience idle", contender: "fairlead" },
    run: `audience ${sync}`,
    value: "p99",
    wanted: { most: 4 },
  })),
];

function ofFloor(run: RunName): Turn {
  return { run, contender: "floor" };
}
