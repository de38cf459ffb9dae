import type { Rows } from "../world/rows.ts";
import { type World, wrong } from "../world/world.ts";

/** What the daemon counts in memory is what is in the outbox. */
export async function checkCounters(world: World, after: Rows): Promise<void> {
  const rows = new Map<string, number>();
  for (const { destination, state } of after.deliveries.values()) add(rows, `${destination} ${state}`, 1);
  for (const { destination, state, count } of (await world.life.backlog?.counts()) ?? [])
    add(rows, `${destination} ${state}`, -count);
  for (const [what, difference] of rows) {
    if (difference !== 0) wrong(world, `${what}: ${difference} more than are counted`);
  }
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
