import { DAY, HOUR, MINUTE, type Ms, SECOND } from "../../../src/model/units.ts";
import type { Act } from "../acts.ts";
import { advance, command } from "../world/ask.ts";
import { REFUSALS, type Refusing } from "../world/disk.ts";
import { kill, killAfter } from "../world/life.ts";
import { DESTINATIONS } from "../world/shape.ts";
import { upset } from "../world/tracks.ts";
import { type BootClock, meet, type Vanished, type World, wrong } from "../world/world.ts";

const DOWN = [0, SECOND, MINUTE, HOUR] as const;

/** The process is killed: after so many moments of what happens next, or at once with 0. Another one begins after a while. */
export const crash: Act<{ after: number; down: Ms }> = {
  choose: (chance) => ({
    after: chance.pick([0, 1 + chance.below(8), 1 + chance.below(40), chance.below(400)]),
    down: chance.pick(DOWN),
  }),
  async run(world, { after, down }) {
    world.down = down;
    killAfter(world, after);
  },
};

/** It is stopped, and started again. `quick`: it may not wait for what runs. */
export const stop: Act<{ quick: boolean; down: Ms }> = {
  choose: (chance) => ({ quick: chance.happens(0.3), down: chance.pick(DOWN) }),
  run: (world, { quick, down }) => world.engine.stop(world, { quick, down }),
};

/** The disk refuses some writes: all of them for a while, or a few. */
export const disk: Act<{ what: Refusing; full: boolean; times: number }> = {
  choose: (chance) => ({
    what: chance.pick(REFUSALS),
    full: chance.happens(0.7),
    times: chance.pick([1, 2, 5, 30, 0]),
  }),
  async run(world, { what, full, times }) {
    world.refusing = { what, code: full ? "SQLITE_FULL" : "SQLITE_IOERR_WRITE", times };
    for (const name of DESTINATIONS) world.troubled.add(name);
  },
};

/** Another program fills the disk, or gives it back. It counts once outbox.freeDisk says so. */
export const space: Act<{ free: number }> = {
  choose: (chance) => ({ free: chance.pick([1e12, 1.2e9, 5e8, 0]) }),
  async run(world, { free }) {
    world.free = free;
  },
};

/** Somebody takes the outbox away under the daemon, puts another file in its place, or cuts it short. */
export const vanish: Act<{ what: Vanished }> = {
  choose: (chance) => ({ what: chance.pick(["removed", "removed", "replaced", "truncated"]) }),
  async run(world, { what }) {
    if (world.vanished !== null) return;
    Object.assign(world, { vanished: what, refused: world.refused + 1 });
    world.life.unwritten = true;
    meet(world, `the outbox was ${what}`);
    upset(world.turns, world.life.clock.now());
    // What was delivered from one that was cut short cannot be written.
    if (what === "truncated") for (const name of DESTINATIONS) world.troubled.add(name);
    await advance(world, 5 * SECOND);
    command(world, { method: "GET", path: "/readyz" }, ({ status, json }) => {
      if (status !== 503) wrong(world, `the outbox is ${what}, and /readyz says ${status} ${JSON.stringify(json)}`);
    });
    await world.life.clock.rest();
  },
};

/** What was taken away is put back; what was cut short is restored, and the daemon started again. */
export const found: Act<Record<string, never>> = {
  choose: () => ({}),
  run: putBack,
};

export async function putBack(world: World): Promise<void> {
  if (world.vanished === "truncated") return world.engine.stop(world, { quick: false, down: 0 });
  if (world.vanished !== null) upset(world.turns, world.life.clock.now());
  world.vanished = null;
}

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
    if (clean) await world.engine.stop(world, { quick: false, down });
    else kill(world, world.life);
    await world.engine.revive(world);
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
