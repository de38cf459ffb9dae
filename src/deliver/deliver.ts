import type { Destination } from "../model/config.ts";
import type { Delivery, DeliveryKey, DeliveryRef } from "../model/delivery.ts";
import type { PauseReport, Pauses, StoredClock, StoredClocks } from "../model/destination-clock.ts";
import type { Fault } from "../model/fault.ts";
import type { Backlog, Clock, DeliveryCount, Post, Random, ReadQueue, Settle } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Hold, Sharing } from "../model/sharing.ts";
import type { HeldBack } from "../model/status.ts";
import type { WhileIdle } from "../model/waiting-deliveries.ts";
import { createLimits } from "./attempt.ts";
import { createClocks } from "./clocks.ts";
import { createHeldBack } from "./held-back.ts";
import { createHolds, type Holds } from "./holds.ts";
import type { Lanes } from "./lanes.ts";
import { createLoop, type Loop, type LoopWorld } from "./loop.ts";

export type Deliver = {
  /** Begins to deliver. Returns at once. */
  start(): void;
  /**
   * Delivers to these destinations from now on. Those that are gone, disabled or paused keep their waiting deliveries, and
   * the log names them. `counts`: what the store has of each destination.
   */
  setDestinations(destinations: readonly Destination[], counts: readonly DeliveryCount[]): void;
  /** These were committed just now. One whose destination gets nothing now stays in the store until it does. */
  enqueue(deliveries: readonly Delivery[]): void;
  /**
   * Wakes all loops, and answers the destinations whose loop has not run since the last check: it is stuck, or has ended.
   * None while the daemon stops.
   */
  checkLiveness(): readonly string[];
  /** The store has moved waiting deliveries: reads them again; `retries`: they are all retries now. */
  readAgain(what: "all" | "retries"): void;
  /** The store has settled these without an attempt: stops sending them. */
  withdraw(deliveries: readonly DeliveryKey[]): void;
  /** Another daemon has saved these clocks: what it has paused or resumed is so here too. */
  hearClocks(heard: readonly StoredClock[]): void;
  /** These webhooks have asked another daemon for silence: they have it from this one too. */
  hearHolds(heard: readonly Hold[]): void;
  /** Another daemon delivers these from now on. */
  forget(has: (ref: DeliveryRef) => boolean): void;
  /**
   * So many daemons, with this one, send to the same webhooks: each may make its part of the requests that run at once, and of those
   * that a destination's rate allows.
   */
  shareSlots(daemons: number): void;
  /** The destinations that have attempts under way, or attempts whose result is not written yet. */
  sending(): readonly string[];
  /** Probes a destination at once. With `all`, sends it everything, due or not, whatever its receivers have asked for. */
  tryNow(destination: string, all?: boolean): void;
  /** The same with `all`, on all daemons that share the store. A fault: nothing was done. */
  retry(destination: string): Promise<Fault | null>;
  /** Runs work that ends or moves waiting deliveries of a destination; none of them is sent meanwhile. */
  readonly whileIdle: WhileIdle;
  readonly pauses: Pauses;
  readonly heldBack: HeldBack;
  /** Begins nothing new, and resolves when the running attempts are settled and written. May be called twice. */
  stop(): Promise<void>;
  /** Abandons the running attempts: they are made again after the next start. */
  release(): void;
};

type DeliverWorld = {
  readonly readQueue: ReadQueue;
  readonly settle: Settle;
  readonly backlog: Pick<Backlog, "nextRetryAt">;
  /** Where the destinations' clocks are saved, and as they were there at the start. */
  readonly clockStore: Pick<StoredClocks, "save">;
  readonly storedClocks: readonly StoredClock[];
  /** Tells other daemons that share the store; null if none can. */
  readonly announce: Sharing["announce"] | null;
  readonly lanes: Lanes;
  readonly observer: LoopWorld["observer"];
  readonly post: Post;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
};

/** Runs one loop for each destination, and keeps the destinations' clocks. */
export function createDeliver(world: DeliverWorld): Deliver {
  const { clock, report } = world;
  const controller = new AbortController();
  const stopping = controller.signal;
  const limits = createLimits(clock);
  const { pauses, ...clocks } = createClocks({ ...world, stopping, onPauseChange: assignDestinations });
  const holds = createHolds({ ...world, stopping });
  const loops = createLoops({ ...world, daemons: () => daemons, limits, clocks, holds, stopping });
  let configured: readonly Destination[] = [];
  let daemons = 1;

  return {
    start: loops.start,
    setDestinations(destinations, counts) {
      configured = destinations;
      const waiting = countWaiting(counts);
      clocks.setDestinations(destinations, waiting);
      assignDestinations();
      logNotServed(destinations, waiting, report);
      logPaused(destinations, { waiting, pauses, clock, report });
    },
    ...forStore(loops),
    hearClocks: clocks.hear,
    enqueue(deliveries) {
      for (const delivery of deliveries) loops.all.get(delivery.destination)?.enqueue(delivery);
    },
    checkLiveness: loops.checkLiveness,
    shareSlots(alive) {
      if (daemons === Math.max(1, alive)) return;
      daemons = Math.max(1, alive);
      // Deliveries that wait for a token may have one now.
      for (const loop of loops.all.values()) loop.tryNow(false);
    },
    ...createTries({ ...world, loops, holds, configured: () => configured }),
    hearHolds: (heard) => holds.hear(heard, configured),
    // A destination without a loop gets one now: a reload may bring it back while the work runs.
    whileIdle: (name, work) => loops.of(name).whileIdle(work),
    pauses,
    heldBack: createHeldBack({ ...world, loops, daemons: () => daemons }),
    async stop() {
      controller.abort();
      await loops.ended();
      limits.release();
    },
    release() {
      controller.abort();
      limits.release();
    },
  };

  /** Gives each loop its destination, or null if nothing may be sent to it now. */
  function assignDestinations(): void {
    const served = configured.filter(({ name, enabled }) => enabled && pauses.since(name) === null);
    const byName = new Map(served.map((one) => [one.name, one]));
    for (const { name } of served) loops.of(name);
    for (const [name, loop] of loops.all) loop.setDestination(byName.get(name) ?? null);
  }
}

type TriesWorld = Pick<DeliverWorld, "announce" | "lanes"> & {
  readonly loops: Pick<Loops, "all">;
  readonly holds: Pick<Holds, "drop">;
  readonly configured: () => readonly Destination[];
};

function createTries({ announce, lanes, loops, holds, configured }: TriesWorld): Pick<Deliver, "tryNow" | "retry"> {
  return {
    tryNow,
    async retry(name) {
      const refused = (await announce?.({ kind: "retry", destination: name })) ?? null;
      if (refused === null) tryNow(name, true);
      return refused;
    },
  };

  function tryNow(name: string, all = false): void {
    if (all) holds.drop(name);
    for (const one of configured()) if (one.name === name) lanes.tryNow(one, all);
    loops.all.get(name)?.tryNow(all);
  }
}

/** What the store tells the loops, and asks them. */
function forStore({ all }: Pick<Loops, "all">): Pick<Deliver, "readAgain" | "withdraw" | "forget" | "sending"> {
  return {
    readAgain(what) {
      for (const loop of all.values()) loop.readAgain(what);
    },
    withdraw(deliveries) {
      for (const [name, ids] of byDestination(deliveries)) all.get(name)?.withdraw(ids);
    },
    forget(has) {
      for (const loop of all.values()) loop.forget(has);
    },
    sending: () => [...all].flatMap(([name, loop]) => (loop.isBusy() ? [name] : [])),
  };
}

/** The numbers of their events. */
function byDestination(deliveries: readonly DeliveryKey[]): readonly (readonly [string, ReadonlySet<number>])[] {
  const byName = Map.groupBy(deliveries, ({ destination }) => destination);
  return [...byName].map(([name, some]) => [name, new Set(some.map(({ id }) => id))]);
}

type Loops = {
  readonly all: ReadonlyMap<string, Loop>;
  /** The loop of a destination. Makes one if there is none. */
  of(name: string): Loop;
  start(): void;
  checkLiveness(): readonly string[];
  /** Resolves when all have ended. */
  ended(): Promise<unknown>;
};

/** A loop stays until the daemon ends, also if its destination is removed: it knows what is still being sent. */
function createLoops(world: LoopWorld): Loops {
  const all = new Map<string, Loop>();
  const running: Promise<void>[] = [];
  let started = false;

  return {
    all,
    of(name) {
      const known = all.get(name);
      if (known) return known;
      const loop = createLoop(name, world);
      all.set(name, loop);
      if (started) run(name, loop);
      return loop;
    },
    start() {
      if (started) return;
      started = true;
      for (const [name, loop] of all) run(name, loop);
    },
    checkLiveness() {
      if (!started || world.stopping.aborted) return [];
      return [...all].filter(([, loop]) => !loop.checkLiveness()).map(([name]) => name);
    },
    ended: () => Promise.all(running),
  };

  function run(name: string, loop: Loop): void {
    running.push(loop.run().catch((error: unknown) => world.report.unexpected(`run the loop of ${name}`, error)));
  }
}

/** The number of waiting deliveries of each destination that has any. */
function countWaiting(counts: readonly DeliveryCount[]): ReadonlyMap<string, number> {
  const waiting = counts.filter(({ state, count }) => state === "waiting" && count > 0);
  return new Map(waiting.map(({ destination, count }) => [destination, count]));
}

/** Deliveries for a destination that is disabled or not in the config wait, and the operator should know. */
function logNotServed(
  destinations: readonly Destination[],
  waiting: ReadonlyMap<string, number>,
  report: Report,
): void {
  const enabled = new Set(destinations.filter((one) => one.enabled).map(({ name }) => name));
  for (const [destination, count] of waiting) {
    if (!enabled.has(destination)) report.daemon("unserved", { destination, waiting: count, hint: NOT_SERVED_HINT });
  }
}

const NOT_SERVED_HINT =
  "it is disabled or not in the config: enable it to continue, or end its deliveries with `fairlead move` or `fairlead discard`";

type PauseLog = {
  readonly waiting: ReadonlyMap<string, number>;
  readonly pauses: Pick<Pauses, "since">;
  readonly clock: Pick<Clock, "now" | "wall">;
  readonly report: Pick<PauseReport, "stillPaused">;
};

/** A pause outlives restarts and reloads: each of them reminds the operator. */
export function logPaused(destinations: readonly Destination[], { waiting, pauses, clock, report }: PauseLog): void {
  for (const { name, enabled } of destinations) {
    const since = pauses.since(name);
    if (since === null || !enabled) continue;
    report.stillPaused(name, { since: clock.wall() - (clock.now() - since), waiting: waiting.get(name) ?? 0 });
  }
}
