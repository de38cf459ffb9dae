import { GB, MINUTE } from "../../../src/model/units.ts";
import type { Act } from "../act.ts";
import { checkQuiet } from "../checks/quiet.ts";
import { advance } from "../world/advance.ts";
import { revive } from "../world/lives.ts";
import { DESTINATIONS, type Shape } from "../world/shape.ts";
import type { World } from "../world/world.ts";
import { changeTo } from "./config.ts";
import { putBack } from "./files.ts";
import { resumeOne } from "./pause.ts";
import { healAll } from "./receivers.ts";

/**
 * Longer than any wait, of a delivery or of a lane, with its chance; and then what was set off by that: who is to be erased is
 * looked for once a minute.
 */
const LONG_ENOUGH = 13 * MINUTE;
const AND_THEN = 3 * MINUTE;

/** All is well for a while: whatever was wrong, what is due arrives. With `all`, what was paused or disabled as well. */
export const calm: Act<{ all: boolean }> = {
  choose: (chance) => ({ all: chance.happens(0.3) }),
  async run(world, { all }) {
    healAll(world);
    await putBack(world);
    await revive(world);
    Object.assign(world, { refusing: null, free: 1e12, diesIn: null });
    if (all) await serveAll(world);
    await advance(world, LONG_ENOUGH + AND_THEN);
    await checkQuiet(world);
  },
};

async function serveAll(world: World): Promise<void> {
  // A pause that was refused when the disk was full is asked for again.
  for (const name of DESTINATIONS) await resumeOne(world, name);
  const { shape } = world;
  const served = DESTINATIONS.map(
    (name) => [name, { ...shape.destinations[name], listed: true, enabled: true }] as const,
  );
  await changeTo(world, {
    ...shape,
    maxSize: GB,
    freeDisk: 0,
    destinations: Object.fromEntries(served) as Shape["destinations"],
  });
  await revive(world);
}
