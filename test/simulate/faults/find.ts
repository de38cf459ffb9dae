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

/** Only many seeds find these: `make test-long` looks for them. */
const RARE: readonly string[] = [
  "loses a wake-up between look and sleep",
  "asks again who has refused for good",
  "removes what waits to make room",
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
