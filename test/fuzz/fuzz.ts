/**
 * Runs one target: first what once failed, then what chance makes. `make test` does that so many times and always the same
 * way; `make fuzz` goes on for $FUZZ_SECONDS, each time with another seed.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";

export type Target<Input> = {
  /** The name of its file, and of its folder of kept inputs. */
  readonly name: string;
  /** Inputs are plain JSON, so that each can be kept in a file. */
  readonly input: fc.Arbitrary<Input>;
  /** How often `make test` tries. */
  readonly runs: number;
  /** Sets up what the inputs are tried on. It is set up anew once in a while. */
  start(): Fuzzed<Input> | Promise<Fuzzed<Input>>;
};

export type Fuzzed<Input> = {
  /** Throws when something does not hold. */
  holds(input: Input): void | Promise<void>;
  /** What has to hold in the end; and ends it. */
  stop?(): Promise<void>;
};

/** How long to go on; null to run so many times. */
export const SECONDS = process.env.FUZZ_SECONDS ? Number(process.env.FUZZ_SECONDS) : null;
/** The same for all who run the tests: what fails here then fails everywhere. */
export const SEED = Number(process.env.FUZZ_SEED ?? 1);
/** A daemon that was given so many is full of them. */
const RUNS_OF_ROUND = 2_000;

/** A minute more for what is under way when the time is over. */
export const PATIENT = { timeout: ((SECONDS ?? 60) + 60) * 1_000 };

const KEPT = fileURLToPath(new URL("../fixtures/fuzz", import.meta.url));

export function fuzz<Input>(target: Target<Input>): void {
  describe(`fuzz: ${target.name}`, () => {
    it("holds for what once failed", PATIENT, () => replay(target));
    it("holds for whatever comes", PATIENT, async () => {
      if (SECONDS === null) return round(target, { seed: SEED, numRuns: target.runs });
      const until = Date.now() + SECONDS * 1_000;
      for (let seed = SEED; Date.now() < until; seed += 1) {
        await round(target, { seed, numRuns: RUNS_OF_ROUND, interruptAfterTimeLimit: until - Date.now() });
      }
    });
  });
}

async function replay<Input>(target: Target<Input>): Promise<void> {
  const fuzzed = await target.start();
  try {
    for (const { file, input } of kept<Input>(target.name)) {
      try {
        await fuzzed.holds(input);
      } catch (error) {
        throw new Error(`what ${file} holds fails again: ${String(error)}`, { cause: error });
      }
    }
  } finally {
    await fuzzed.stop?.();
  }
}

type Kept<Input> = { readonly file: string; readonly input: Input };

/** What once failed, by the name of its file. */
export function kept<Input>(name: string): readonly Kept<Input>[] {
  const folder = join(KEPT, name);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .sort()
    .map((file) => ({ file: join(name, file), input: JSON.parse(readFileSync(join(folder, file), "utf8")) }));
}

type Round = { readonly seed: number; readonly numRuns: number; readonly interruptAfterTimeLimit?: number };

async function round<Input>(target: Target<Input>, by: Round): Promise<void> {
  const fuzzed = await target.start();
  const property = fc.asyncProperty(target.input, async (input) => fuzzed.holds(input));
  const { failed, counterexample, errorInstance } = await fc.check(property, { ...by, markInterruptAsFailure: false });
  try {
    if (failed && counterexample)
      throw told(target.name, { seed: by.seed, input: counterexample[0], why: errorInstance });
  } finally {
    await fuzzed.stop?.();
  }
}

type Failure = { readonly seed: number; readonly input: unknown; readonly why: unknown };

/** With all that is needed to see it again, and to keep it. */
export function told(name: string, { seed, input, why }: Failure): Error {
  const folder = relative(process.cwd(), join(KEPT, name));
  const lines = [
    `fuzz target ${name} fails with the seed ${seed}: ${String(why)}`,
    `see it again: make fuzz TARGET=${name} SEED=${seed}`,
    `its input, to be kept as ${folder}/<what-was-wrong>.json:`,
    JSON.stringify(input),
  ];
  return new Error(lines.join("\n"), { cause: why });
}
