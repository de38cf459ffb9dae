import { GB, MINUTE } from "../../../src/model/units.ts";
import type { Act } from "../acts.ts";
import { advance } from "../world/ask.ts";
import { revive } from "../world/lives.ts";
import { ALL_MANNERS, type Manner } from "../world/network.ts";
import { nameOf, readRows } from "../world/rows.ts";
import { DESTINATIONS, type DestinationName, type Shape, urlOf } from "../world/shape.ts";
import { type World, wrong } from "../world/world.ts";
import { changeTo, isServed } from "./config.ts";
import { resumeOne } from "./operator.ts";
import { putBack } from "./trouble.ts";

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

function healAll({ manners }: World): void {
  manners.clear();
}

/** All has been well for longer than any wait: everything that may go out has gone out, and what was begun is done. */
async function checkQuiet(world: World): Promise<void> {
  await revive(world);
  const rows = await readRows(world);
  const served = DESTINATIONS.filter((name) => isServed(world.shape, name) && !rows.paused.has(name));
  for (const row of rows.deliveries.values()) {
    if (row.state === "waiting" && served.includes(row.destination as never))
      wrong(world, `${nameOf(row)} waits, though all is well`);
  }
  for (const name of served) world.troubled.delete(name);
  if (served.length < DESTINATIONS.length) return;
  for (const id of rows.unfinished) wrong(world, `${id} is not done, though all is well`);
}
