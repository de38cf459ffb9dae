// Several daemons that share an outbox on PostgreSQL, with a false world, and plans from seeds.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import { findFault } from "./find-fault.ts";
import { makeSharedPlan, readPlan } from "./plan.ts";
import { runPlan } from "./run.ts";
import { search } from "./search.ts";
import { SHARED_FAULTS } from "./shared-faults.ts";
import { createServerEngine } from "./world/daemons.ts";
import type { Engine } from "./world/world.ts";

/** `make test-long` runs more, and looks for the faults that take more. */
const SEEDS = 5;
const STEPS = 20;
const MOST_SEEDS = 10;
const QUICKLY_FOUND = "recognises only the messageIds that it has stored itself";
const LIMIT = { timeout: 600_000 };

let engine: Engine;
before(async () => {
  engine = await createServerEngine();
});

describe("whatever happens to daemons that share an outbox", () => {
  it(`nothing is lost, sent too often, or left: seeds 1 to ${SEEDS}`, LIMIT, async () => {
    const result = await search({ firstSeed: 1, seeds: SEEDS, steps: STEPS, make: makeSharedPlan }, engine);
    if ("trace" in result)
      assert.fail(`${result.trace}\nrun it again: make simulate TRACE=file, with these lines in the file`);
  });
});

describe("what was once wrong beside others", () => {
  const folder = new URL("../fixtures/simulate-shared/", import.meta.url);
  for (const name of readdirSync(folder)) {
    it(`is well: ${name}`, LIMIT, async () => {
      const { wrong } = await runPlan(readPlan(readFileSync(new URL(name, folder), "utf8")), engine);
      assert.deepEqual(wrong, []);
    });
  }
});

describe("the simulator finds a daemon that, beside others,", () => {
  for (const fault of SHARED_FAULTS.filter(({ what }) => what === QUICKLY_FOUND)) {
    it(fault.what, LIMIT, async () => {
      const found = await findFault(fault, { mostSeeds: MOST_SEEDS, engine, make: makeSharedPlan });
      assert.notEqual(found, null, `not found with ${MOST_SEEDS} seeds`);
    });
  }
});
