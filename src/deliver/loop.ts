import type { Config } from "../model/config.ts";
import type { Delivery } from "../model/delivery.ts";
import type { Destination, Webhook } from "../model/destination.ts";
import type { Queue, Settle } from "../model/ports.ts";
import type { Settlement } from "../model/settlement.ts";
import { type At, SECOND } from "../model/units.ts";
import { isPastCutoff, WAITS } from "../settle/backoff.ts";
import { type Bell, createBell } from "./bell.ts";
import type { Clocks, NetworkClock } from "./clocks.ts";
import { askable } from "./finals.ts";
import type { Outage } from "./lane.ts";
import { type RoundWorld, sendRound } from "./round.ts";
import { createWindow, earliest, type Window, type WindowQueue, type WindowWorld } from "./window.ts";

/** Deliveries of one destination that are being sent, or were sent and are not written yet. */
const MOST_UNWRITTEN = 512;
/** Of writing what a receiver has answered, a second apart. */
const TRIES_WHEN_STOPPING = 5;

export type LoopWorld = RoundWorld &
  WindowWorld & {
    readonly settle: Settle;
    readonly clocks: Clocks;
    /** How to deliver, as the config in force says. */
    readonly delivery: () => Config["delivery"];
    /** Aborted: nothing new is begun, and what runs may finish. */
    readonly stopping: AbortSignal;
  };

export type Loop = {
  /** Resolves when the daemon stops and nothing of this destination runs any more. */
  run(): Promise<void>;
  /** A new delivery was committed just now. */
  offer(delivery: Delivery): void;
  /** Has it look again at what is due, and answers whether it has done so since the last knock. */
  knock(): boolean;
  /** Looks again at once; with `all`, also at what is not due yet. */
  tryNow(all: boolean): void;
  /** The store has moved deliveries from one queue to the other. */
  readAgain(): void;
  /** These events must not be sent any more. */
  withdraw(ids: ReadonlySet<number>): void;
  /** From the next round on, deliver like this; null: not at all. */
  serve(destination: Destination | null): void;
  /** Runs `work`, which may take away what waits, while nothing is delivered; or answers why it cannot. */
  whileIdle<T extends object>(work: () => Promise<T>): Promise<T | "served" | "busy">;
};

/**
 * Delivers what waits for one destination: due → claim → send → settle → write. Each destination has a loop of its
 * own, so that none waits for another.
 */
export function createLoop(name: string, world: LoopWorld): Loop {
  const { stopping, report } = world;
  const bell = createBell(world.clock);
  const loop: State = {
    ...{
      name,
      world,
      clock: world.clocks.of(name),
      bell,
      window: createWindow(name, world),
      inFlight: { first: 0, retry: 0 },
      lastStarted: "retry",
    },
    ...{ served: null, looking: false, works: 0, outage: null, turn: 0, released: 0 },
  };
  return {
    async run() {
      stopping.addEventListener("abort", bell.ring);
      while (!stopping.aborted) await bell.rung(await look(loop));
      while (isBusy(loop)) await bell.rung(null);
      bell.silence();
      if (loop.released > 0) report.released(loop.released);
    },
    offer(delivery) {
      if (loop.window.arrived(delivery)) bell.ring();
    },
    knock: bell.knock,
    tryNow(all) {
      if (all) loop.window.hurry({ from: Number.NEGATIVE_INFINITY, until: world.clock.now() });
      bell.ring();
    },
    readAgain() {
      loop.window.readAgain();
      bell.ring();
    },
    withdraw: (ids) => loop.window.withdraw(ids),
    serve(destination) {
      loop.served = destination;
      bell.ring();
    },
    async whileIdle(work) {
      if (loop.served !== null) return "served";
      if (isBusy(loop) || loop.looking) return "busy";
      loop.works += 1;
      try {
        return await work();
      } finally {
        loop.works -= 1;
        // What it has in memory may be another destination's now.
        loop.window = createWindow(name, world);
        bell.ring();
      }
    },
  };
}

type State = {
  readonly name: string;
  readonly world: LoopWorld;
  readonly clock: NetworkClock;
  readonly bell: Bell;
  window: Window;
  readonly inFlight: Record<Queue, number>;
  lastStarted: Queue;
  served: Destination | null;
  /** It reads what is due, and may be about to begin. */
  looking: boolean;
  /** How many works want nothing to be delivered now. */
  works: number;
  /** The last one that was seen to be over. */
  outage: Outage | null;
  /** Counts what was started. */
  turn: number;
  /** Deliveries that were let go when the daemon had to stop at once. */
  released: number;
};

/** Starts what it can. What it leaves of the slots is somebody else's, who may wait for one. */
async function look(loop: State): Promise<At | null> {
  try {
    return await startWhatIsDue(loop);
  } finally {
    loop.world.lanes.passOn();
  }
}

/** Due → claim → send, until nothing is due or no webhook has a slot. Answers when to look again. */
async function startWhatIsDue(loop: State): Promise<At | null> {
  const { name, world, window, served } = loop;
  if (served === null || loop.works > 0) return null;
  // Of one moment: a lane that opens between a look at it and the question when it opens would be overlooked.
  let now = world.clock.now();
  loop.looking = true;
  try {
    do {
      now = world.clock.now();
      noticeLanes(loop, served);
      if (window.isLow(now)) await window.fill(now);
      // While it was read, the config may have changed.
    } while (!world.stopping.aborted && loop.served === served && startOne(loop, served, now));
  } catch (error) {
    world.report.storeFailed(`read what waits for ${name}`, error);
    return world.clock.now() + SECOND;
  } finally {
    loop.looking = false;
  }
  return earliest(window.nextDueAt(), world.lanes.nextOpenAt(served, now));
}

/** When a receiver has come back, what waits for it since the outage began need not wait any longer. */
function noticeLanes(loop: State, destination: Destination): void {
  const { window, world } = loop;
  window.suspect(world.lanes.isSuspect(destination));
  const outage = world.lanes.outage(destination);
  if (outage === null || outage === loop.outage) return;
  loop.outage = outage;
  window.hurry(outage);
}

/**
 * A quarter of what runs is for retries, the rest for first attempts; what one of them does not need the other takes.
 * Answers whether it is worth trying again.
 */
function startOne(loop: State, destination: Destination, now: At): boolean {
  const { world, window, bell } = loop;
  if (isFull(loop)) return false;
  const { concurrency, cutoff } = world.delivery();
  const stoodStill = loop.clock.stoodStill(now);
  const isUrgent = (delivery: Delivery): boolean => isPastCutoff(delivery, { now, cutoff, stoodStill });
  const ask = { now, concurrency, starved: bell.ring, tried: false, untriedWaits: window.hasFirst() };
  const hasRoom = (urgent: boolean): boolean => world.lanes.haveRoom(destination, { ...ask, urgent });
  if (!hasRoom(false) && !(window.hasRetry(isUrgent) && hasRoom(true))) return false;
  const started = order(loop).some((queue) =>
    window.take(queue, (delivery) => {
      const claim = { ...ask, urgent: isUrgent(delivery), tried: delivery.attemptedAt !== null };
      const webhooks = world.lanes.take(destination.name, askable(delivery, destination), claim);
      if (webhooks.length === 0) return false;
      // It reports by itself what goes wrong.
      void deliver(loop, delivery, { destination, webhooks, queue: queue === "latest" ? "first" : queue });
      return true;
    }),
  );
  const inLine = (delivery: Delivery): boolean =>
    world.lanes.isAlive(destination.name, askable(delivery, destination), now);
  return started || window.setAside(now, inLine);
}

/**
 * Where all lanes are suspect, most turns are for first attempts, from both ends of the backlog: what was tried may be the
 * trouble, and new events need not wait behind it.
 */
const SUSPECT_TURNS: readonly (readonly WindowQueue[])[] = [
  ["latest", "first", "retry"],
  ["first", "latest", "retry"],
  ["latest", "first", "retry"],
  ["retry", "latest", "first"],
];

/** While nothing runs, they take turns. */
function order(loop: State): readonly WindowQueue[] {
  const { inFlight, lastStarted, served, turn, world } = loop;
  if (served !== null && world.lanes.isSuspect(served)) return SUSPECT_TURNS[turn % SUSPECT_TURNS.length] ?? [];
  const retriesFirst = isBusy(loop) ? inFlight.retry * 3 < inFlight.first : lastStarted === "first";
  return retriesFirst ? ["retry", "first"] : ["first", "retry"];
}

/** While the store takes no settlements, nothing more is sent that could not be written either. */
function isFull({ inFlight }: State): boolean {
  return inFlight.first + inFlight.retry >= MOST_UNWRITTEN;
}

function isBusy({ inFlight }: State): boolean {
  return inFlight.first + inFlight.retry > 0;
}

type To = { readonly destination: Destination; readonly webhooks: readonly Webhook[]; readonly queue: Queue };

/** Send → settle → write. Never rejects. */
async function deliver(loop: State, delivery: Delivery, { destination, webhooks, queue }: To): Promise<void> {
  const { name, world, window, bell, inFlight } = loop;
  const { timeout, cutoff } = world.delivery();
  const asked = {
    destination,
    destinationClock: loop.clock,
    webhooks,
    timeout,
    policy: { ...WAITS, cutoff },
    slotFreed: () => useSlot(loop, destination),
  };
  inFlight[queue] += 1;
  loop.lastStarted = queue;
  loop.turn += 1;
  try {
    const settlement = await sendRound(delivery, asked, world);
    if (settlement !== null && (await write(delivery, settlement, world))) noteSettled(loop, delivery, settlement);
    else loop.released += 1;
  } catch (error) {
    window.lost(delivery, world.clock.now());
    bell.ring();
    world.report.unexpected(`deliver to ${name}`, error);
  } finally {
    if (isFull(loop) || world.stopping.aborted) bell.ring();
    inFlight[queue] -= 1;
  }
}

/** A free slot is worth a look only if something may wait for it, or if a lane has just opened again. */
function useSlot({ world, window, bell, outage }: State, destination: Destination): void {
  if (!window.isIdle() || world.lanes.outage(destination) !== outage) bell.ring();
}

function noteSettled({ window, bell }: State, delivery: Delivery, settlement: Settlement): void {
  window.settled(delivery, settlement.state === "waiting" ? settlement.dueAt : null);
  // There is something new to wait for. Otherwise the slot that became free was reason enough to look.
  if (settlement.state === "waiting") bell.ring();
}

/**
 * What a receiver has answered is held until the store takes it: sending it again would be worse than waiting. Only a
 * daemon that stops does not wait long. Answers whether it was written; if not, it is sent again after the next start.
 */
async function write(delivery: Delivery, settlement: Settlement, world: LoopWorld): Promise<boolean> {
  const { clock, report, stopping, limits } = world;
  let triesLeft = TRIES_WHEN_STOPPING;
  while (triesLeft > 0 && !limits.released()) {
    const written = await world.settle(delivery, settlement);
    if (written === "written") report.settled(delivery, settlement);
    if (written !== "unwritten") return true;
    if (stopping.aborted) triesLeft -= 1;
    await clock.sleep(SECOND, limits.signal);
  }
  return false;
}
