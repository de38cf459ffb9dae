import { HOUR, type Ms, SECOND } from "../../../src/model/units.ts";
import type { World } from "./world.ts";

/** Lets time go by, as far as the process lives. */
export async function advance({ life: { clock } }: World, ms: Ms): Promise<void> {
  await clock.advance(`${ms}ms`);
}

/** Waits for a promise, and lets time go by for it: a second at a time. Answers whether it came to an end, or the process died. */
export async function advanceUntil(world: World, promise: Promise<unknown>): Promise<boolean> {
  const { life } = world;
  let over = false;
  void promise.finally(() => {
    over = true;
  });
  await life.clock.rest();
  for (let waited = 0; waited < HOUR && !over && !life.dead; waited += SECOND) await advance(world, SECOND);
  return over || life.dead;
}
