import { GB, MINUTE, SECOND } from "../../../src/model/units.ts";
import type { Act } from "../acts.ts";
import { checkPrompt } from "../checks/turns.ts";
import { checkWaitingBytes } from "../checks/waiting.ts";
import { advance } from "../world/ask.ts";
import { ALL_MANNERS, type Manner } from "../world/network.ts";
import { nameOf, readRows } from "../world/rows.ts";
import { DESTINATIONS, type DestinationName, type Shape, urlOf } from "../world/shape.ts";
import { type World, wrong } from "../world/world.ts";
import { changeTo, isServed } from "./config.ts";
import { resumeOne, retryAll } from "./operator.ts";
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
    await world.engine.revive(world);
    Object.assign(world, { refusing: null, free: 1e12, doom: null });
    if (world.engine.trouble) return calmTogether(world, all);
    if (all) await serveAll(world);
    await advance(world, LONG_ENOUGH + AND_THEN);
    await checkQuiet(world);
  },
};

/** What daemons that have died have left moves on in this time. */
const TO_TAKE_OVER = 12 * SECOND;

/**
 * Time is dear where several daemons beat: what waits for a receiver that was not well is hurried. They all run, and reach the
 * server.
 */
async function calmTogether(world: World, all: boolean): Promise<void> {
  await world.engine.trouble?.end(world);
  if (all) for (const name of DESTINATIONS) await resumeOne(world, name);
  await advance(world, TO_TAKE_OVER);
  await world.engine.catchUp(world);
  checkPrompt(world, await readRows(world));
  for (const life of world.lives) {
    world.life = life;
    for (const destination of DESTINATIONS) await retryAll.run(world, { destination });
  }
  await advance(world, TO_TAKE_OVER);
  for (let waited = 0; waited < AND_THEN && (await readRows(world)).unfinished.length > 0; waited += 5 * SECOND)
    await advance(world, 5 * SECOND);
  await checkQuiet(world);
}

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
  await world.engine.revive(world);
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
  await world.engine.revive(world);
  const rows = await readRows(world);
  const served = DESTINATIONS.filter((name) => isServed(world.shape, name) && !rows.paused.has(name));
  if (!world.engine.trouble) await checkWaitingBytes(world, rows);
  for (const row of rows.deliveries.values()) {
    if (row.state === "waiting" && served.includes(row.destination as never))
      wrong(world, `${nameOf(row)} waits, though all is well`);
  }
  for (const name of served) world.troubled.delete(name);
  if (served.length < DESTINATIONS.length) return;
  for (const id of rows.unfinished) wrong(world, `${id} is not done, though all is well`);
}
