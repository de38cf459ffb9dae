import type { Act } from "../act.ts";
import { SOURCES, type SourceName } from "../world/shape.ts";
import { chooseNumber, sendCalls } from "./send.ts";

/** One call in a request of its own. */
export const call: Act<{ source: SourceName; n: number }> = {
  choose: (chance, nth) => ({ source: chance.pick(SOURCES), n: chooseNumber(chance, nth) }),
  async run(world, { source, n }) {
    sendCalls(world, { source, numbers: [n] }, "call");
    await world.life.clock.rest();
  },
};
