import { isServed } from "../acts/config.ts";
import { nameOf, type Rows } from "../world/rows.ts";
import { type World, wrong } from "../world/world.ts";

/** Where all was well all the time, nothing that is due waits: a wake-up that is lost is seen at once. */
export function checkPrompt(world: World, after: Rows): void {
  if (world.refusing !== null && world.refusing.times > 0) return;
  const now = world.life.clock.now();
  for (const row of after.deliveries.values()) {
    if (row.state !== "waiting" || (row.dueAt ?? 0) > now) continue;
    const { destination } = row;
    if (world.troubled.has(destination) || after.paused.has(destination)) continue;
    if (!isServed(world.shape, destination as never)) continue;
    wrong(world, `${nameOf(row)} is due, its receiver is well, and nothing is sent`);
  }
}
