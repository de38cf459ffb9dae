import type { Act } from "../act.ts";
import { command } from "../world/ask.ts";
import { beginLost, endLost } from "../world/lost.ts";
import { DESTINATIONS, type DestinationName } from "../world/shape.ts";
import { meet, type World } from "../world/world.ts";

type Wish = { readonly destination: DestinationName };

/** An operator pauses a destination. */
export const pause: Act<Wish> = {
  choose: (chance) => ({ destination: chance.pick(DESTINATIONS) }),
  async run(world, { destination }) {
    beginLost(world, destination, { why: "paused", from: world.life.clock.now() });
    command(world, { path: `/api/destinations/${destination}/pause`, body: undefined }, ({ status }) => {
      if (status !== 200) return;
      meet(world, "pauses");
      world.paused.add(destination);
    });
    await world.life.clock.rest();
  },
};

/** Or lets it go on. */
export const resume: Act<Wish> = {
  choose: (chance) => ({ destination: chance.pick(DESTINATIONS) }),
  run: (world, { destination }) => resumeOne(world, destination),
};

export async function resumeOne(world: World, destination: DestinationName): Promise<void> {
  world.paused.delete(destination);
  command(world, { path: `/api/destinations/${destination}/resume`, body: undefined }, ({ status, json }) => {
    if (status === 200 && json.paused === false) endLost(world, destination, "paused");
    else if (status !== 404) world.paused.add(destination);
  });
  await world.life.clock.rest();
}
