import { SECOND } from "../../../src/model/units.ts";
import type { Act } from "../act.ts";
import { advance } from "../world/advance.ts";
import { command } from "../world/ask.ts";
import { stopLife } from "../world/lives.ts";
import { DESTINATIONS } from "../world/shape.ts";
import { upset } from "../world/turns.ts";
import { meet, type Vanished, type World, wrong } from "../world/world.ts";

/** Somebody takes the outbox away under the daemon, puts another file in its place, or cuts it short. */
export const vanish: Act<{ what: Vanished }> = {
  choose: (chance) => ({ what: chance.pick(["removed", "removed", "replaced", "truncated"]) }),
  async run(world, { what }) {
    if (world.vanished !== null) return;
    Object.assign(world, { vanished: what, refused: world.refused + 1 });
    world.life.unwritten = true;
    meet(world, `the outbox was ${what}`);
    upset(world.turns, world.life.clock.now());
    // What was delivered from one that was cut short cannot be written.
    if (what === "truncated") for (const name of DESTINATIONS) world.troubled.add(name);
    await advance(world, 5 * SECOND);
    command(world, { method: "GET", path: "/readyz" }, ({ status, json }) => {
      if (status !== 503) wrong(world, `the outbox is ${what}, and /readyz says ${status} ${JSON.stringify(json)}`);
    });
    await world.life.clock.rest();
  },
};

/** What was taken away is put back; what was cut short is restored, and the daemon started again. */
export const found: Act<Record<string, never>> = {
  choose: () => ({}),
  run: putBack,
};

export async function putBack(world: World): Promise<void> {
  if (world.vanished === "truncated") return stopLife(world, { quick: false, down: 0 });
  if (world.vanished !== null) upset(world.turns, world.life.clock.now());
  world.vanished = null;
}
