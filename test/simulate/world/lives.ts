/** One process after the other, on the files of SQLite. */

import type { Boot } from "../../../src/model/timeline.ts";
import { type At, type Ms, SECOND } from "../../../src/model/units.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { createFalseClock } from "../../flow/clock.ts";
import { checkLine, noteLine, type Pause } from "../checks/clocks.ts";
import { advanceUntil } from "./ask.ts";
import { endStop, reopenStops } from "./clocks.ts";
import { createFalseDisk, diskError, type FalseDisk } from "./disk.ts";
import { type Birth, moment, startLife } from "./life.ts";
import { readRows } from "./rows.ts";
import { DESTINATIONS, urlOf } from "./shape.ts";
import { upset } from "./tracks.ts";
import { type Engine, meet, type World, wrong } from "./world.ts";

/** A daemon that has its outbox alone. */
export async function createDiskEngine(): Promise<Engine> {
  const disk = await createFalseDisk();
  return {
    isShared: false,
    async begin(world) {
      const boot = { id: 1, uptime: 0 };
      await start(world, { path: disk.fresh(), startAt: world.life.clock.wall(), boot, opened: async () => {} });
      await revive(world, disk);
    },
    attach(world, life) {
      disk.watch(life.path, {
        moment: () => moment(world, life),
        allow(what) {
          if (!life.dead) refuse(world, what);
        },
      });
    },
    openStore: (_world, _life, options) => openStore(options),
    killed(world, life) {
      // Whoever starts the next one puts the files back first.
      world.vanished = null;
      // From here on it writes into a file that nobody reads any more.
      world.nextPath = disk.copy(life.path);
    },
    revive: (world) => revive(world, disk),
    stop: (world, how) => stopLife(world, how, disk),
    turnTo: () => true,
    async catchUp(world) {
      // What that sets off has to be over before the rows are compared, and the process does not die of being looked at.
      world.reading = true;
      await world.life.backlog?.counts();
      await world.life.clock.rest();
      world.reading = false;
    },
    async end(world) {
      const { life } = world;
      life.dead = true;
      life.clock.kill();
      await closeAll(world, disk);
      disk.forget(life.path);
    },
    remove: disk.remove,
    trouble: null,
  };
}

function refuse(world: World, what: string): void {
  const { refusing } = world;
  if (refusing === null || refusing.what !== what || refusing.times <= 0) return;
  refusing.times -= 1;
  world.refused += 1;
  world.life.unwritten = true;
  upset(world.turns, world.life.clock.now());
  throw diskError(refusing.code);
}

/** If the process has died, another one goes on with what is in the files. It may die as well. */
async function revive(world: World, disk: FalseDisk): Promise<void> {
  for (let deaths = 0; world.life.dead; deaths += 1) {
    const { life, nextPath } = world;
    if (nextPath === null || deaths > 50) throw new Error("a process has died and left nothing");
    meet(world, "crashes");
    world.nextPath = null;
    const down = world.down;
    await closeAll(world, disk);
    disk.forget(life.path);
    await goOn(world, { path: nextPath, down, clean: false });
  }
}

/** It is asked to stop, does so in its time, and another one goes on. */
async function stopLife(world: World, { quick, down }: Stopping, disk: FalseDisk): Promise<void> {
  const { life } = world;
  const stopping = life.app.stop();
  if (quick) life.app.release();
  if (!(await advanceUntil(world, stopping))) wrong(world, "a stop does not end");
  if (life.dead) return;
  meet(world, "stops");
  world.tracks.died(life);
  life.dead = true;
  life.clock.kill();
  await closeAll(world, disk);
  const clean = !quick && world.refusing === null && world.vanished !== "truncated";
  world.vanished = null;
  await goOn(world, { path: life.path, down, clean });
}

/** Closes all that a process has left open, when nothing of it moves any more. */
async function closeAll({ life }: World, disk: FalseDisk): Promise<void> {
  // It is dead already, and can do nothing; but the runtime forgets it only if nobody listens to a signal any more.
  life.app?.release();
  void life.app?.stop();
  // What is in a circle stops at its next turn.
  await life.clock.rest().catch(() => {});
  disk.close(life.path);
}

type Stopping = Parameters<Engine["stop"]>[1];
type Next = { readonly path: string; readonly down: Ms; readonly clean: boolean };

async function goOn(world: World, { path, down, clean }: Next): Promise<void> {
  const { clock } = world.life;
  const { boots } = world;
  const before = noteLine(world, { down, boots });
  const startAt = setClock(world, clock.wall() - world.clockError + down);
  const boot = bootOf(clock.boot(), { down, boots });
  world.boots = null;
  world.ended += 1;
  world.onlineAt.clear();
  await start(world, { path, startAt, boot, opened: () => takeOver(world, clean) });
  for (const name of DESTINATIONS) {
    const { listed, enabled } = world.shape.destinations[name];
    if (listed && enabled) endStop(world, name, "unserved");
  }
  if (world.life.dead || !world.life.started) return;
  const { events } = await readRows(world);
  checkLine(world, { ...before, isNew: events.size === 0 });
}

/** Another process has only what the store says. */
async function takeOver(world: World, clean: boolean): Promise<void> {
  const rows = await readRows(world);
  const doubled = world.tracks.reborn(rows);
  reopenStops(world, rows);
  meet(world, "sent twice because of a crash", doubled);
  if (clean && doubled > 0) wrong(world, `${doubled} deliveries were answered, and a clean stop has forgotten it`);
}

/** As the clock of the machine says it when the next process begins. */
function setClock(world: World, rightly: At): At {
  const says = { "1972": IN_1972, "2102": IN_2102, right: rightly, "as it was": rightly + world.clockError };
  if (world.boots !== null) {
    world.clockError = says[world.boots] - rightly;
    meet(world, `the machine is started, its clock: ${world.boots}`);
  }
  return rightly + world.clockError;
}

const IN_1972 = Date.UTC(1972, 0, 1, 0, 1);
const IN_2102 = Date.UTC(2102, 5, 1);
/** From the start of a machine to that of the daemon. */
const TO_BOOT: Ms = 20 * SECOND;

function bootOf(before: Boot | null, { boots, down }: Pause): Boot {
  const { id, uptime } = before ?? { id: 1, uptime: 0 };
  return boots === null ? { id, uptime: uptime + down } : { id: id + 1, uptime: TO_BOOT };
}

/** Turns of the event loop for what happens at one point in time: far more than that is a circle. */
const MOST_TURNS = 20_000;

/** `boot`: the machine's, as the kernel says it at the start of the process. */
type Start = Pick<Birth, "path" | "opened"> & { readonly startAt: At; readonly boot: Boot };

async function start(world: World, { startAt, boot, ...birth }: Start): Promise<void> {
  const clock = createFalseClock(startAt - boot.uptime, MOST_TURNS);
  clock.reboot(boot.id);
  clock.skip(`${boot.uptime}ms`);
  for (const name of DESTINATIONS) if (isWell(world, name)) world.troubled.delete(name);
  try {
    const life = await startLife(world, { ...birth, clock, number: world.life.number + 1, nth: 0 });
    for (let waited = 0; waited < 60 && !life.started && !life.dead; waited += 1)
      await life.clock.advance(`${SECOND}ms`);
    if (!life.started && !life.dead) wrong(world, "the daemon does not start");
  } catch (error) {
    wrong(world, `the daemon does not start: ${String(error)}`);
  }
}

function isWell({ manners, refusing }: World, destination: string): boolean {
  return (
    refusing === null &&
    [1, 2, 3].every((webhook) => ["well", "created"].includes(manners.get(urlOf(destination, webhook)) ?? "well"))
  );
}
