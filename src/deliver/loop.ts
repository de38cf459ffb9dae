/**
 * Sends the waiting deliveries of one destination. Each destination has a loop of its own, so that none waits for another.
 *
 * The loop wakes when something may have changed (a delivery was committed, a slot is free, the config is new) or when
 * the next delivery is due. It then starts as many deliveries as it can. For each it takes the next one from its window
 * (window.ts) and a slot of every webhook that has one (lanes.ts). A started delivery runs beside the loop: one round
 * of attempts (round.ts) leads to a settlement (settle/settle.ts), which is written to the store. A delivery that will
 * be retried goes back to the window.
 *
 * The store does not record that a delivery is being sent: after a crash, every delivery without a written settlement
 * is sent again.
 */
import type { Destination, Webhook } from "../model/config.ts";
import type { Delivery, DeliveryRef } from "../model/delivery.ts";
import type { Fault } from "../model/fault.ts";
import type { Queue, Settle } from "../model/ports.ts";
import { type At, earliest, type Ms, SECOND } from "../model/units.ts";
import { destinationBusy, destinationInUse } from "../model/waiting-deliveries.ts";
import { isPastCutoff, WAITS } from "../settle/backoff.ts";
import type { Clocks, LoopClock } from "./clocks.ts";
import type { Outage } from "./lane.ts";
import type { SlotAsk } from "./lanes.ts";
import { createLines } from "./lines.ts";
import { openWebhooks, type RoundWorld, sendRound } from "./round.ts";
import { createWaker, type Waker } from "./waker.ts";
import { createWindow, type Window, type WindowQueue, type WindowWorld } from "./window.ts";
import { writeSettlement } from "./write-settlement.ts";

/** The most deliveries of one destination that may be under way: being sent, or sent with their settlement not written yet. */
const MOST_UNWRITTEN = 512;

export type LoopWorld = RoundWorld &
  WindowWorld & {
    readonly settle: Settle;
    readonly clocks: Pick<Clocks, "of">;
    /** How many daemons send to the same webhooks, including this one. */
    readonly daemons: () => number;
    /** Once aborted, nothing new is started, and running attempts may finish. */
    readonly stopping: AbortSignal;
  };

export type Loop = {
  /** Resolves when the daemon stops and no attempt of this destination is running. */
  run(): Promise<void>;
  /** This delivery was committed just now. */
  enqueue(delivery: Delivery): void;
  /**
   * The part of its backlog that is in memory: how many wait for a slot, and how many (or which) for an earlier one of
   * their user.
   */
  inMemory(): { waiting: number; inLine: number; inLineOf(ids: ReadonlySet<number>): ReadonlySet<number> };
  /** Wakes the loop, and answers whether it has run since the last check. */
  checkLiveness(): boolean;
  /** Wakes the loop; with `all`, it also sends what is not due yet. */
  tryNow(all: boolean): void;
  /** Reads its deliveries from the store again, because the store has moved some; or only its retries. */
  readAgain(what: "all" | "retries"): void;
  /** Stops sending these events. */
  withdraw(ids: ReadonlySet<number>): void;
  /** Forgets these deliveries, because another daemon sends them from now on. */
  forget(has: (ref: DeliveryRef) => boolean): void;
  /** Whether something is being sent, or was sent and is not written yet. */
  isBusy(): boolean;
  /** Uses this entry of the config from the next round on; null: sends nothing. */
  setDestination(destination: Destination | null): void;
  /** Runs `work`, which may end or move waiting deliveries, while nothing is sent; or answers why it cannot. */
  whileIdle<T>(work: () => Promise<T>): Promise<T | Fault>;
};

export function createLoop(name: string, world: LoopWorld): Loop {
  const waker = createWaker(world.clock);
  const loop: LoopState = {
    name,
    world,
    waker,
    destinationClock: world.clocks.of(name),
    window: createWindow(name, world),
    sending: { first: 0, retry: 0 },
    unwritten: 0,
    onSlotFreed: () => wakeForSlot(loop),
    destination: null,
    isStarting: false,
    idleWorks: 0,
    lastStarted: "retry",
    started: 0,
    outage: null,
    abandoned: 0,
  };
  return {
    run: () => run(loop),
    enqueue(delivery) {
      if (loop.window.enqueue(delivery)) waker.wake();
    },
    inMemory: () => inMemory(loop.window),
    checkLiveness: waker.checkLiveness,
    tryNow(all) {
      if (all) loop.window.retryEarly({ from: Number.NEGATIVE_INFINITY, until: world.clock.now() });
      waker.wake();
    },
    readAgain(what) {
      loop.window.readAgain(what);
      waker.wake();
    },
    withdraw: (ids) => remove(loop, (window) => window.withdraw(ids)),
    forget: (has) => remove(loop, (window) => window.forget(has)),
    isBusy: () => isBusy(loop) || loop.isStarting,
    setDestination(destination) {
      // Deliveries that were replayed during a pause are stored newest first: lines must know all of them.
      if (loop.destination === null && loop.window.lines !== null) loop.window.readAgain("all");
      loop.destination = destination;
      waker.wake();
    },
    async whileIdle(work) {
      if (loop.destination !== null) return destinationInUse(name);
      if (isBusy(loop) || loop.isStarting) return destinationBusy(name);
      loop.idleWorks += 1;
      try {
        return await work();
      } finally {
        loop.idleWorks -= 1;
        // Deliveries in memory may have been moved or ended.
        loop.window = createWindowOf(name, loop.window.lines !== null, world);
        waker.wake();
      }
    },
  };
}

function inMemory({ lines, waiting }: Window): ReturnType<Loop["inMemory"]> {
  return { waiting: waiting(), inLine: lines?.waiting() ?? 0, inLineOf: lines?.waitingOf ?? (() => new Set()) };
}

/** Removing deliveries may let others of their users go next. */
function remove({ window, waker }: LoopState, run: (window: Window) => void): void {
  run(window);
  if (window.lines !== null) waker.wake();
}

type LoopState = {
  readonly name: string;
  readonly world: LoopWorld;
  readonly waker: Waker;
  readonly destinationClock: LoopClock;
  /** The part of the backlog that is in memory. */
  window: Window;
  /** How many deliveries of each queue are being sent. */
  readonly sending: Record<Queue, number>;
  /** How many are being sent, or were sent and are not written yet. */
  unwritten: number;
  /** Called when one of its attempts has given its slot back. */
  readonly onSlotFreed: () => void;
  /** Its entry in the config; null while nothing may be sent to it. */
  destination: Destination | null;
  /** Whether `startAll` runs: it may be reading deliveries, and about to start one. */
  isStarting: boolean;
  /** How many calls of `whileIdle` run. While there is one, no delivery is started. */
  idleWorks: number;
  lastStarted: Queue;
  /** How many deliveries were started since the start of the daemon. */
  started: number;
  /** The last outage whose end the loop has acted on. */
  outage: Outage | null;
  /** Deliveries whose attempts were cut off when the daemon had to stop at once. */
  abandoned: number;
};

async function run(loop: LoopState): Promise<void> {
  const { world, waker } = loop;
  const { stopping, report } = world;
  stopping.addEventListener("abort", waker.wake);
  while (!stopping.aborted) {
    const nextAt = await startAll(loop);
    await waker.wait(nextAt);
  }
  // From here on, each delivery that ends wakes the loop.
  while (isBusy(loop)) await waker.wait(null);
  waker.stop();
  if (loop.abandoned > 0) report.released(loop.abandoned);
}

function createWindowOf(name: string, isOrdered: boolean, world: LoopWorld): Window {
  return createWindow(name, world, isOrdered ? createLines(name, world.readQueue) : null);
}

/** Starts deliveries until none is due or no webhook has a slot. Answers when to do so again at the latest; null: when woken. */
async function startAll(loop: LoopState): Promise<At | null> {
  const { name, world, destination } = loop;
  try {
    if (destination === null || loop.idleWorks > 0 || !applyOrder(loop, destination)) return null;
    const { window } = loop;
    loop.isStarting = true;
    let now: At;
    do {
      // All checks use the same moment: otherwise a lane that opens between two of them would be missed.
      now = world.clock.now();
      applyLaneHealth(loop, destination);
      if (window.isLow(now)) await window.fill(now);
    } while (startRead(loop, destination, now));
    if (window.lines !== null && window.isLow(now)) await readOnSoon(loop);
    return earliest(window.nextDueAt(), world.lanes.nextOpenAt(destination, now));
  } catch (error) {
    world.report.storeFailed(`read the waiting deliveries of ${name}`, error);
    return world.clock.now() + SECOND;
  } finally {
    loop.isStarting = false;
    // This loop may have been woken for a free slot that it did not need; another one may.
    world.lanes.wakeNext();
  }
}

/**
 * A page may contain only deliveries that wait for others of their user. This many pages are read in a row, with a turn
 * of the event loop between them.
 */
async function readOnSoon({ world, waker }: LoopState): Promise<void> {
  await world.clock.nextTurn();
  waker.wake();
}

/**
 * A reload may have given the destination an order, or taken it away. Running deliveries are settled first, because
 * several of one user may be among them. Answers false until then.
 */
function applyOrder(loop: LoopState, { order }: Destination): boolean {
  const { name, world } = loop;
  if (!isOrderChanged(loop)) return true;
  if (isBusy(loop)) return false;
  loop.window = createWindowOf(name, order === "user", world);
  return true;
}

function isOrderChanged({ window, destination }: LoopState): boolean {
  return destination !== null && (window.lines !== null) !== (destination.order === "user");
}

/**
 * While all webhooks fail, the window also reads the newest deliveries. Once a receiver is back, the deliveries that failed
 * during its outage are retried early.
 */
function applyLaneHealth(loop: LoopState, destination: Destination): void {
  const { window, world } = loop;
  window.setSuspect(world.lanes.isSuspect(destination));
  const outage = world.lanes.outage(destination);
  if (outage === null || outage === loop.outage) return;
  loop.outage = outage;
  window.retryEarly(outage);
}

/** Starts deliveries from memory as long as there are slots. Answers whether to read more and try again. */
function startRead(loop: LoopState, destination: Destination, now: At): boolean {
  // The daemon may have begun to stop, or the config may have changed, during the read.
  if (loop.world.stopping.aborted || loop.destination !== destination) return false;
  while (startOne(loop, destination, now)) if (loop.window.isLow(now)) return true;
  return false;
}

/** One start: the destination, and what a first attempt asks of the lanes. */
type Turn = SlotAsk & {
  readonly loop: LoopState;
  readonly destination: Destination;
  /** Its cutoff. */
  readonly cutoff: Ms;
  readonly stoodStill: Ms;
};

/** Starts one delivery if there is a slot for it. Answers whether to try another. */
function startOne(loop: LoopState, destination: Destination, now: At): boolean {
  const { world, window, waker, destinationClock } = loop;
  if (window.isIdle() || isFull(loop)) return false;
  const { cutoff } = destination;
  const daemons = world.daemons();
  const concurrency = Math.ceil(destination.concurrency / daemons);
  const stoodStill = destinationClock.stoodStill(now);
  const ask = {
    now,
    daemons,
    concurrency,
    wake: waker.wake,
    urgent: false,
    tried: false,
    untriedWaits: window.hasFirst(),
  };
  const turn: Turn = { ...ask, loop, destination, cutoff, stoodStill };
  if (!world.lanes.haveRoom(destination, turn) && !haveRoomForUrgent(turn)) return false;
  for (const queue of queuesInTurn(loop, destination)) if (startFrom(queue, turn)) return true;
  return setAside(turn);
}

function haveRoomForUrgent(turn: Turn): boolean {
  const { window, world } = turn.loop;
  if (!window.hasRetry((delivery) => isUrgent(delivery, turn))) return false;
  return world.lanes.haveRoom(turn.destination, { ...turn, urgent: true });
}

/** Past the cutoff comes the last attempt, which need not wait for the next probe of a closed lane. */
function isUrgent(delivery: Delivery, turn: Turn): boolean {
  return isPastCutoff(delivery, turn);
}

function startFrom(queue: WindowQueue, turn: Turn): boolean {
  return turn.loop.window.startFirst(queue, (delivery) => tryStart(delivery, queue, turn));
}

function tryStart(delivery: Delivery, from: WindowQueue, turn: Turn): boolean {
  const { loop, destination } = turn;
  const urgent = isUrgent(delivery, turn);
  const tried = delivery.attemptedAt !== null;
  const ask = urgent || tried ? { ...turn, urgent, tried } : turn;
  const webhooks = loop.world.lanes.takeSlots(destination, openWebhooks(delivery, destination), ask);
  if (webhooks.length === 0) return false;
  // It never rejects.
  void deliver(loop, delivery, { destination, webhooks, queue: from === "latest" ? "first" : from });
  return true;
}

function setAside({ loop, destination, now }: Turn): boolean {
  return loop.window.setAside(now, (delivery) => {
    return loop.world.lanes.isAlive(destination.name, openWebhooks(delivery, destination), now);
  });
}

/**
 * The order of the queues while the last attempts at all webhooks have failed. Most turns are for first attempts, from both
 * ends of the backlog: the retries may be what fails, and new events must not wait behind them.
 */
const SUSPECT_TURNS: readonly (readonly WindowQueue[])[] = [
  ["latest", "first", "retry"],
  ["first", "latest", "retry"],
  ["latest", "first", "retry"],
  ["retry", "latest", "first"],
];

/**
 * Which queue comes first. Retries get a quarter of what runs and first attempts the rest; what one queue does not need goes
 * to the other. While nothing runs, they take turns; at a rate, each fourth is for a retry.
 */
function queuesInTurn(loop: LoopState, destination: Destination): readonly WindowQueue[] {
  const { sending, lastStarted, started, world } = loop;
  if (world.lanes.isSuspect(destination)) return SUSPECT_TURNS[started % SUSPECT_TURNS.length] ?? [];
  // Without those that only wait to be written: successes do so for a while, and retries would take all slots.
  const runs = sending.first + sending.retry > 0;
  const theirTurn = destination.rate === null ? lastStarted === "first" : started % 4 === 0;
  const retriesFirst = runs ? sending.retry * 3 < sending.first : theirTurn;
  return retriesFirst ? ["retry", "first"] : ["first", "retry"];
}

/** While the store accepts no settlements, the loop stops sending: it could not write those settlements either. */
function isFull({ unwritten }: LoopState): boolean {
  return unwritten >= MOST_UNWRITTEN;
}

function isBusy({ unwritten }: LoopState): boolean {
  return unwritten > 0;
}

type Start = { readonly destination: Destination; readonly webhooks: readonly Webhook[]; readonly queue: Queue };

/** Sends a round, settles it, and writes the settlement. Never rejects. */
async function deliver(loop: LoopState, delivery: Delivery, { destination, webhooks, queue }: Start): Promise<void> {
  const { name, world, window, waker, sending, destinationClock } = loop;
  const { timeout, cutoff } = destination;
  sending[queue] += 1;
  loop.unwritten += 1;
  loop.lastStarted = queue;
  loop.started += 1;
  try {
    const policy = { ...WAITS, cutoff };
    const round = { destination, destinationClock, webhooks, timeout, policy, onSlotFreed: loop.onSlotFreed };
    const settlement = await sendRound(delivery, round, world).finally(() => {
      sending[queue] -= 1;
    });
    if (settlement !== null && window.decided(delivery, settlement.state !== "waiting")) waker.wake();
    const written = settlement === null ? null : await writeSettlement(delivery, settlement, world);
    if (settlement !== null && written !== null) {
      // It no longer waits, whatever was decided.
      if (written === "gone" && window.decided(delivery, true)) waker.wake();
      window.settled(delivery, settlement.state === "waiting" ? settlement.dueAt : null);
      // The next retry may be due earlier than the loop expects. Otherwise the free slot has woken it already.
      if (settlement.state === "waiting") waker.wake();
    } else {
      loop.abandoned += 1;
    }
  } catch (error) {
    window.unsettled(delivery, world.clock.now());
    waker.wake();
    world.report.unexpected(`deliver to ${name}`, error);
  } finally {
    // A loop that is full or stopping waits for this, and one whose order was changed.
    if (isFull(loop) || world.stopping.aborted || isOrderChanged(loop)) waker.wake();
    loop.unwritten -= 1;
  }
}

/** A free slot wakes the loop only if something may wait for it, or if an outage has just ended. */
function wakeForSlot({ world, window, waker, destination, outage }: LoopState): void {
  if (destination === null) return;
  if (!window.isIdle() || world.lanes.outage(destination) !== outage) waker.wake();
}
