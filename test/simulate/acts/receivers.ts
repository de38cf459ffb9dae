import type { Act } from "../act.ts";
import { ALL_MANNERS, type Manner } from "../world/receivers.ts";
import { DESTINATIONS, type DestinationName, urlOf } from "../world/shape.ts";
import type { World } from "../world/world.ts";

/** Receivers of a destination change their manners: one of them, or all at once. */
export const receiver: Act<{ destination: DestinationName; webhook: number; does: Manner }> = {
  choose: (chance) => ({
    destination: chance.pick(DESTINATIONS),
    webhook: chance.pick([0, 0, 1, 2, 3]),
    does: chance.pick(ALL_MANNERS),
  }),
  async run(world, { destination, webhook, does }) {
    for (const one of webhook === 0 ? [1, 2, 3] : [webhook]) world.manners.set(urlOf(destination, one), does);
    if (does !== "well" && does !== "created") world.troubled.add(destination);
  },
};

/** All receivers are well again. */
export const heal: Act<Record<string, never>> = {
  choose: () => ({}),
  run: async (world) => healAll(world),
};

export function healAll({ manners }: World): void {
  manners.clear();
}
