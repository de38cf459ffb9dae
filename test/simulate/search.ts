import { makePlan, type Plan, writeTrace } from "./plan.ts";
import { runPlan, type Verdict } from "./run.ts";
import type { Engine } from "./world/world.ts";

type Search = {
  readonly firstSeed: number;
  readonly seeds: number;
  /** Of each plan. */
  readonly steps: number;
  /** Makes each plan. */
  readonly make?: typeof makePlan;
  /** Called after each seed. */
  readonly after?: (seed: number) => void;
};

type Found = { readonly seed: number; readonly plan: Plan; readonly verdict: Verdict; readonly trace: string };

/** Runs one plan after the other until one fails. Answers the shortest that fails as well, or what all of them have met. */
export async function search(
  { firstSeed, seeds, steps, make = makePlan, after = () => {} }: Search,
  engine: Engine,
): Promise<Found | ReadonlyMap<string, number>> {
  const met = new Map<string, number>();
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const plan = make(seed, steps);
    const verdict = await runPlan(plan, engine);
    if (verdict.failedAt !== null) return found({ seed, plan, verdict }, engine);
    for (const [what, count] of verdict.met) met.set(what, (met.get(what) ?? 0) + count);
    after(seed);
  }
  return met;
}

async function found({ seed, ...first }: Omit<Found, "trace">, engine: Engine): Promise<Found> {
  const { plan, verdict } = await shrink(first.plan, first.verdict, (shorter) => runPlan(shorter, engine));
  const head = `seed ${seed}: ${first.plan.steps.length} steps, of which ${plan.steps.length} are enough`;
  return { seed, plan, verdict, trace: `${head}\n${writeTrace(plan, verdict)}` };
}

/** Runs that a search for a shorter plan may take. */
const MOST_RUNS = 400;

/**
 * Looks for a shorter plan that fails as well: first without large parts, then without single steps, until nothing can be left
 * out. It need not fail for the same reason, which is a fault all the same.
 */
export async function shrink(
  plan: Plan,
  first: Verdict,
  run: (plan: Plan) => Promise<Verdict>,
): Promise<{ plan: Plan; verdict: Verdict }> {
  let best = { plan: upTo(plan, first), verdict: first };
  let runs = 0;
  for (let size = Math.ceil(best.plan.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = best.plan.steps.length - size; from > -size && runs < MOST_RUNS; from -= size) {
      const shorter = without(best.plan, Math.max(0, from), size);
      if (shorter.steps.length === best.plan.steps.length) continue;
      const verdict = await run(shorter);
      runs += 1;
      if (verdict.failedAt !== null) best = { plan: upTo(shorter, verdict), verdict };
    }
  }
  return best;
}

/** What comes after the failure has no part in it. */
function upTo(plan: Plan, { failedAt }: Verdict): Plan {
  return { ...plan, steps: plan.steps.slice(0, (failedAt ?? plan.steps.length) + 1) };
}

function without(plan: Plan, from: number, size: number): Plan {
  return { ...plan, steps: plan.steps.filter((_, nth) => nth < from || nth >= from + size) };
}
