/** Several daemons on one server, beside each other. */
import { type At, type Ms, SECOND } from "../../../src/model/units.ts";
import { openPostgres } from "../../../src/store/postgres/store.ts";
import { createFalseClock, type FalseClock } from "../../flow/clock.ts";
import { advance, advanceUntil } from "./ask.ts";
import { startLife } from "./life.ts";
import { createFalseServer, type FalseServer } from "./server.ts";
import { type Engine, isDoubtful, isReachable, type Life, meet, type Trouble, type World, wrong } from "./world.ts";

/** What an operator asks of one daemon holds for all after this; and what each has counted is written. */
const TO_HEAR: Ms = 2.1 * SECOND;
/** What a daemon has not heard while it was suspended or cut off, it knows so long after that. */
const TO_LEARN: Ms = 5 * SECOND;

/** When a daemon that has died is followed by another one; by its number. */
type Comebacks = Map<number, At>;

/** Turns of the event loop for what happens at one point in time: far more than that is a circle. */
const MOST_TURNS = 100_000;

type Parts = { readonly server: FalseServer; readonly comebacks: Comebacks; clock: FalseClock };

export async function createServerEngine(): Promise<Engine> {
  const parts: Parts = { server: await createFalseServer(), comebacks: new Map(), clock: createFalseClock() };
  const { server, comebacks } = parts;
  return {
    isShared: true,
    async begin(world, daemons) {
      parts.clock = createFalseClock(undefined, MOST_TURNS);
      comebacks.clear();
      await server.empty();
      for (let nth = 0; nth < daemons; nth += 1) await start(world, nth, parts);
      // Each has heard of the others.
      await advance(world, TO_HEAR);
    },
    attach() {},
    openStore(world, life, { clock, report, bounds, about }) {
      return openPostgres({
        ...{ clock, report, bounds, name: about?.name ?? "", about: JSON.stringify(about) },
        pool: server.connect(world, life, parts.clock),
      });
    },
    killed(world, life) {
      meet(world, "kills");
      disturb(world, life);
      leave(world, life, world.down, parts);
    },
    revive: (world) => revive(world, parts),
    stop: (world, how) => stop(world, how, parts),
    turnTo,
    catchUp: (world) => catchUp(world, parts),
    async end(world) {
      for (const life of world.lives) {
        life.dead = true;
        life.frozen?.resolve();
        life.clock.kill();
        await server.end(life);
      }
      await close(world);
    },
    remove() {},
    trouble: troubleOf(parts),
  };
}

/** A daemon on a machine whose clock is wrong by so much. All go by the same time otherwise. */
async function start(world: World, nth: number, { clock: all, comebacks }: Parts): Promise<void> {
  const before = world.lives[nth];
  const clock = createView(all, before ? before.clock.wall() - all.wall() : 0);
  const number = 1 + Math.max(0, ...world.lives.map((life) => life.number));
  const life = await startLife(world, { path: "", clock, number, nth, opened: async () => {} }).catch(refused);
  for (let waited = 0; life && waited < 60 && !life.started && !life.dead; waited += 1) await advance(world, SECOND);
  if (life && !life.started && !life.dead) wrong(world, "the daemon does not start");

  /** One that does not reach the server as it starts is started again. */
  function refused(error: unknown): void {
    const life = world.lives[nth];
    if (!life || all.now() > world.disturbedAt) wrong(world, `the daemon does not start: ${String(error)}`);
    if (life) life.dead = true;
    comebacks.set(nth, all.now() + SECOND);
  }
}

/** The clock of one machine: it has the timers of all, and says its own time. */
function createView(all: FalseClock, error: Ms): FalseClock {
  let [ahead, line, dead] = [error, 0, false];
  return {
    ...all,
    now: () => all.now() + line,
    wall: () => all.wall() + ahead,
    continueFrom(at) {
      line = at - all.now();
    },
    setWall(at) {
      ahead = at - all.wall();
    },
    after: (ms, run) => all.after(ms, () => dead || run()),
    kill() {
      dead = true;
    },
  };
}

/** From here on the others may send again what it has under way. */
function disturb(world: World, life: Life): void {
  world.disturbedAt = life.clock.now();
  world.tracks.excuse(life, life.clock.now());
}

/** It has ended, and is followed by another one after a while. */
function leave(world: World, life: Life, down: Ms, { server, comebacks, clock }: Parts): void {
  comebacks.set(life.nth, clock.now() + down);
  world.ended += 1;
  world.disturbedAt = clock.now();
  life.frozen?.resolve();
  life.cutOff = false;
  void server.end(life);
}

async function revive(world: World, parts: Parts): Promise<void> {
  const { comebacks, clock } = parts;
  for (const { nth, dead } of [...world.lives]) {
    if (dead && (comebacks.get(nth) ?? 0) <= clock.now()) await start(world, nth, parts);
  }
  // Somebody has to be there.
  const [first] = world.lives.filter(({ dead }) => dead);
  for (let deaths = 0; first && !world.lives.some(isReachable); deaths += 1) {
    if (deaths > 50) throw new Error("no daemon can be started");
    await start(world, first.nth, parts);
  }
}

async function stop(world: World, { quick, down }: Parameters<Engine["stop"]>[1], parts: Parts): Promise<void> {
  const { life, tracks } = world;
  const stopping = life.app.stop();
  if (quick) {
    tracks.excuse(life, life.clock.now());
    life.app.release();
  }
  if (!(await advanceUntil(world, stopping))) wrong(world, "a stop does not end");
  if (life.dead) return;
  meet(world, "stops");
  tracks.died(life);
  life.dead = true;
  life.clock.kill();
  leave(world, life, down, parts);
}

/** Closes what dead processes have left open. They can do nothing, but the runtime forgets them only if nobody listens to a signal. */
async function close({ lives }: World): Promise<void> {
  for (const { app } of lives) {
    app.release();
    void app.stop();
  }
  await lives[0]?.clock.rest();
}

/** What the daemon that a step is about must be fit for. */
const ANYBODY = new Set(["call", "batch", "rush", "again", "wait", "wall", "trouble", "heal", "calm"]);

function turnTo(world: World, on: number, act: string): boolean {
  const inTurn = world.lives.map((_, nth) => world.lives[(on + nth) % world.lives.length] as Life);
  const isFit = (life: Life): boolean =>
    ANYBODY.has(act) ? life.started && !life.dead : isReachable(life) && !isDoubtful(life);
  const found = inTurn.find(isFit);
  if (found) world.life = found;
  return found !== undefined;
}

async function catchUp(world: World, parts: Parts): Promise<void> {
  await advance(world, TO_HEAR);
  await revive(world, parts);
  const reachable = world.lives.filter(isReachable);
  const reader = reachable.find((life) => !isDoubtful(life)) ?? reachable[0];
  if (!reader) throw new Error("there is no daemon that could be asked");
  world.life = reader;
  world.reading = true;
  for (const { backlog } of reachable) await backlog?.counts();
  await reader.clock.rest();
  world.reading = false;
  for (const then of world.onceHeard.splice(0)) then();
}

function troubleOf(parts: Parts): Trouble {
  const { server } = parts;
  return {
    suspend(world, life, ms) {
      if (isLast(world, life)) return;
      meet(world, "suspended");
      life.frozen = Promise.withResolvers();
      disturb(world, life);
      void server.endIfOpen(life);
      parts.clock.after(ms, () => thaw(world, life));
    },
    cutOff(world, life, ms) {
      if (isLast(world, life)) return;
      meet(world, "cut off");
      life.cutOff = true;
      disturb(world, life);
      void server.end(life);
      parts.clock.after(ms, () => reconnect(world, life));
    },
    loseAnswer(world, life) {
      meet(world, "answers to be lost");
      server.loseAnswer(life);
    },
    async end(world) {
      for (const life of world.lives) {
        thaw(world, life);
        reconnect(world, life);
      }
      parts.comebacks.clear();
      await revive(world, parts);
    },
  };
}

function isLast({ lives }: World, life: Life): boolean {
  return !isReachable(life) || !lives.some((other) => other !== life && isReachable(other));
}

function thaw(world: World, life: Life): void {
  if (life.dead || life.frozen === null) return;
  life.frozen.resolve();
  life.frozen = null;
  learn(world, life);
}

function reconnect(world: World, life: Life): void {
  if (life.dead || !life.cutOff) return;
  life.cutOff = false;
  learn(world, life);
}

function learn(world: World, life: Life): void {
  const now = life.clock.now();
  life.doubtfulUntil = now + TO_LEARN;
  world.disturbedAt = now;
}
