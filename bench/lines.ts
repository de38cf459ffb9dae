/** The lines of the table: what is measured, how much of which other number is wanted, and which runs it takes. */

import type { Rate } from "./measure.ts";
import type { Scheme } from "./receivers.ts";
import { IDS, type Ids } from "./requests.ts";
import type { Line, RowName, RunName, Turn, Wanted } from "./rows.ts";
import { PACES, type Pace } from "./steady.ts";

/** `paces`: those that `steady` is made at. */
export function linesOf(rows: readonly RowName[], paces: readonly Pace[] = PACES): readonly Line[] {
  return [...LINES, ...paces.flatMap(paceLines)].filter(({ row }) => rows.includes(row));
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

/** Requests that Fairlead has under way at most: to one webhook, unless its config says otherwise, and in all. */
const CONCURRENCY = 64;
const SLOTS = 200;

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
    leastOfGo: 1,
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
  ...secureLines(),
  ...spreadLines("http"),
  ...spreadLines("https"),
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
  ...memoryLines(),
  ...startLines(),
  {
    row: "idle",
    label: "processor while nothing comes",
    unit: "%",
    base: ofFloor("idle"),
    run: "idle",
    value: "cpuPercent",
    wanted: { upTo: 0.5 },
  },
  {
    row: "million",
    label: "a million, taken while the receiver is away",
    unit: "/s",
    base: ofFloor("million"),
    run: "million",
    value: "acceptedPerSecond",
    wanted: { least: 0.7 },
  },
  {
    row: "million",
    label: "draining the million",
    unit: "/s",
    base: ofFloor("million"),
    run: "million",
    value: "drainedPerSecond",
    wanted: { least: 0.8 },
  },
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
  ...["p50", "p99"].map<Line>((value) => ({
    row: "fairness",
    label: `webhook of 10 calls/s, ${value}`,
    unit: "ms",
    base: { run: "fairness calm", contender: "fairlead" },
    run: "fairness flooded",
    value,
    wanted: value === "p99" ? { most: 3 } : null,
  })),
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

/** What each run had at most, from its start on, and what is needed to do nothing, and to let a million wait. */
function memoryLines(): readonly Line[] {
  const upTo = (most: number) => ({ row: "memory", unit: "MB", wanted: { upTo: most } }) as const;
  return [
    { ...upTo(60), label: "memory, idle", base: ofFloor("idle"), run: "idle", value: "memory" },
    ...IDS.map<Line>((ids) => ({
      ...{ ...upTo(150), label: `peak of memory, single calls, ${ID_LABELS[ids]}`, value: "peakMemory" },
      ...{ base: ofFloor("singles none"), run: `singles ${ids}` },
    })),
    ...IDS.map<Line>((ids) => ({
      ...{ ...upTo(150), label: `peak of memory, batches, ${ID_LABELS[ids]}`, value: "peakMemory" },
      ...{ base: ofFloor("backlog"), run: ids === "none" ? "backlog" : `batches ${ids}` },
    })),
    {
      ...{ ...upTo(150), label: "memory, a million waiting", value: "waitingMemory" },
      ...{ base: ofFloor("million"), run: "million" },
    },
    {
      ...{ ...upTo(150), label: "peak of memory, a million in and out", value: "peakMemory" },
      ...{ base: ofFloor("million"), run: "million" },
    },
    { ...upTo(150), label: "memory, started with a million waiting", base: null, run: "waiting", value: "memory" },
  ];
}

function secureLines(): readonly Line[] {
  const of = (run: "https singles" | "https backlog") => ({ row: "https", base: ofFloor(run), run }) as const;
  const [singles, backlog] = [of("https singles"), of("https backlog")];
  return [
    { ...singles, label: "single calls delivered over HTTPS", unit: "/s", value: "perSecond", wanted: { least: 0.8 } },
    { ...backlog, label: "draining over HTTPS", unit: "/s", value: "drainedPerSecond", wanted: { least: 0.8 } },
    { ...singles, label: "CPU for 100,000 of the calls", unit: "s", value: "cpuSeconds", wanted: { most: 1.3 } },
    { ...backlog, label: "opened to drain", unit: "connections", value: "connections", wanted: { upTo: CONCURRENCY } },
  ];
}

/** To a hundred receivers beside the same to one. */
function spreadLines(scheme: Scheme): readonly Line[] {
  const base = { run: scheme === "http" ? "backlog" : "https backlog", contender: "fairlead" } as const;
  const of = { row: "spread", base, run: `spread ${scheme}` } as const;
  const over = scheme === "http" ? "over HTTP" : "over HTTPS";
  const opened = { unit: "connections", value: "connections", wanted: { upTo: SLOTS } } as const;
  const handshakes = { unit: "handshakes", value: "handshakes" } as const;
  return [
    { ...of, label: `draining ${over}`, unit: "/s", value: "drainedPerSecond", wanted: { least: 0.8 } },
    { ...of, label: `CPU for a delivery ${over}`, unit: "µs", value: "cpuMicros", wanted: { most: 1.25 } },
    { ...of, label: `opened to drain ${over}`, ...opened },
    ...(scheme === "http" ? [] : [{ ...of, label: "made to drain", ...opened, ...handshakes }]),
  ];
}

/** What is wanted where few calls come is what a small machine's disk and battery notice; of many, how even they are taken. */
function paceLines(pace: Pace): readonly Line[] {
  const isFast = pace === 1_000;
  const line = (what: string, rest: Pick<Line, "unit" | "value"> & { readonly wanted: Wanted }): Line => ({
    ...{ row: "steady", label: `${what} at ${pace.toLocaleString("en-US")} calls/s`, ...rest },
    ...{ base: ofFloor(`paced ${pace}`), run: `paced ${pace}` },
    wanted: isFast === (rest.value === "p99") ? rest.wanted : null,
  });
  return [
    line("fsyncs for an event", { unit: "", value: "fsyncs", wanted: { upTo: 1.1 } }),
    line("written for an event", { unit: "KB", value: "kilobytes", wanted: { upTo: 12 } }),
    line("CPU for an event", { unit: "ms", value: "cpuMs", wanted: { most: 1.2 } }),
    { ...line("acknowledgement, p50", { unit: "ms", value: "p50", wanted: { most: 2 } }), wanted: null },
    line("acknowledgement, p99", { unit: "ms", value: "p99", wanted: { most: 2 } }),
  ];
}

function startLines(): readonly Line[] {
  const upTo = (most: number) => ({ row: "start", unit: "ms", wanted: { upTo: most } }) as const;
  const empty = { ...upTo(80), base: ofFloor("start"), run: "start" } as const;
  const full = { ...upTo(500), base: null, run: "waiting" } as const;
  return [
    { ...empty, label: "start until ready, empty", value: "readyMs" },
    { ...empty, label: "start until the first acknowledged call, empty", value: "acknowledgedMs" },
    { ...full, label: "start until the first acknowledged call, a million waiting", value: "acknowledgedMs" },
    { ...full, label: "the same after a kill -9", value: "afterKillMs" },
    { ...upTo(40), base: null, run: "start", label: "fairlead version", value: "versionMs" },
  ];
}

function ofFloor(run: RunName): Turn {
  return { run, contender: "floor" };
}
