import { type At, type Ms, SECOND } from "../../../src/model/units.ts";
import { type BootClock, type World, wrong } from "../world/world.ts";

/** For how long nobody runs, and whether the machine is started again meanwhile. */
export type Pause = { readonly down: Ms; readonly boots: BootClock | null };

/** When the last process ended, and whether its store surely remembers that it ran, and in which start of the machine. */
export type Before = Pause & { readonly at: At; readonly isNoted: boolean };

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
