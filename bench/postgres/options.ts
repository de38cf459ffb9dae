import { parseArgs } from "node:util";
import { readWhole } from "../options.ts";

export const PARTS = ["daemons", "append", "link", "long"] as const;
export type Part = (typeof PARTS)[number];

export type PostgresOptions = {
  readonly parts: readonly Part[];
  /** How many daemons share the database, one after the other. */
  readonly daemons: readonly number[];
  readonly rounds: number;
  /** Single calls in a run, and events of batches: for each daemon. */
  readonly calls: number;
  readonly events: number;
  readonly warmup: number;
  /** How long the long transaction stays open, how long each of its minutes is, and the calls a second beside it. */
  readonly minutes: number;
  readonly minuteSeconds: number;
  readonly pace: number;
  /** Seconds of the append statement alone, and of calls at the pace over a link. */
  readonly seconds: number;
  /** Write where the daemon spends its time. */
  readonly profile: boolean;
  readonly fairlead: string;
  readonly folder: string;
  readonly out: string;
};

export const POSTGRES_USAGE = `bun bench/bench.ts postgres [part …] [options]

parts, all of them if none is named:
  daemons           one, two and four daemons that share a PostgreSQL, beside as many with a SQLite file each
  append            the statement that stores events, alone
  link              one daemon and a server that is 0.5 ms away, beside one that is near, and SQLite (needs cc)
  long              single calls at a steady pace beside a transaction that stays open

  --quick           small, one round, and minutes of five seconds: whether it works
  --rounds N        each number is the median of them (3)
  --daemons N,N…    how many share the database (1,2,4)
  --calls N         single calls in a run, for each daemon (40000)
  --events N        events of batches in a run, for each daemon (150000)
  --warmup N        events that each daemon gets before it is measured (10000)
  --minutes N       how long the transaction stays open (30)
  --pace N          calls a second beside it, and over a link (200)
  --seconds N       of the append statement, and of calls at the pace over a link (10)
  --profile         one round with Fairlead from its sources, and CPU profiles in dist/profile
  --fairlead PATH   the program that is measured (dist/fairlead)
  --folder PATH     where the stores are while it runs; PostgreSQL's user must be able to reach it (dist)
  --out PATH        every round, as JSON (dist/bench-postgres.json); the drawing is beside it
`;

/** Reads the command line behind `postgres`. Throws with what is wrong with it. */
export function readPostgresOptions(argv: readonly string[]): PostgresOptions | "help" {
  const { values, positionals } = parseArgs({ args: [...argv], allowPositionals: true, options: KNOWN });
  if (values.help) return "help";
  const wrong = positionals.find((name) => !isPart(name));
  if (wrong !== undefined) throw new Error(`postgres has no part ${wrong}; there are ${PARTS.join(", ")}`);
  const { quick = false, profile = false } = values;
  const number = (name: Amount, usual: number): number =>
    values[name] === undefined ? usual : readWhole(name, values[name]);
  return {
    parts: positionals.length > 0 ? positionals.filter(isPart) : PARTS,
    daemons: (values.daemons ?? "1,2,4").split(",").map((one) => readWhole("daemons", one)),
    rounds: number("rounds", quick || profile ? 1 : 3),
    calls: number("calls", quick ? 10_000 : 40_000),
    events: number("events", quick ? 40_000 : 150_000),
    warmup: number("warmup", quick ? 4_000 : 10_000),
    minutes: number("minutes", quick ? 6 : 30),
    minuteSeconds: quick ? 5 : 60,
    pace: number("pace", 200),
    seconds: number("seconds", quick ? 2 : 10),
    profile,
    fairlead: values.fairlead ?? "dist/fairlead",
    folder: values.folder ?? "dist",
    out: values.out ?? "dist/bench-postgres.json",
  };
}

type Amount = "rounds" | "calls" | "events" | "warmup" | "minutes" | "pace" | "seconds";

const TEXT = { type: "string" } as const;
const FLAG = { type: "boolean" } as const;
const KNOWN = {
  ...{ help: FLAG, quick: FLAG, profile: FLAG },
  ...{ rounds: TEXT, daemons: TEXT, calls: TEXT, events: TEXT, warmup: TEXT, minutes: TEXT, pace: TEXT, seconds: TEXT },
  ...{ fairlead: TEXT, folder: TEXT, out: TEXT },
};

function isPart(name: string): name is Part {
  return PARTS.some((known) => known === name);
}
