import { CONTENDERS, type Contender } from "./contender.ts";
import type { Measured, Shares } from "./measure.ts";
import type { Line, RunName } from "./rows.ts";
import { median } from "./statistics.ts";

/** One run of one contender. */
export type Sample = Measured & { readonly round: number; readonly contender: Contender; readonly run: RunName };

/** A line of the table with its numbers. */
export type Result = {
  readonly line: Line;
  readonly floor: number;
  readonly fairlead: number;
  /** Fairlead's median as a part of the floor's. */
  readonly ratio: number;
  /** The same for each round by itself, smallest first: how far they lie apart says how much to trust the ratio. */
  readonly ratios: readonly number[];
  readonly met: boolean;
};

export function resultOf(line: Line, samples: readonly Sample[]): Result {
  const floor = valuesOf(line, "floor", samples);
  const fairlead = valuesOf(line, "fairlead", samples);
  const ratio = median(fairlead) / median(floor);
  const ratios = fairlead.map((value, round) => value / (floor[round] ?? Number.NaN)).toSorted((a, b) => a - b);
  const met = "least" in line.wanted ? ratio >= line.wanted.least : ratio <= line.wanted.most;
  return { line, floor: median(floor), fairlead: median(fairlead), ratio, ratios, met };
}

/** Of each round, in order. */
function valuesOf({ runs, value }: Line, contender: Contender, samples: readonly Sample[]): readonly number[] {
  return samples
    .filter((sample) => sample.contender === contender && sample.run === runs[contender])
    .toSorted((a, b) => a.round - b.round)
    .map(({ values }) => values[value] ?? Number.NaN);
}

export type Occupation = {
  readonly run: RunName;
  readonly contender: Contender;
  readonly shares: { readonly [Part in keyof Shares]: number };
};

/** How busy everybody was, for each kind of run and each contender: medians of the rounds. */
export function occupationsOf(samples: readonly Sample[]): readonly Occupation[] {
  const runs = [...new Set(samples.map(({ run }) => run))];
  return runs.flatMap((run) =>
    CONTENDERS.flatMap((contender) => {
      const mine = samples.filter((sample) => sample.run === run && sample.contender === contender);
      const part = (name: keyof Shares): number => median(mine.map(({ shares }) => shares[name]));
      if (mine.length === 0) return [];
      const server = { server: part("server"), mainThread: part("mainThread"), queued: part("queued") };
      const shares = { ...server, load: part("load"), receiver: part("receiver"), others: part("others") };
      return [{ run, contender, shares }];
    }),
  );
}
