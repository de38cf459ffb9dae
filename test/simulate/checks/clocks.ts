import { type Ms, SECOND } from "../../../src/model/units.ts";
import { stoodStillAtLeast, stoodStillAtMost } from "../world/clocks.ts";
import { nameOf, type Row, type Rows } from "../world/rows.ts";
import { meet, type World, wrong } from "../world/world.ts";

/** An attempt that began before this may not know of all the times that ended while it ran. */
const WHILE_IT_RAN: Ms = 5 * SECOND;

/** What waits is granted the time in which nothing could be delivered to its destination, and no more. */
export function checkClocks(world: World, after: Rows): void {
  for (const row of after.deliveries.values()) {
    const { state, destination, firstAttemptAt } = row;
    if (state !== "waiting" || firstAttemptAt === null) continue;
    const granted = grantedTo(world, row, after);
    const between = { from: firstAttemptAt, until: world.life.clock.now() };
    const atLeast = stoodStillAtLeast(world, destination, { ...between, from: firstAttemptAt + WHILE_IT_RAN });
    if (atLeast > 0) meet(world, "granted at least");
    if (granted < atLeast)
      wrong(world, `${nameOf(row)} is granted ${granted} ms, and its destination was paused for ${atLeast} ms`);
    const atMost = stoodStillAtMost(world, destination, between);
    if (granted > atMost && !world.life.unwritten)
      wrong(world, `${nameOf(row)} is granted ${granted} ms, and its clock stood still for ${atMost} ms`);
    if (granted > 0) meet(world, "granted time");
  }
}

function grantedTo({ life }: World, { destination, stoodStill }: Row, { clocks }: Rows): Ms {
  const clock = clocks.get(destination);
  if (!clock) return 0;
  const running = clock.stoppedAt === null ? 0 : Math.max(0, life.clock.now() - clock.stoppedAt);
  return Math.max(0, clock.stoodStill + running - stoodStill);
}
