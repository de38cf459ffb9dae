import type { Rows } from "../world/rows.ts";
import { type World, wrong } from "../world/world.ts";
import { isCleared } from "./bind.ts";

/** What is said to have been replayed was. Others may have been as well, in the same moment: a process has died before it could say so. */
export function checkReplayed(world: World, after: Rows): void {
  // What was removed to make room, or erased, cannot be counted.
  if (world.replayed === 0 || world.ended > 0 || isCleared(world)) return;
  const now = world.life.clock.now();
  const those = [...after.deliveries.values()].filter(({ replayedAt }) => replayedAt === now);
  if (those.length < world.replayed) wrong(world, `${world.replayed} are said to be replayed, and ${those.length} are`);
}
