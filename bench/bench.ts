/**
 * Measures Fairlead against the floor (`floor.ts`), in turn and several times, and prints the table of
 * docs/operate/performance.md. Run `bun bench/bench.ts --help` for its options.
 */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Check, checkLimits } from "./check.ts";
import { benchClient } from "./client.ts";
import { benchDashboard } from "./dashboard.ts";
import { benchGrowth } from "./growth/growth.ts";
import { linesOf } from "./lines.ts";
import { describe } from "./machine.ts";
import { writeStory } from "./million.ts";
import { type Options, readOptions, USAGE } from "./options.ts";
import { type Peer, preparePeers } from "./peers/peers.ts";
import { benchPostgres } from "./postgres/postgres.ts";
import { profile } from "./profile.ts";
import { occupationsOf, type Result, resultOf, type Sample } from "./results.ts";
import { isForPeers, isMeasuredOnce, type Line, measure, type Turn } from "./rows.ts";
import type { Bench } from "./run.ts";
import { withTools } from "./run.ts";
import { writeCheck, writeMeetings, writeOccupations, writeTables } from "./table.ts";
import { hasFlushCounter } from "./usage.ts";
import { countDisturbed, createUndisturbed } from "./watch.ts";

process.exit(await main(process.argv.slice(2)));

async function main(argv: readonly string[]): Promise<number> {
  try {
    const [first, ...rest] = argv;
    if (first === "client") await benchClient();
    else if (first === "dashboard") await benchDashboard(rest);
    else if (first === "growth") await benchGrowth(rest);
    else if (first === "postgres") await benchPostgres(rest);
    else await benchRows(argv);
    return 0;
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : error}`);
    return 1;
  }
}

async function benchRows(argv: readonly string[]): Promise<void> {
  const options = readOptions(argv);
  if (options === "help") console.log(USAGE);
  else
    await withTools(options, (tools) =>
      measureAndTell(options, { ...tools, amounts: options.amounts, trace: options.trace }),
    );
}

async function measureAndTell(options: Options, bench: Bench): Promise<void> {
  const lines = linesOf(options.rows, options.paces);
  const { peers, missing } = options.peers ? preparePeers() : { peers: [], missing: [] };
  if (options.profile) return profile(lines, bench);
  const check = options.check ? await checkLimits(bench) : null;
  const samples = await measureRounds(options, turnsOf(lines, peers), bench);
  const results = lines.map((line) => resultOf(line, samples));
  tell({ options, results, samples, check, missing });
}

/** Each run that any of the lines needs, once; those that are compared beside each other. */
function turnsOf(lines: readonly Line[], peers: readonly Peer[]): readonly Turn[] {
  const turns = lines.flatMap(({ base, run }): readonly Turn[] => [
    ...(base ? [base] : []),
    ...(base && isForPeers(base) ? peers.map((contender) => ({ ...base, contender })) : []),
    { run, contender: "fairlead" },
  ]);
  return [...new Map(turns.map((turn) => [`${turn.run} ${turn.contender}`, turn])).values()];
}

/** In turn, so that a machine that is slower for a while is so for both, and in every other round backwards. */
async function measureRounds(
  { rounds, patience }: Options,
  turns: readonly Turn[],
  bench: Bench,
): Promise<readonly Sample[]> {
  const undisturbed = createUndisturbed(patience);
  const samples: Sample[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const { run, contender } of round % 2 === 1 ? turns : turns.toReversed()) {
      if (round > 1 && isMeasuredOnce(run)) continue;
      const measured = await undisturbed(() => measure(run, contender, bench));
      samples.push({ round, run, contender, ...measured });
      const numbers = Object.entries(measured.values).map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`);
      console.error(`round ${round} of ${rounds}: ${run}, ${contender}: ${numbers.join(", ")}`);
    }
  }
  return samples;
}

type Told = {
  readonly options: Options;
  readonly results: readonly Result[];
  readonly samples: readonly Sample[];
  readonly check: Check | null;
  readonly missing: readonly string[];
};

function tell({ options, results, samples, check, missing }: Told): void {
  const about = describe(options);
  console.log(about.text);
  console.log(`median of ${options.rounds} round(s)\n\n${writeTables(results)}`);
  for (const why of missing) console.log(`\n${why}`);
  const meetings = writeMeetings(samples);
  if (meetings !== "") console.log(`\n${meetings}`);
  const { calls, events, million } = options.amounts;
  const [single, batched, many] = [calls, events, million].map((amount) => amount.toLocaleString("en-US"));
  console.log(`\n${single} single calls in a run, ${batched} events in batches; a million is ${many}`);
  const drawing = join(dirname(options.out), "bench-million.svg");
  if (writeStory(samples, drawing)) console.log(`how the million went is drawn in ${drawing}`);
  if (results.some(({ line }) => line.row === "steady")) console.log(`\n${tellFsyncs(options)}`);
  const disturbed = countDisturbed(samples);
  if (disturbed > 0) console.log(`\nother programs were busy during ${disturbed} of ${samples.length} runs`);
  if (check) console.log(`\n${writeOccupations(occupationsOf(samples))}\n\n${writeCheck(check)}`);
  writeFileSync(options.out, `${JSON.stringify({ ...about.facts, options, results, samples, check }, null, 2)}\n`);
}

/** What stands behind the number of fsyncs, and may spoil it. */
function tellFsyncs({ trace, folder }: Options): string {
  if (trace)
    return "fsyncs are the server's own, counted by strace, which slows it down: look at CPU and latency without --trace";
  if (hasFlushCounter(folder))
    return "fsyncs are flushes of the disk, whoever made them: --trace counts the server's own by strace";
  return `Linux counts no flushes for what ${folder} is on, so there are no fsyncs: --trace counts them by strace`;
}
