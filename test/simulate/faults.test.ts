// The simulator, tried: each of these faults is put into the daemon on purpose, and has to be found.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ACCEPT_FAULTS } from "./faults/accept.ts";
import { DELIVER_FAULTS } from "./faults/deliver.ts";
import { CAN_PATCH, withPatched } from "./faults/patched.ts";
import { SETTLE_FAULTS } from "./faults/settle.ts";
import { STORE_FAULTS } from "./faults/store.ts";
import { makePlan } from "./plan.ts";
import { runPlan } from "./run.ts";
import { createFalseDisk, type FalseDisk } from "./world/disk.ts";

const FAULTS = [...ACCEPT_FAULTS, ...DELIVER_FAULTS, ...SETTLE_FAULTS, ...STORE_FAULTS];

/** A fault that takes more seeds than that would slip through `make test` too often. */
const MOST_SEEDS = 500;
const STEPS = 25;
/** Of one fault: a busy machine takes its time. */
const LIMIT = { timeout: 600_000 };

describe("the simulator finds a daemon that", { skip: !CAN_PATCH }, () => {
  let disk: FalseDisk;
  before(async () => {
    disk = await createFalseDisk();
  });
  after(() => disk.remove());

  for (const fault of FAULTS) {
    it(fault.what, LIMIT, async () => {
      const found = await withPatched(fault, () => findIn(disk));
      assert.notEqual(found, null, `not found with ${MOST_SEEDS} seeds`);
    });
  }
});

async function findIn(disk: FalseDisk): Promise<number | null> {
  for (let seed = 1; seed <= MOST_SEEDS; seed += 1) {
    const verdict = await runPlan(makePlan(seed, STEPS), disk);
    if (verdict.failedAt === null) continue;
    if (process.env.FAULTS)
      console.log(`      seed ${seed}, step ${verdict.failedAt}: ${verdict.wrong[0]?.slice(0, 140)}`);
    return seed;
  }
  return null;
}
