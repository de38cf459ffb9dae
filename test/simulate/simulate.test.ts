// The whole daemon with a false world, and plans from seeds: whatever happens in them, what must be true is true.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { ACTS, type ActName } from "./acts.ts";
import { makePlan, makeSharedPlan, readPlan, SHARED_WEIGHTS, WEIGHTS, writePlan } from "./plan.ts";
import { runPlan } from "./run.ts";
import { search, shrink } from "./search.ts";
import { createDiskEngine } from "./world/lives.ts";
import type { Engine, World } from "./world/world.ts";

/** `make test-long` and `make simulate` run more. Under Deno a few seeds show that the same code runs there. */
const SEEDS = "Bun" in globalThis ? 100 : 10;
const STEPS = 15;
const LIMIT = { timeout: 600_000 };

let engine: Engine;
before(async () => {
  engine = await createDiskEngine();
});
after(() => engine.remove());

describe("whatever happens", () => {
  it(`nothing is lost, or sent too often, too early or wrongly: seeds 1 to ${SEEDS}`, LIMIT, async () => {
    const result = await search({ firstSeed: 1, seeds: SEEDS, steps: STEPS }, engine);
    if ("trace" in result)
      assert.fail(`${result.trace}\nrun it again: make simulate TRACE=file, with these lines in the file`);
  });
});

describe("what was once wrong, or taken for it", () => {
  const folder = new URL("../fixtures/simulate/", import.meta.url);
  for (const name of readdirSync(folder)) {
    it(`is well: ${name}`, LIMIT, async () => {
      const { wrong } = await runPlan(readPlan(readFileSync(new URL(name, folder), "utf8")), engine);
      assert.deepEqual(wrong, []);
    });
  }
});

describe("a plan", () => {
  it("is the same for the same seed, and so is its run", LIMIT, async () => {
    const lives = [[], []] as string[][];
    for (const one of lives) {
      await runPlan(makePlan(7, 25), engine, { watching: (world) => one.push(describeWorld(world)) });
    }
    assert.deepEqual(lives[0], lives[1]);
    assert.notDeepEqual(makePlan(7, 25), makePlan(8, 25));
  });

  it("is the same when its trace is read again", () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      for (const plan of [makePlan(seed, 40), makeSharedPlan(seed, 40)])
        assert.deepEqual(readPlan(writePlan(plan)), plan);
    }
  });

  it("is short when only few of its steps are needed", async () => {
    const plan = makePlan(3, 60);
    const isFailing = (one: typeof plan): boolean => one.steps.filter(({ act }) => act === "call").length >= 2;
    const judge = async (one: typeof plan) => ({
      failedAt: isFailing(one) ? one.steps.length - 1 : null,
      wrong: [],
      met: new Map(),
    });
    const { plan: shortest } = await shrink(plan, await judge(plan), judge);
    assert.deepEqual(
      shortest.steps.map(({ act }) => act),
      ["call", "call"],
    );
  });

  it("can have each act, and some of each in a few seeds", () => {
    assert.deepEqual(Object.keys({ ...WEIGHTS, ...SHARED_WEIGHTS }).sort(), Object.keys(ACTS).sort());
    const met = new Set<ActName>();
    for (let seed = 1; seed <= 60; seed += 1)
      for (const make of [makePlan, makeSharedPlan]) for (const { act } of make(seed, STEPS).steps) met.add(act);
    assert.deepEqual([...met].sort(), Object.keys(ACTS).sort());
  });
});

/** All that could differ: times, rows and what was said. */
function describeWorld({ life, rows, told, met }: World): string {
  return JSON.stringify([
    life.clock.now(),
    [...rows.deliveries.values()],
    told.map(({ what, at }) => [what, at]),
    [...met],
  ]);
}
