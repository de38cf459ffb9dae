import { makePlan } from "../plan.ts";
import { runPlan } from "../run.ts";
import type { FalseDisk } from "../world/disk.ts";
import { ACCEPT_FAULTS } from "./accept.ts";
import { DELIVER_FAULTS } from "./deliver.ts";
import type { Fault } from "./fault.ts";
import { withPatched } from "./patched.ts";
import { SETTLE_FAULTS } from "./settle.ts";
import { STORE_FAULTS } from "./store.ts";

const FAULTS: readonly Fault[] = [...ACCEPT_FAULTS, ...DELIVER_FAULTS, ...SETTLE_FAULTS, ...STORE_FAULTS];

/** It takes a dozen seeds and more to find these: `make test-long` looks for them. */
const RARE: readonly string[] = [
  "asks again who has refused for good",
  "begins anew with what waits and is hurried",
  "closes a lane on answers of 500",
  "does not hear Retry-After",
  "does not hold a lane whose receiver wants silence",
  "does not write what is answered while it stops",
  "forgets what was withdrawn",
  "gives up after the time since it was accepted",
  "goes by the machine's clock at a start",
  "loses a wake-up between look and sleep",
  "remembers repeats of what was rolled back",
  "removes what waits to make room",
  "takes a refusal for a success",
  "takes the moment of the cutoff for one before it",
];

export const COMMON_FAULTS = FAULTS.filter(({ what }) => !RARE.includes(what));
export const RARE_FAULTS = FAULTS.filter(({ what }) => RARE.includes(what));

const STEPS = 25;

/** Puts the fault into the daemon, and answers the first seed that finds it, or null. `FAULTS=1` prints what was wrong then. */
export function findFault(fault: Fault, mostSeeds: number, disk: FalseDisk): Promise<number | null> {
  return withPatched(fault, async () => {
    for (let seed = 1; seed <= mostSeeds; seed += 1) {
      const verdict = await runPlan(makePlan(seed, STEPS), disk);
      if (verdict.failedAt === null) continue;
      if (process.env.FAULTS)
        console.log(`      seed ${seed}, step ${verdict.failedAt}: ${verdict.wrong[0]?.slice(0, 140)}`);
      return seed;
    }
    return null;
  });
}
