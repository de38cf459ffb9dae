import type { Act } from "../act.ts";
import { SOURCES } from "../world/shape.ts";
import { sendCalls } from "./send.ts";

/** What clients do: all that was refused lately, or never answered, is sent again; and one that was taken, since its answer was lost. */
export const again: Act<{ steps: number; also: number }> = {
  choose: (chance) => ({ steps: chance.pick([1, 3, 10]), also: chance.below(100) }),
  async run(world, { steps, also }) {
    const lately = world.ledger.all().filter(({ step }) => step >= world.step - steps);
    for (const source of SOURCES) {
      const own = lately.filter((entry) => entry.source === source);
      const open = own.filter(({ acked, refused }) => refused || !acked);
      const taken = own[also % Math.max(1, own.length)];
      const ids = [...open, ...(taken ? [taken] : [])].map(({ messageId }) => Number(messageId.slice(1)));
      const numbers = [...new Set(ids)].slice(0, 30);
      if (numbers.length > 0) sendCalls(world, { source, numbers }, numbers.length === 1 ? "call" : "batch");
    }
    await world.life.clock.rest();
  },
};
