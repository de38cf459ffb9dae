/**
 * `make simulate SEED=1 STEPS=1000000`: runs plans with one seed after the other until so many steps are done, or one fails.
 * `make simulate SHARED=1`: the same with daemons that share an outbox on PostgreSQL, in shorter plans.
 * `make simulate TRACE=file`: runs the plan that a trace has printed. It exits 1 if something is wrong.
 */
import { readFileSync } from "node:fs";
import type { Plan, Step } from "./plan.ts";
import { makePlan, makeSharedPlan, readPlan, writeStep, writeTrace } from "./plan.ts";
import { runPlan } from "./run.ts";
import { search } from "./search.ts";
import { createServerEngine } from "./world/daemons.ts";
import { createDiskEngine } from "./world/lives.ts";
import type { World } from "./world/world.ts";

/** Steps of one plan: enough for one thing to meet another, and few enough to be told. */
const LENGTH = process.env.SHARED ? 25 : 50;

// make hands over what was left out as nothing.
const SEED = Number(process.env.SEED || 1);
const STEPS = Number(process.env.STEPS || 100_000);
const TRACE = process.env.TRACE || "";
if (!(Number.isSafeInteger(SEED) && Number.isSafeInteger(STEPS) && STEPS > 0))
  throw new Error("SEED and STEPS are whole numbers");
const trace = TRACE === "" ? null : readPlan(readFileSync(TRACE, "utf8"));
const isShared = process.env.SHARED ? true : (trace?.daemons ?? 1) > 1;
const engine = await (isShared ? createServerEngine() : createDiskEngine());
const make = isShared ? makeSharedPlan : makePlan;
process.on("exit", () => engine.remove());
process.exit(trace === null ? await searchOn(SEED, STEPS) : await runAgain(trace));

async function searchOn(firstSeed: number, most: number): Promise<number> {
  const steps = Math.min(LENGTH, most);
  const seeds = Math.ceil(most / steps);
  const startedAt = performance.now();
  const after = (seed: number): void => {
    if ((seed - firstSeed + 1) % 200 === 0)
      console.log(`seed ${seed}: ${(seed - firstSeed + 1) * steps} steps, all is well`);
  };
  const result = await search({ firstSeed, seeds, steps, make, after }, engine);
  if (!("trace" in result)) {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    console.log(
      `${seeds * steps} steps of ${seeds} seeds from ${firstSeed} on in ${seconds} s: nothing is wrong. They have met:`,
    );
    for (const [what, count] of [...result].sort()) console.log(`  ${what}: ${count}`);
    return 0;
  }
  console.log(`${result.trace}\nRun it again: make simulate TRACE=file, with these lines in the file.`);
  return 1;
}

async function runAgain(plan: Plan): Promise<number> {
  const watching = (world: World, step: Step): void => {
    const told = world.told.filter(({ what }) => what !== "attempted").map(({ what }) => what);
    const counts = [...Map.groupBy(told, (what) => what)].map(([what, those]) => `${what} ${those.length}`);
    console.log(`${new Date(world.life.clock.now()).toISOString()} ${writeStep(step)}\n    ${counts.join(", ")}`);
  };
  const verdict = await runPlan(plan, engine, { watching });
  console.log(verdict.failedAt === null ? "nothing is wrong" : writeTrace(plan, verdict));
  return verdict.failedAt === null ? 0 : 1;
}
