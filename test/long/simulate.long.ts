// The simulator for longer than `make test` has time for: longer plans, and other seeds. And the simulator, tried: each of
// these faults is put into the daemon on purpose, and has to be found.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { COMMON_FAULTS, findFault, RARE_FAULTS } from "../simulate/find-fault.ts";
import { search } from "../simulate/search.ts";
import { createDiskEngine } from "../simulate/world/lives.ts";
import type { Engine } from "../simulate/world/world.ts";

const FIRST_SEED = 10_001;
const SEEDS = 1_000;
const STEPS = 50;
/** Of one test: a busy machine takes its time. */
const AT_ONCE = 250;
const LIMIT = { timeout: 1_200_000 };
let engine: Engine;
before(async () => {
  engine = await createDiskEngine();
});
after(() => engine.remove());

describe("whatever happens, for longer", () => {
  for (let firstSeed = FIRST_SEED; firstSeed < FIRST_SEED + SEEDS; firstSeed += AT_ONCE) {
    it(`nothing is lost, or sent too often, too early or wrongly: seeds from ${firstSeed} on`, LIMIT, async () => {
      const result = await search({ firstSeed, seeds: AT_ONCE, steps: STEPS }, engine);
      if ("trace" in result)
        assert.fail(`${result.trace}\nrun it again: make simulate TRACE=file, with these lines in the file`);
    });
  }
});

/** `mostSeeds`: a fault that takes more would slip through. */
for (const { faults, mostSeeds } of [
  { faults: COMMON_FAULTS, mostSeeds: 40 },
  { faults: RARE_FAULTS, mostSeeds: 500 },
]) {
  describe(`the simulator finds, in at most ${mostSeeds} seeds, a daemon that`, () => {
    for (const fault of faults) {
      it(fault.what, LIMIT, async () => {
        assert.notEqual(await findFault(fault, { mostSeeds, engine }), null, `not found with ${mostSeeds} seeds`);
      });
    }
  });
}
