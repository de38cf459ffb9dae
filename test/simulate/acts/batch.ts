import type { Act } from "../act.ts";
import { SOURCES, type SourceName } from "../world/shape.ts";
import { chooseNumber, sendCalls } from "./send.ts";

/** Some calls in one request; some may be invalid. */
export const batch: Act<{ source: SourceName; numbers: readonly number[]; bad: number }> = {
  choose: (chance, nth) => ({
    source: chance.pick(SOURCES),
    numbers: Array.from({ length: 1 + chance.below(12) }, (_, within) => chooseNumber(chance, nth, within)),
    bad: chance.happens(0.2) ? 1 : 0,
  }),
  async run(world, { source, numbers, bad }) {
    // A repeat within one batch is the same call, and owed once.
    sendCalls(world, { source, numbers }, "batch", bad);
    await world.life.clock.rest();
  },
};
