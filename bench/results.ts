import { CONTENDERS } from "./contender.ts";
import { PEERS, type Peer } from "./peers/peers.ts";
import type { Line, Turn, Wanted } from "./rows.ts";
import { median } from "./statistics.ts";
import type { Measured, Shares } from "./watch.ts";

/** One run of one contender. */
export type Sample = Measured & Turn & { readonly round: number };

/** A line of the table with its numbers. */
export type Result = {
  readonly line: Line;
  /** What Fairlead is compared with, or null if there is nothing to compare it with. */
  readonly base: number | null;
  readonly fairlead: number;
  /** What a team would have without Fairlead, of those that were asked for, and Fairlead's as a part of it. */
  readonly peers: readonly { readonly peer: Peer; readonly value: number; readonly ratio: number }[];
  /** Fairlead's median as a part of the base. */
  readonly ratio: number | null;
  /** The same for each round by itself, smallest first: how far they lie apart says how much to trust the ratio. */
  readonly ratios: readonly number[];
  /** Null where nothing is wanted. */
  readonly met: boolean | null;
};

export function resultOf(line: Line, samples: readonly Sample[]): Result {
  const bases = line.base ? valuesOf(line.base, line, samples) : [];
  const all = valuesOf({ run: line.run, contender: "fairlead" }, line, samples);
  const [base, fairlead] = [bases.length > 0 ? median(bases) : null, median(all)];
  const ratio = base === null ? null : fairlead / base;
  const ratios = bases.map((value, round) => (all[round] ?? Number.NaN) / value).toSorted((a, b) => a - b);
  const peers = PEERS.flatMap((peer) => {
    const values = line.base?.contender === "floor" ? valuesOf({ ...line.base, contender: peer }, line, samples) : [];
    return values.length > 0 ? [{ peer, value: median(values), ratio: fairlead / median(values) }] : [];
  });
  const go = peers.find(({ peer }) => peer === "go");
  const isBehindGo = line.leastOfGo !== undefined && go !== undefined && go.ratio < line.leastOfGo;
  const met = isMet(line.wanted, fairlead, ratio ?? Number.NaN);
  return { line, base, fairlead, peers, ratio, ratios, met: met && !isBehindGo };
}

function isMet(wanted: Wanted | null, fairlead: number, ratio: number): boolean | null {
  if (wanted === null) return null;
  if ("upTo" in wanted) return fairlead <= wanted.upTo;
  return "least" in wanted ? ratio >= wanted.least : ratio <= wanted.most;
}

/** Of each round, in order, in the line's unit. */
function valuesOf(turn: Turn, { value, unit }: Line, samples: readonly Sample[]): readonly number[] {
  return samples
    .filter((sample) => sample.contender === turn.contender && sample.run === turn.run)
    .toSorted((a, b) => a.round - b.round)
    .map(({ values }) => (values[value] ?? Number.NaN) / (unit === "MB" ? MEGABYTE : 1));
}

/** Memory is measured in bytes. */
const MEGABYTE = 1_000_000;

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
