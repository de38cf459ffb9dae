import { FAULTS, type Fault } from "./faults.ts";
import { makePlan } from "./plan.ts";
import { runPlan } from "./run.ts";
import type { Engine } from "./world/world.ts";

/** It takes a dozen seeds and more to find these: `make test-long` looks for them. */
const RARE: readonly string[] = [
  "asks again a webhook that has refused for good",
  "begins anew with what waits and is hurried",
  "closes a lane on answers of 500",
  "does not hear Retry-After of a 429",
  "does not hear Retry-After of a 503",
  "does not write what is answered while it stops",
  "forgets what was withdrawn",
  "gives up after the time since it was accepted",
  "goes by the machine's clock at a start",
  "loses a wake-up",
  "makes one attempt more after the cutoff",
  "never gives up",
  "takes a refusal for a success",
];

export const COMMON_FAULTS = FAULTS.filter(({ what }) => !RARE.includes(what));
export const RARE_FAULTS = FAULTS.filter(({ what }) => RARE.includes(what));

const STEPS = 25;

type Search = {
  readonly mostSeeds: number;
  readonly engine: Engine;
  /** Makes each plan. */
  readonly make?: typeof makePlan;
};

/** Puts the fault into the daemon, and answers the first seed that finds it, or null. `FAULTS=1` prints what was wrong then. */
export async function findFault(fault: Fault, { mostSeeds, engine, make = makePlan }: Search): Promise<number | null> {
  for (let seed = 1; seed <= mostSeeds; seed += 1) {
    const { failedAt, wrong } = await runPlan(make(seed, STEPS), engine, { fault });
    if (failedAt === null) continue;
    if (process.env.FAULTS) console.log(`      seed ${seed}, step ${failedAt}: ${wrong[0]?.slice(0, 140)}`);
    return seed;
  }
  return null;
}
