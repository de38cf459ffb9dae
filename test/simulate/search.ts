import { makePlan, type Plan } from "./plan.ts";
import { runPlan, type Verdict } from "./run.ts";
import { shrink } from "./shrink.ts";
import { writeTrace } from "./trace.ts";
import type { FalseDisk } from "./world/disk.ts";

export type Search = {
  readonly firstSeed: number;
  readonly seeds: number;
  /** Of each plan. */
  readonly steps: number;
  /** Called after each seed. */
  readonly after?: (seed: number) => void;
};

export type Found = { readonly seed: number; readonly plan: Plan; readonly verdict: Verdict; readonly trace: string };

/** Runs one plan after the other until one fails. Answers the shortest that fails as well, or what all of them have met. */
export async function search(
  { firstSeed, seeds, steps, after = () => {} }: Search,
  disk: FalseDisk,
): Promise<Found | ReadonlyMap<string, number>> {
  const met = new Map<string, number>();
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const plan = makePlan(seed, steps);
    const verdict = await runPlan(plan, disk);
    if (verdict.failedAt !== null) return found({ seed, plan, verdict }, disk);
    for (const [what, count] of verdict.met) met.set(what, (met.get(what) ?? 0) + count);
    after(seed);
  }
  return met;
}

async function found({ seed, ...first }: Omit<Found, "trace">, disk: FalseDisk): Promise<Found> {
  const { plan, verdict } = await shrink(first.plan, first.verdict, (shorter) => runPlan(shorter, disk));
  const head = `seed ${seed}: ${first.plan.steps.length} steps, of which ${plan.steps.length} are enough`;
  return { seed, plan, verdict, trace: `${head}\n${writeTrace(plan, verdict)}` };
}
