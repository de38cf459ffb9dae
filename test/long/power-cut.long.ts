import { describe, it } from "node:test";
import process from "node:process";
import { PATIENCE } from "../binary/waiting.ts";
import { MISSING } from "./power-cut/disk.ts";
import { loseAndRestorePower } from "./power-cut/run.ts";

const FIRST = Number(process.env.POWER_CUT_SEED ?? 1);
const COUNT = Number(process.env.POWER_CUTS ?? 1);
describe("a power cut", { skip: MISSING }, () => {
  it("x", { timeout: 10 * PATIENCE }, async () => {
    for (let seed = FIRST; seed < FIRST + COUNT; seed += 1) {
      const t = performance.now();
      const cuts = await loseAndRestorePower({ seed, ...(process.env.LIES && { lies: process.env.LIES }) }).catch((e) => e.message);
      console.log(seed, cuts, Math.round(performance.now() - t));
    }
  });
});
