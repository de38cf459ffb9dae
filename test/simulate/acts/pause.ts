import type { Act } from "../act.ts";
import { command } from "../world/ask.ts";
import { beginStop, endStop } from "../world/clocks.ts";
import { DESTINATIONS, type DestinationName } from "../world/shape.ts";
import { meet, type World } from "../world/world.ts";

type Wish = { readonly destination: DestinationName };

/** An operator pauses a destination. */
export const pause: Act<Wish> = {
  choose: (chance) => ({ destination: chance.pick(DESTINATIONS) }),
  async run(world, { destination }) {
    beginStop(world, destination, { why: "paused", from: world.life.clock.now() });
    command(world, { path: `/api/destinations/${destination}/pause`, body: undefined }, ({ status }) => {
      if (status !== 200) return;
      meet(world, "pauses");
      pauseSurely(world, destination);
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
  endStop(world, destination, "surely");
  command(world, { path: `/api/destinations/${destination}/resume`, body: undefined }, ({ status, json }) => {
    if (status === 200 && json.paused === false) endStop(world, destination, "paused");
    else if (status !== 404) pauseSurely(world, destination);
  });
  await world.life.clock.rest();
}

function pauseSurely(world: World, destination: DestinationName): void {
  world.paused.add(destination);
  beginStop(world, destination, { why: "surely", from: world.life.clock.now() });
}
