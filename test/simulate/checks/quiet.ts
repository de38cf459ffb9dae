import { isServed } from "../acts/config.ts";
import { revive } from "../world/lives.ts";
import { nameOf, readRows } from "../world/rows.ts";
import { DESTINATIONS } from "../world/shape.ts";
import { type World, wrong } from "../world/world.ts";

/** All has been well for longer than any wait: everything that may go out has gone out, and what was begun is done. */
export async function checkQuiet(world: World): Promise<void> {
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
