import { type At, type Ms, SECOND } from "../../../src/model/units.ts";
import { stoodStillAtLeast, stoodStillAtMost } from "../world/clocks.ts";
import { nameOf, type Row, type Rows } from "../world/rows.ts";
import { type BootClock, meet, type World, wrong } from "../world/world.ts";

/** A clock that stops or starts while a first attempt runs is known as of either end of it. */
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
    if (granted > atMost + WHILE_IT_RAN && !world.life.unwritten)
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

/** For how long nobody runs, and whether the machine is started again meanwhile. */
export type Pause = { readonly down: Ms; readonly boots: BootClock | null };

/** When the last process ended, and whether its store surely remembers that it ran, and in which start of the machine. */
type Before = Pause & { readonly at: At; readonly isNoted: boolean };

/** A second more or less at each look at a clock, and a process is looked at when it has started, a second at a time. */
const SLACK: Ms = 3 * SECOND;
/** The clock is looked at every five seconds, and what has changed is written. */
const TO_NOTE: Ms = 10 * SECOND;

/** At the end of a process. */
export function noteLine(world: World, pause: Pause): Before {
  const { life, noted } = world;
  const at = life.clock.now();
  const isNoted = at - life.startedAt >= TO_NOTE && !life.unwritten;
  world.noted = isNoted
    ? { ahead: at - rightTime(world), error: life.leastError }
    : { ...noted, error: Math.min(noted.error, life.leastError) };
  return { ...pause, at, isNoted };
}

/**
 * Time does not jump for what waits, whatever the machine's clock says: a process goes on where the last one ended, and as much
 * later as nobody ran. Only a machine that was off meanwhile has nothing but its clock to measure that by; and if it is one
 * that cannot be, as in 1972 or 2102, the time counts as nothing.
 */
export function checkLine(
  world: World,
  { at, down, boots, isNoted, isNew }: Before & { readonly isNew: boolean },
): void {
  const { life, clockError, noted } = world;
  const ahead = life.clock.now() - rightTime(world);
  // A store in which nothing was ever written has no time to keep.
  if (isNew) {
    world.noted = { ahead, error: clockError };
    return;
  }
  const passed = life.clock.now() - at;
  if (boots === null && isNoted && Math.abs(passed - down) > SLACK)
    wrong(world, `nobody ran for ${down} ms, and for what waits ${passed} ms have passed`);
  const misled = boots === "1972" || boots === "2102" ? 0 : Math.max(0, clockError - noted.error);
  const tooMuch = ahead - noted.ahead - misled;
  if (tooMuch > SLACK) wrong(world, `for what waits, ${tooMuch} ms more have passed than there were`);
  // This one may be remembered now as well.
  world.noted = { ...noted, ahead: Math.max(noted.ahead, ahead) };
}

function rightTime({ life, clockError }: World): At {
  return life.clock.wall() - clockError;
}
