/**
 * Sends the waiting deliveries of one destination. Each destination has a loop of its own, so that none waits for another.
 *
 * The loop wakes when something may have changed (a delivery arrives, a slot is free, the config is another one) or when the
 * next delivery is due. It then starts all that it can: it takes the next delivery from its window (window.ts), a slot from
 * each webhook that has one (lanes.ts), and sends. A started delivery runs beside the loop: its round of attempts (round.ts)
 * is settled (settle/settle.ts) and written to the store. What has to be tried again goes back to the window.
 */
import type { Config } from "../model/config.ts";
import type { Delivery, DeliveryRef } from "../model/delivery.ts";
import type { Destination, Webhook } from "../model/destination.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { Queue, Settle } from "../model/ports.ts";
import type { Settlement } from "../model/settlement.ts";
import { type At, SECOND } from "../model/units.ts";
import { destinationBusy, destinationInUse } from "../model/unserved.ts";
import { isPastCutoff, WAITS } from "../settle/backoff.ts";
import { type Bell, createBell } from "./bell.ts";
import type { Clocks, NetworkClock } from "./clocks.ts";
import type { Outage } from "./lane.ts";
import { askable, type RoundWorld, sendRound } from "./round.ts";
import { createWindow, earliest, type Window, type WindowQueue, type WindowWorld } from "./window.ts";

/** Deliveries of one destination that are being sent, or were sent and are not written yet. */
const MOST_UNWRITTEN = 512;
/** How often a stopping daemon tries to write a settlement, once a second. */
const TRIES_WHEN_STOPPING = 5;

export type LoopWorld = RoundWorld &
  WindowWorld & {
    readonly settle: Settle;
    readonly clocks: Pick<Clocks, "of">;
    /** How to deliver, as the config in force says. */
    readonly delivery: () => Config["delivery"];
    /** Aborted: nothing new is started, and running attempts may finish. */
    readonly stopping: AbortSignal;
  };

export type Loop = {
  /** Resolves when the daemon stops and nothing of this destination runs any more. */
  run(): Promise<void>;
  /** A new delivery was committed just now. */
  enqueue(delivery: Delivery): void;
  /** Wakes the loop, and answers whether it has run since the last check. */
  checkLiveness(): boolean;
  /** Wakes the loop; with `all`, it also sends what is not due yet. */
  tryNow(all: boolean): void;
  /** The store has moved deliveries from one queue to the other. */
  readAgain(): void;
  /** These events must not be sent any more. */
  withdraw(ids: ReadonlySet<number>): void;
  /** Another daemon delivers these from now on. */
  forget(has: (ref: DeliveryRef) => boolean): void;
  /** From the next round on, deliver like this; null: not at all. */
  serve(destination: Destination | null): void;
  /** Runs `work`, which may take waiting deliveries away, while nothing is sent; or answers why it cannot. */
  whileIdle<T>(work: () => Promise<T>): Promise<T | Fault>;
};

export function createLoop(name: string, world: LoopWorld): Loop {
  const { stopping, report } = world;
  const bell = createBell(world.clock);
  const loop: State = {
    name,
    world,
    bell,
    destinationClock: world.clocks.of(name),
    window: createWindow(name, world),
    inFlight: { first: 0, retry: 0 },
    destination: null,
    isStarting: false,
    runningWorks: 0,
    lastStarted: "retry",
    started: 0,
    outage: null,
    abandoned: 0,
  };
  return {
    async run() {
      stopping.addEventListener("abort", bell.ring);
      while (!stopping.aborted) await bell.rung(await startAll(loop));
      while (isBusy(loop)) await bell.rung(null);
      bell.silence();
      if (loop.abandoned > 0) report.released(loop.abandoned);
    },
    enqueue(delivery) {
      if (loop.window.receive(delivery)) bell.ring();
    },
    checkLiveness: bell.checkLiveness,
    tryNow(all) {
      if (all) loop.window.hurry({ from: Number.NEGATIVE_INFINITY, until: world.clock.now() });
      bell.ring();
    },
    readAgain() {
      loop.window.readAgain();
      bell.ring();
    },
    withdraw: (ids) => loop.window.withdraw(ids),
    forget: (has) => loop.window.forget(has),
    serve(destination) {
      loop.destination = destination;
      bell.ring();
    },
    async whileIdle(work) {
      if (loop.destination !== null) return destinationInUse(name);
      if (isBusy(loop) || loop.isStarting) return destinationBusy(name);
      loop.runningWorks += 1;
      try {
        return await work();
      } finally {
        loop.runningWorks -= 1;
        // What is in memory may be another destination's now.
        loop.window = createWindow(name, world);
        bell.ring();
      }
    },
  };
}

type State = {
  readonly name: string;
  readonly world: LoopWorld;
  readonly bell: Bell;
  readonly destinationClock: NetworkClock;
  /** The part of the backlog that is in memory. */
  window: Window;
  /** Deliveries that are being sent, or were sent and are not written yet. */
  readonly inFlight: Record<Queue, number>;
  /** As the config has it; null while nothing is to be sent to it. */
  destination: Destination | null;
  /** Whether it is reading deliveries, and may be about to start one. */
  isStarting: boolean;
  /** Of `whileIdle`: while there is one, nothing is started. */
  runningWorks: number;
  lastStarted: Queue;
  /** How many deliveries were ever started. */
  started: number;
  /** The last one that is known to be over. */
  outage: Outage | null;
  /** Deliveries whose attempts were cut off when the daemon had to stop at once. */
  abandoned: number;
};

/** Starts deliveries until none is due or no webhook has a slot. Answers when to do so again. */
async function startAll(loop: State): Promise<At | null> {
  const { name, world, destination } = loop;
  try {
    if (destination === null || loop.runningWorks > 0) return null;
    loop.isStarting = true;
    return await startUntilFull(loop, destination);
  } catch (error) {
    world.report.storeFailed(`read what waits for ${name}`, error);
    return world.clock.now() + SECOND;
  } finally {
    loop.isStarting = false;
    // Another loop may wait for a slot that this one has left.
    world.lanes.passOn();
  }
}

async function startUntilFull(loop: State, destination: Destination): Promise<At | null> {
  const { world, window } = loop;
  let now: At;
  do {
    // One moment for all questions: a lane that opens between two of them would be overlooked.
    now = world.clock.now();
    noticeLanes(loop, destination);
    if (window.isLow(now)) await window.fill(now);
    // The config may have changed during the read.
  } while (!world.stopping.aborted && loop.destination === destination && startOne(loop, destination, now));
  return earliest(window.nextDueAt(), world.lanes.nextOpenAt(destination, now));
}

/** Once a receiver is back, the deliveries that failed during its outage need not wait any longer. */
function noticeLanes(loop: State, destination: Destination): void {
  const { window, world } = loop;
  window.setSuspect(world.lanes.isSuspect(destination));
  const outage = world.lanes.outage(destination);
  if (outage === null || outage === loop.outage) return;
  loop.outage = outage;
  window.hurry(outage);
}

/** Starts one delivery, if there is a slot for it. Answers whether it is worth trying again. */
function startOne(loop: State, destination: Destination, now: At): boolean {
  const { world, window, bell } = loop;
  if (isFull(loop)) return false;
  const { concurrency, cutoff } = world.delivery();
  const stoodStill = loop.destinationClock.stoodStill(now);
  // A last attempt need not wait for the next probe of a closed lane.
  const isUrgent = (delivery: Delivery): boolean => isPastCutoff(delivery, { now, cutoff, stoodStill });
  const ask = { now, concurrency, starved: bell.ring, tried: false, untriedWaits: window.hasFirst() };
  const hasRoom = (urgent: boolean): boolean => world.lanes.haveRoom(destination, { ...ask, urgent });
  if (!hasRoom(false) && !(window.hasRetry(isUrgent) && hasRoom(true))) return false;

  const isStarted = queuesInTurn(loop, destination).some((queue) =>
    window.startFirst(queue, (delivery) => {
      const slots = { ...ask, urgent: isUrgent(delivery), tried: delivery.attemptedAt !== null };
      const webhooks = world.lanes.takeSlots(destination.name, askable(delivery, destination), slots);
      if (webhooks.length === 0) return false;
      // It never rejects.
      void deliver(loop, delivery, { destination, webhooks, queue: queue === "latest" ? "first" : queue });
      return true;
    }),
  );
  if (isStarted) return true;
  const isInLine = (delivery: Delivery): boolean =>
    world.lanes.isAlive(destination.name, askable(delivery, destination), now);
  return window.setAside(now, isInLine);
}

/**
 * Where the last attempts at all webhooks have failed, most turns are for first attempts, from both ends of the backlog: the
 * deliveries that were tried may be the trouble, and new events need not wait behind them.
 */
const SUSPECT_TURNS: readonly (readonly WindowQueue[])[] = [
  ["latest", "first", "retry"],
  ["first", "latest", "retry"],
  ["latest", "first", "retry"],
  ["retry", "latest", "first"],
];

/**
 * Which queue comes first. A quarter of what runs is for retries and the rest for first attempts; what one queue does not
 * need the other takes. While nothing runs, they take turns.
 */
function queuesInTurn(loop: State, destination: Destination): readonly WindowQueue[] {
  const { inFlight, lastStarted, started, world } = loop;
  if (world.lanes.isSuspect(destination)) return SUSPECT_TURNS[started % SUSPECT_TURNS.length] ?? [];
  const retriesFirst = isBusy(loop) ? inFlight.retry * 3 < inFlight.first : lastStarted === "first";
  return retriesFirst ? ["retry", "first"] : ["first", "retry"];
}

/** While the store takes no settlements, nothing more is sent whose settlement could not be written either. */
function isFull({ inFlight }: State): boolean {
  return inFlight.first + inFlight.retry >= MOST_UNWRITTEN;
}

function isBusy({ inFlight }: State): boolean {
  return inFlight.first + inFlight.retry > 0;
}

type To = { readonly destination: Destination; readonly webhooks: readonly Webhook[]; readonly queue: Queue };

/** Send → settle → write. Never rejects. */
async function deliver(loop: State, delivery: Delivery, { destination, webhooks, queue }: To): Promise<void> {
  const { name, world, window, bell, inFlight, destinationClock } = loop;
  const { timeout, cutoff } = world.delivery();
  inFlight[queue] += 1;
  loop.lastStarted = queue;
  loop.started += 1;
  try {
    const policy = { ...WAITS, cutoff };
    const slotFreed = (): void => useSlot(loop, destination);
    const asked = { destination, destinationClock, webhooks, timeout, policy, slotFreed };
    const settlement = await sendRound(delivery, asked, world);
    if (settlement !== null && (await write(delivery, settlement, world))) noteSettled(loop, delivery, settlement);
    else loop.abandoned += 1;
  } catch (error) {
    window.unsettled(delivery, world.clock.now());
    bell.ring();
    world.report.unexpected(`deliver to ${name}`, error);
  } finally {
    if (isFull(loop) || world.stopping.aborted) bell.ring();
    inFlight[queue] -= 1;
  }
}

/** A free slot wakes the loop only if something may wait for it, or if an outage has just ended. */
function useSlot({ world, window, bell, outage }: State, destination: Destination): void {
  if (!window.isIdle() || world.lanes.outage(destination) !== outage) bell.ring();
}

function noteSettled({ window, bell }: State, delivery: Delivery, settlement: Settlement): void {
  window.settled(delivery, settlement.state === "waiting" ? settlement.dueAt : null);
  // The next wake-up may be earlier now. Otherwise the free slot has woken the loop already.
  if (settlement.state === "waiting") bell.ring();
}

/**
 * Keeps a receiver's answer until the store takes it: sending again would be worse than waiting. Only a stopping daemon gives
 * up after a few tries. Answers whether it was written; if not, the delivery is sent again after the next start.
 */
async function write(delivery: Delivery, settlement: Settlement, world: LoopWorld): Promise<boolean> {
  const { clock, report, stopping, limits } = world;
  let triesLeft = TRIES_WHEN_STOPPING;
  while (triesLeft > 0 && !limits.released()) {
    const written = await world.settle(delivery, settlement);
    if (written === "written") report.settled(delivery, settlement);
    if (!isFault(written)) return true;
    if (stopping.aborted) triesLeft -= 1;
    await clock.sleep(SECOND, limits.signal);
  }
  return false;
}
