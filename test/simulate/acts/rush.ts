import type { Act } from "../act.ts";
import { SOURCES, type SourceName } from "../world/shape.ts";
import { chooseNumber, sendCalls } from "./send.ts";

type Request = { readonly source: SourceName; readonly numbers: readonly number[] };

/** Many requests at once, which share commits. */
export const rush: Act<{ requests: readonly Request[] }> = {
  choose: (chance, nth) => ({
    requests: Array.from({ length: 2 + chance.below(8) }, (_, place) => ({
      source: chance.pick(SOURCES),
      numbers: Array.from({ length: 1 + chance.below(3) }, (_, within) =>
        chooseNumber(chance, nth, place * 3 + within),
      ),
    })),
  }),
  async run(world, { requests }) {
    for (const request of requests) sendCalls(world, request, request.numbers.length === 1 ? "call" : "batch");
    await world.life.clock.rest();
  },
};
