import { DAY, HOUR, MINUTE, type Ms, SECOND } from "../../../src/model/units.ts";
import type { Act } from "../act.ts";
import { advance } from "../world/advance.ts";
import { command } from "../world/ask.ts";
import { kill } from "../world/life.ts";
import { revive, stopLife } from "../world/lives.ts";
import { type BootClock, type World, wrong } from "../world/world.ts";

/** Time goes by: from a moment to more than a cutoff. */
export const pass: Act<{ ms: Ms }> = {
  choose(chance) {
    const longest = chance.pick([100, SECOND, 5 * SECOND, 10 * SECOND, MINUTE, MINUTE, 10 * MINUTE, 20 * MINUTE, HOUR]);
    if (chance.happens(0.02)) return { ms: chance.pick([5 * HOUR, DAY + 1]) };
    return { ms: 1 + chance.below(longest) };
  },
  run: (world, { ms }) => advance(world, ms),
};

/** The machine's clock is set, forwards or back. What counts is only its monotonic one, until the next start. */
export const wall: Act<{ by: Ms }> = {
  choose: (chance) => ({ by: chance.pick([-1, 1]) * chance.pick([SECOND, MINUTE, HOUR, DAY, 400 * DAY]) }),
  run: (world, { by }) => stepWall(world, by),
};

/** A time service sets it right. What comes from here on has the right time, and what has come before is not given up for it. */
export const right: Act<Record<string, never>> = {
  choose: () => ({}),
  run: (world) => stepWall(world, -world.clockError),
};

async function stepWall(world: World, by: Ms): Promise<void> {
  const { clock } = world.life;
  clock.setWall(clock.wall() + by);
  world.clockError += by;
  world.life.leastError = Math.min(world.life.leastError, world.clockError);
}

/** The machine is started again, without its daemon being stopped before or with that, and its clock may be wrong then. */
export const reboot: Act<{ clean: boolean; clock: BootClock; down: Ms }> = {
  choose: (chance) => ({
    clean: chance.happens(0.4),
    clock: chance.pick(["right", "as it was", "1972", "1972", "2102"]),
    down: chance.pick([20 * SECOND, MINUTE, HOUR]),
  }),
  async run(world, { clean, clock, down }) {
    Object.assign(world, { boots: clock, down });
    if (clean) await stopLife(world, { quick: false, down });
    else kill(world, world.life);
    await revive(world);
    if (clock === "1972" || clock === "2102") askClock(world, clock === "1972" ? "before_build" : "ahead");
    await world.life.clock.rest();
  },
};

/** A clock that cannot be right is shown. */
function askClock(world: World, code: string): void {
  command(world, { method: "GET", path: "/api/status" }, ({ status, json }) => {
    const { clock } = json as { clock?: { code?: unknown } };
    if (status === 200 && clock?.code === code) return;
    wrong(world, `the machine's clock is ${code}, and the status says ${status} ${JSON.stringify(clock)}`);
  });
}
