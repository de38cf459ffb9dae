import { parseArgs } from "node:util";
import { ROW_NAMES, type RowName } from "./rows.ts";
import type { Amounts } from "./run.ts";
import { PACES, type Pace } from "./steady.ts";

export type Options = {
  /** Which rows of the table: all if none is named. */
  readonly rows: readonly RowName[];
  readonly rounds: number;
  /** Seconds that repeating disturbed runs may take, all together. */
  readonly patience: number;
  readonly amounts: Amounts;
  /** Also measure what a team would take instead of Fairlead. */
  readonly peers: boolean;
  /** Also print how busy load and receiver were, and how much they could do. */
  readonly check: boolean;
  /** At how many calls a second `steady` is made. */
  readonly paces: readonly Pace[];
  /** Have strace count fsyncs, in place of the disk's own counter. */
  readonly trace: boolean;
  /** Only run Fairlead from its sources, and write where it spends its time. */
  readonly profile: boolean;
  readonly fairlead: string;
  readonly folder: string;
  readonly out: string;
};

export const USAGE = `bun bench/bench.ts [row …] [options]
bun bench/bench.ts growth         what an event costs with few and with millions of rows; see growth --help
bun bench/bench.ts dashboard      what the page and its questions take with a million waiting deliveries
bun bench/bench.ts postgres       daemons that share a PostgreSQL, beside one on SQLite; see postgres --help
bun bench/bench.ts client         the client library by itself, on each runtime that is installed

rows, all of them if none is named: ${ROW_NAMES.join(" ")}

  --quick           one small round: whether it works, not how fast it is
  --peers           also measure a program in Go with SQLite, if there are go and cc to build it, and BullMQ on Redis, if
                    there is a redis-server; both are put in dist/peers
  --check           also show that load and receiver are not the bottleneck
  --profile         run Fairlead from its sources, once, and write CPU profiles to dist/profile
  --rounds N        rounds of floor and Fairlead in turn; each number is the median of them (5)
  --patience N      repeat runs that other programs disturb, for N seconds at most, all together (not at all)
  --calls N         single calls in a run (100000)
  --events N        events of batches in a run (150000)
  --outage N        events that come in while the receiver is away (200000)
  --million N       events that come in, wait and drain, for the rows of a million (1000000)
  --idle N          seconds of doing nothing (30)
  --members N       users of an audience (1000000)
  --seconds N       of steady load (4)
  --paces LIST      calls a second for the row steady (1,10,100,1000)
  --trace           count fsyncs by strace: the disk's own counter also counts those of other programs
  --warmup N        events that go before each run and are not measured (10000)
  --fairlead PATH   the program that is measured (dist/fairlead)
  --folder PATH     where the stores are while it runs; on a real disk, because each commit waits for it (dist)
  --out PATH        every round, as JSON (dist/bench.json)
`;

/** Reads the command line. Throws with what is wrong with it. */
export function readOptions(argv: readonly string[]): Options | "help" {
  const { values, positionals } = parseArgs({ args: [...argv], allowPositionals: true, options: KNOWN });
  if (values.help) return "help";
  const wrong = positionals.find((name) => !isRow(name));
  if (wrong !== undefined) throw new Error(`there is no row ${wrong}; there are ${ROW_NAMES.join(", ")}`);
  const { quick = false } = values;
  return {
    rows: positionals.length > 0 ? positionals.filter(isRow) : ROW_NAMES,
    rounds: whole("rounds", values.rounds) ?? (quick ? 1 : 5),
    patience: whole("patience", values.patience) ?? 0,
    amounts: {
      calls: whole("calls", values.calls) ?? (quick ? 20_000 : 100_000),
      events: hundreds("events", values.events) ?? (quick ? 50_000 : 150_000),
      outage: hundreds("outage", values.outage) ?? (quick ? 50_000 : 200_000),
      million: hundreds("million", values.million) ?? (quick ? 50_000 : 1_000_000),
      waiting: quick ? 1 : 15,
      idle: whole("idle", values.idle) ?? (quick ? 2 : 30),
      members: hundreds("members", values.members) ?? (quick ? 50_000 : 1_000_000),
      seconds: whole("seconds", values.seconds) ?? (quick ? 2 : 4),
      paced: quick ? { 1: 3, 10: 3, 100: 2, 1000: 2 } : { 1: 20, 10: 15, 100: 10, 1000: 10 },
      warmup: hundreds("warmup", values.warmup) ?? (quick ? 5_000 : 10_000),
    },
    peers: values.peers ?? false,
    check: values.check ?? false,
    paces: values.paces?.split(",").map(readPace) ?? PACES,
    trace: values.trace ?? false,
    profile: values.profile ?? false,
    fairlead: values.fairlead ?? "dist/fairlead",
    folder: values.folder ?? "dist",
    out: values.out ?? "dist/bench.json",
  };
}

const TEXT = { type: "string" } as const;
const FLAG = { type: "boolean" } as const;
const KNOWN = {
  ...{
    help: FLAG,
    quick: FLAG,
    check: FLAG,
    peers: FLAG,
    profile: FLAG,
    trace: FLAG,
    rounds: TEXT,
    patience: TEXT,
    calls: TEXT,
    events: TEXT,
    outage: TEXT,
    million: TEXT,
    idle: TEXT,
    members: TEXT,
    seconds: TEXT,
    paces: TEXT,
    warmup: TEXT,
  },
  ...{ fairlead: TEXT, folder: TEXT, out: TEXT },
};

function isRow(name: string): name is RowName {
  return ROW_NAMES.some((known) => known === name);
}

function whole(name: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : readWhole(name, text);
}

function readPace(text: string): Pace {
  const pace = PACES.find((known) => String(known) === text);
  if (pace !== undefined) return pace;
  throw new Error(`--paces has no ${text}; there are ${PACES.join(", ")}`);
}

/** Batches hold a hundred events. */
function hundreds(name: string, text: string | undefined): number | undefined {
  const number = whole(name, text);
  if (number === undefined || number % 100 === 0) return number;
  throw new Error(`--${name} must be a multiple of 100 (got "${text}")`);
}

/** Reads a number from the command line. Throws if it is none. */
export function readWhole(name: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Error(`--${name} must be a whole number above 0 (got "${text}")`);
}
