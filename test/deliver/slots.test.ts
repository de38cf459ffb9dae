import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MOST_ATTEMPTS } from "../../src/deliver/slots.ts";
import { createChance } from "../simulate/random.ts";
import { SLOW } from "../slow.ts";
import { disturb, makeOne, startCrowd } from "./crowd.ts";

const SEEDS = 2;
const STEPS = 40;

/** In a crowd of so many: whoever could send does at each moment, and all arrives once all are well. */
async function holds(seed: number, { count, webhooks }: { count: number; webhooks: number }): Promise<void> {
  const chance = createChance(seed);
  const crowd = startCrowd(
    chance,
    Array.from({ length: count }, (_, nth) => makeOne(nth, webhooks)),
  );
  for (let step = 0; step < STEPS; step += 1) {
    disturb(crowd, chance, webhooks);
    for (const wait of ["0s", `${chance.below(5_000)}ms`, `${chance.below(4)}s`]) {
      await crowd.clock.advance(wait);
      await crowd.clock.rest();
      assert.deepEqual(crowd.idle(), [], `seed ${seed}, step ${step}: there are slots for them`);
      assert.ok(crowd.most() <= MOST_ATTEMPTS, `seed ${seed}, step ${step}: ${crowd.most()} at once`);
    }
  }
  crowd.moods.clear();
  crowd.serve(crowd.destinations().map((one) => ({ ...one, enabled: true })));
  // Longer than the longest wait of a delivery or a lane, with its chance.
  await crowd.clock.advance("25m");
  assert.deepEqual(crowd.waiting(), [], `seed ${seed}`);
  const stopping = crowd.deliver.stop();
  await crowd.clock.advance("6s");
  await stopping;
}

describe("the slots of a whole daemon", () => {
  for (const count of [3, 12, 60, 120, 250]) {
    for (const webhooks of [1, 3]) {
      it(`leave none of ${count} destinations with ${webhooks} webhooks without one that is free`, SLOW, async () => {
        for (let seed = 1; seed <= SEEDS; seed += 1) await holds(seed * 1_000 + count, { count, webhooks });
      });
    }
  }
});
