import { parseArgs } from "node:util";
import { readWhole } from "../options.ts";
import type { Amounts } from "./measures.ts";
import { MEASURES, type MeasureName, SERIES, type Series } from "./variations.ts";

export type GrowthOptions = {
  readonly series: readonly Series[];
  readonly measures: readonly MeasureName[];
  readonly amounts: Amounts;
  /** Measure Fairlead from its sources, and write where it spends its time. */
  readonly profile: boolean;
  readonly fairlead: string;
  readonly folder: string;
  readonly out: string;
};

export const GROWTH_USAGE = `bun bench/bench.ts growth [series …] [options]

series, all of them if none is named: ${SERIES.join(" ")}

  --quick           few rows, one round: whether it works, not what an event costs
  --rounds N        each number is the median of them (3)
  --levels N,N…     rows in the store (10000,100000,1000000,5000000)
  --measures M,M…   of ${MEASURES.join(", ")} (all of them); kept has to drain, and so measures that too
  --profile         one round with Fairlead from its sources, and CPU profiles in dist/profile
  --fairlead PATH   the program that is measured (dist/fairlead)
  --folder PATH     where the stores are while it runs: a gigabyte or two (dist)
  --out PATH        every round, as JSON (dist/bench-growth.json)
`;

const USUAL: Amounts = { levels: [10_000, 100_000, 1_000_000, 5_000_000], warmup: 10_000, measured: 25_000, rounds: 3 };
const QUICK: Amounts = { levels: [2_000, 20_000], warmup: 1_000, measured: 4_000, rounds: 1 };

/** Reads the command line behind `growth`. Throws with what is wrong with it. */
export function readGrowthOptions(argv: readonly string[]): GrowthOptions | "help" {
  const { values, positionals } = parseArgs({ args: [...argv], allowPositionals: true, options: KNOWN });
  if (values.help) return "help";
  const wrong = positionals.find((name) => !isSeries(name));
  if (wrong !== undefined) throw new Error(`growth has no series ${wrong}; there are ${SERIES.join(", ")}`);
  const amounts = values.quick ? QUICK : USUAL;
  const { profile = false } = values;
  return {
    series: positionals.length > 0 ? positionals.filter(isSeries) : SERIES,
    amounts: {
      ...amounts,
      levels: values.levels === undefined ? amounts.levels : readLevels(values.levels),
      rounds: values.rounds === undefined ? (profile ? 1 : amounts.rounds) : readWhole("rounds", values.rounds),
    },
    measures: values.measures === undefined ? MEASURES : readMeasures(values.measures),
    profile,
    fairlead: values.fairlead ?? "dist/fairlead",
    folder: values.folder ?? "dist",
    out: values.out ?? "dist/bench-growth.json",
  };
}

const TEXT = { type: "string" } as const;
const FLAG = { type: "boolean" } as const;
const KNOWN = {
  ...{ help: FLAG, quick: FLAG, profile: FLAG },
  ...{ rounds: TEXT, levels: TEXT, measures: TEXT, fairlead: TEXT, folder: TEXT, out: TEXT },
};

function isSeries(name: string): name is Series {
  return SERIES.some((known) => known === name);
}

function readLevels(text: string): readonly number[] {
  const levels = text.split(",").map((one) => readWhole("levels", one));
  if (levels.every((level, nth) => level > (levels[nth - 1] ?? 0))) return levels;
  throw new Error(`--levels must go up (got "${text}")`);
}

/** In the order in which they are made, with what the last of them needs. */
function readMeasures(text: string): readonly MeasureName[] {
  const named = text.split(",");
  const wrong = named.find((name) => !MEASURES.some((known) => known === name));
  if (wrong !== undefined) throw new Error(`growth has no measure ${wrong}; there are ${MEASURES.join(", ")}`);
  return MEASURES.filter((name) => named.includes(name) || (name === "drained" && named.includes("kept")));
}
