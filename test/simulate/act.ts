import type { Chance } from "./random.ts";
import type { World } from "./world/world.ts";

/** One kind of thing that can happen. */
export type Act<P> = {
  /** Decides what is left to chance about it. `nth`: the number of the step, from 0. */
  choose(chance: Chance, nth: number): P;
  /** Does it. Resolves when all that it sets off at once has come to rest. */
  run(world: World, with_: P): Promise<void>;
};
