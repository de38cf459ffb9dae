import { HOUR, MINUTE, type Ms, SECOND } from "../../../src/model/units.ts";
import type { Act } from "../act.ts";
import { REFUSALS, type Refusing } from "../world/disk.ts";
import { kill } from "../world/life.ts";
import { stopLife } from "../world/lives.ts";
import { DESTINATIONS } from "../world/shape.ts";

const DOWN = [0, SECOND, MINUTE, HOUR] as const;

/** The process is killed: after so many moments of what happens next, or at once with 0. Another one begins after a while. */
export const crash: Act<{ after: number; down: Ms }> = {
  choose: (chance) => ({
    after: chance.pick([0, 1 + chance.below(8), 1 + chance.below(40), chance.below(400)]),
    down: chance.pick(DOWN),
  }),
  async run(world, { after, down }) {
    world.down = down;
    if (after === 0) kill(world, world.life);
    else world.diesIn = after;
  },
};

/** It is stopped, and started again. `quick`: it may not wait for what runs. */
export const stop: Act<{ quick: boolean; down: Ms }> = {
  choose: (chance) => ({ quick: chance.happens(0.3), down: chance.pick(DOWN) }),
  run: (world, { quick, down }) => stopLife(world, { quick, down }),
};

/** The disk refuses some writes: all of them for a while, or a few. */
export const disk: Act<{ what: Refusing; full: boolean; times: number }> = {
  choose: (chance) => ({
    what: chance.pick(REFUSALS),
    full: chance.happens(0.7),
    times: chance.pick([1, 2, 5, 30, 0]),
  }),
  async run(world, { what, full, times }) {
    world.refusing = { what, code: full ? "SQLITE_FULL" : "SQLITE_IOERR_WRITE", times };
    for (const name of DESTINATIONS) world.troubled.add(name);
  },
};

/** Another program fills the disk, or gives it back. It counts once outbox.freeDisk says so. */
export const space: Act<{ free: number }> = {
  choose: (chance) => ({ free: chance.pick([1e12, 1.2e9, 5e8, 0]) }),
  async run(world, { free }) {
    world.free = free;
  },
};
