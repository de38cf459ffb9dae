import { DAY, GB, HOUR, MINUTE } from "../../src/model/units.ts";
import { ACTS, type ActName } from "./acts.ts";
import { createChance } from "./random.ts";
import { CUTOFFS, FIRST_SHAPE, type Shape } from "./world/shape.ts";

/** One thing that happens, with all that is left to chance about it decided. */
export type Step = { readonly act: ActName; readonly with: Readonly<Record<string, unknown>> };

/** A run, as far as it is known before it begins: the same plan is always the same run. */
export type Plan = { readonly seed: number; readonly shape: Shape; readonly steps: readonly Step[] };

/** How often each act comes, beside the others. */
export const WEIGHTS: Readonly<Record<ActName, number>> = {
  call: 26,
  batch: 10,
  rush: 6,
  again: 8,
  receiver: 22,
  heal: 3,
  pass: 30,
  reload: 10,
  pause: 4,
  resume: 4,
  replay: 6,
  retry: 4,
  retryAll: 2,
  move: 2,
  discard: 2,
  delete: 5,
  lift: 1,
  audience: 5,
  members: 3,
  removal: 1,
  wall: 3,
  right: 2,
  reboot: 3,
  crash: 8,
  stop: 3,
  disk: 4,
  space: 2,
  vanish: 2,
  found: 2,
  calm: 2,
};

/** Makes a plan of so many steps from a seed. */
export function makePlan(seed: number, length: number): Plan {
  const chance = createChance(seed);
  const shape = {
    ...FIRST_SHAPE,
    cutoff: chance.pick(CUTOFFS),
    keepDelivered: chance.pick([DAY, DAY, MINUTE, HOUR]),
    keepFailed: chance.pick([30 * DAY, 30 * DAY, 20 * MINUTE]),
    maxSize: chance.pick([GB, GB, GB, 450_000, 700_000]),
    concurrency: chance.pick([64, 64, 1, 3]),
  };
  const total = Object.values(WEIGHTS).reduce((sum, weight) => sum + weight, 0);
  const steps = Array.from({ length }, (_, nth): Step => {
    const act = pickAct(chance.fraction() * total);
    return { act, with: ACTS[act].choose(chance, nth) };
  });
  return { seed, shape, steps };
}

/** Of all acts in a row, each as long as its weight: the one at this place. */
function pickAct(place: number): ActName {
  let end = 0;
  for (const [name, weight] of Object.entries(WEIGHTS)) {
    end += weight;
    if (place < end) return name as ActName;
  }
  return "pass";
}
