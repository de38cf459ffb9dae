import type { Act } from "../act.ts";
import { command } from "../world/ask.ts";
import { DESTINATIONS, type DestinationName } from "../world/shape.ts";
import { upset } from "../world/turns.ts";
import { meet, type World, wrong } from "../world/world.ts";
import { pause } from "./pause.ts";

const REFUSALS = ["unknown_destination", "destination_in_use", "destination_busy", "invalid_request", "store_failed"];

/** An operator has what waits for a destination that is not served go to another one. */
export const move: Act<{ from: DestinationName; to: DestinationName; limit: number; pausing: boolean }> = {
  choose: (chance) => ({
    from: chance.pick(DESTINATIONS),
    to: chance.pick(DESTINATIONS),
    limit: chance.pick([1, 5, 500]),
    pausing: chance.happens(0.7),
  }),
  async run(world, { from, to, limit, pausing }) {
    if (pausing) await pause.run(world, { destination: from });
    world.moving = { from, to };
    world.discarding = from;
    command(world, { path: `/api/destinations/${from}/move`, body: { to, limit } }, hear(world, "moved"));
    await world.life.clock.rest();
    upset(world.turns, world.life.clock.now());
  },
};

/** Or gives it up. */
export const discard: Act<{ from: DestinationName; limit: number; pausing: boolean }> = {
  choose: (chance) => ({
    from: chance.pick(DESTINATIONS),
    limit: chance.pick([1, 5, 500]),
    pausing: chance.happens(0.7),
  }),
  async run(world, { from, limit, pausing }) {
    if (pausing) await pause.run(world, { destination: from });
    world.discarding = from;
    command(world, { path: `/api/destinations/${from}/discard`, body: { limit } }, hear(world, "discarded"));
    await world.life.clock.rest();
  },
};

function hear(world: World, what: "moved" | "discarded") {
  return ({ status, json }: { status: number; json: Readonly<Record<string, unknown>> }): void => {
    if (status === 200) meet(world, what, Number(json[what]));
    else if (!REFUSALS.includes(String(json.code))) wrong(world, `${what}: answered ${json.code}`);
  };
}
