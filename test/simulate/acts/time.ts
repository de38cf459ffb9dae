import { DAY, HOUR, MINUTE, type Ms, SECOND } from "../../../src/model/units.ts";
import type { Act } from "../act.ts";
import { advance } from "../world/advance.ts";

/** Time goes by: from a moment to more than a cutoff. */
export const pass: Act<{ ms: Ms }> = {
  choose(chance) {
    const longest = chance.pick([100, SECOND, 5 * SECOND, 10 * SECOND, MINUTE, MINUTE, 10 * MINUTE, 20 * MINUTE, HOUR]);
    if (chance.happens(0.02)) return { ms: chance.pick([5 * HOUR, DAY + 1]) };
    return { ms: 1 + chance.below(longest) };
  },
  run: (world, { ms }) => advance(world, ms),
};

/** The machine's clock is set, forwards or back. What counts is only its monotonic one, until the next start. */
export const wall: Act<{ by: Ms }> = {
  choose: (chance) => ({ by: chance.pick([-1, 1]) * chance.pick([SECOND, MINUTE, HOUR, DAY, 400 * DAY]) }),
  async run({ life: { clock } }, { by }) {
    clock.setWall(clock.wall() + by);
  },
};
