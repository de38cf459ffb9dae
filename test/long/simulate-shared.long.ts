// Daemons that share an outbox, in the simulator: more seeds than `make test` has time for, and the faults that it has to find.
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { findFault } from "../simulate/find-fault.ts";
import { makeSharedPlan } from "../simulate/plan.ts";
import { search } from "../simulate/search.ts";
import { SHARED_FAULTS } from "../simulate/shared-faults.ts";
import { createServerEngine } from "../simulate/world/daemons.ts";
import type { Engine } from "../simulate/world/world.ts";

const FIRST_SEED = 10_001;
const SEEDS = 200;
const STEPS = 25;
/** Of one test: a busy machine takes its time. */
const AT_ONCE = 50;
const LIMIT = { timeout: 1_200_000 };
/** A fault that takes more seeds than that would slip through. */
const MOST_SEEDS = 100;

let engine: Engine;
before(async () => {
  engine = await createServerEngine();
});

describe("whatever happens to daemons that share an outbox, for longer", () => {
  for (let firstSeed = FIRST_SEED; firstSeed < FIRST_SEED + SEEDS; firstSeed += AT_ONCE) {
    it(`nothing is lost, sent too often, or left: seeds from ${firstSeed} on`, LIMIT, async () => {
      const result = await search({ firstSeed, seeds: AT_ONCE, steps: STEPS, make: makeSharedPlan }, engine);
      if ("trace" in result)
        assert.fail(`${result.trace}\nrun it again: make simulate TRACE=file, with these lines in the file`);
    });
  }
});

describe("the simulator finds, in some seeds, a daemon that, beside others,", () => {
  for (const fault of SHARED_FAULTS) {
    it(fault.what, LIMIT, async () => {
      const found = await findFault(fault, { mostSeeds: MOST_SEEDS, engine, make: makeSharedPlan });
      assert.notEqual(found, null, `not found with ${MOST_SEEDS} seeds`);
    });
  }
});
