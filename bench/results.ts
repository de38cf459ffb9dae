import { CONTENDERS } from "./contender.ts";
import type { Line, Turn } from "./rows.ts";
import { median } from "./statistics.ts";
import type { Measured, Shares } from "./watch.ts";

/** One run of one contender. */
export type Sample = Measured & Turn & { readonly round: number };

/** A line of the table with its numbers. */
export type Result = {
  readonly line: Line;
  /** What Fairlead is compared with. */
  readonly base: number;
  readonly fairlead: number;
  /** Fairlead's median as a part of that. */
  readonly ratio: number;
  /** The same for each round by itself, smallest first: how far they lie apart says how much to trust the ratio. */
  readonly ratios: readonly number[];
  readonly met: boolean;
};

export function resultOf(line: Line, samples: readonly Sample[]): Result {
  const base = valuesOf(line.base, line, samples);
  const fairlead = valuesOf({ run: line.run, contender: "fairlead" }, line, samples);
  const ratio = median(fairlead) / median(base);
  const ratios = fairlead.map((value, round) => value / (base[round] ?? Number.NaN)).toSorted((a, b) => a - b);
  const met = "least" in line.wanted ? ratio >= line.wanted.least : ratio <= line.wanted.most;
  return { line, base: median(base), fairlead: median(fairlead), ratio, ratios, met };
}

/** Of each round, in order. */
function valuesOf(turn: Turn, { value }: Line, samples: readonly Sample[]): readonly number[] {
  return samples
    .filter((sample) => sample.contender === turn.contender && sample.run === turn.run)
    .toSorted((a, b) => a.round - b.round)
    .map(({ values }) => values[value] ?? Number.NaN);
}

export type Occupation = Turn & { readonly shares: { readonly [Part in keyof Shares]: number } };

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
