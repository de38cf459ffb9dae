// The simulator, tried: each of these faults is put into the daemon on purpose, and has to be found.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { COMMON_FAULTS, findFault } from "./find-fault.ts";
import { createDiskEngine } from "./world/lives.ts";
import type { Engine } from "./world/world.ts";

/** A fault that takes more is rare: test/long/simulate.long.ts looks for those. */
const MOST_SEEDS = 40;
/** Of one fault: a busy machine takes its time. */
const LIMIT = { timeout: 600_000 };

describe("the simulator finds a daemon that", () => {
  let engine: Engine;
  before(async () => {
    engine = await createDiskEngine();
  });
  after(() => engine.remove());

  for (const fault of COMMON_FAULTS) {
    it(fault.what, LIMIT, async () => {
      const found = await findFault(fault, { mostSeeds: MOST_SEEDS, engine });
      assert.notEqual(found, null, `not found with ${MOST_SEEDS} seeds`);
    });
  }
});
