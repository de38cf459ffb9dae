// The simulator for longer than `make test` has time for: longer plans, other seeds, and the faults that few plans find.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { findFault, RARE_FAULTS } from "../simulate/find-fault.ts";
import { search } from "../simulate/search.ts";
import { createFalseDisk, type FalseDisk } from "../simulate/world/disk.ts";

const FIRST_SEED = 10_001;
const SEEDS = 1_000;
const STEPS = 50;
/** Of one test: a busy machine takes its time. */
const AT_ONCE = 250;
const LIMIT = { timeout: 1_200_000 };
/** A fault that takes more seeds than that would slip through. */
const MOST_SEEDS = 500;

let disk: FalseDisk;
before(async () => {
  disk = await createFalseDisk();
});
after(() => disk.remove());

describe("whatever happens, for longer", () => {
  for (let firstSeed = FIRST_SEED; firstSeed < FIRST_SEED + SEEDS; firstSeed += AT_ONCE) {
    it(`nothing is lost, or sent too often, too early or wrongly: seeds from ${firstSeed} on`, LIMIT, async () => {
      const result = await search({ firstSeed, seeds: AT_ONCE, steps: STEPS }, disk);
      if ("trace" in result)
        assert.fail(`${result.trace}\nrun it again: make simulate TRACE=file, with these lines in the file`);
    });
  }
});

describe("the simulator finds, in many seeds, a daemon that", () => {
  for (const fault of RARE_FAULTS) {
    it(fault.what, LIMIT, async () => {
      assert.notEqual(await findFault(fault, MOST_SEEDS, disk), null, `not found with ${MOST_SEEDS} seeds`);
    });
  }
});
