import { PAGE, type Reading } from "../../../src/deliver/reading.ts";
import { meet, type World, wrong } from "../world/world.ts";

/** Of bodies, in characters: what a queue may have, and a page that was read when it nearly had it. */
const MOST_BODIES = 4 * 1_024 * 1_024;

/** The queues of all windows that were made in this process; nobody notes them where functions cannot be replaced. */
export const readings = new Set<WeakRef<Reading>>();

/** However long the backlog, a destination has a page or two of it in memory. */
export function checkMemory(world: World): void {
  for (const known of readings) {
    const reading = known.deref();
    if (!reading) readings.delete(known);
    else meet(world, "queues that were looked at");
    if (reading && (reading.waiting.length > 2 * PAGE || reading.size > MOST_BODIES)) {
      wrong(world, `${reading.waiting.length} deliveries with ${reading.size} characters are in one queue in memory`);
    }
  }
}
