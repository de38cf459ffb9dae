import type { Delivery, DeliveryKey, DeliveryRef } from "../model/delivery.ts";
import type { Destination } from "../model/destination.ts";
import type { PauseReport, Pauses } from "../model/pause.ts";
import type { Clock, DeliveryCount } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { WhileIdle } from "../model/unserved.ts";
import { createLimits } from "./attempt.ts";
import { type ClocksWorld, createClocks } from "./clocks.ts";
import { createLoop, type Loop, type LoopWorld } from "./loop.ts";

export type Deliver = {
  /** Begins to deliver. Returns at once. */
  start(): void;
  /**
   * Delivers to these destinations from now on. Those that are gone, disabled or paused keep their waiting deliveries, and the
   * log says which they are. `counts`: what the store has of each.
   */
  serve(destinations: readonly Destination[], counts: readonly DeliveryCount[]): void;
  /** These were committed just now. One that is not enqueued is read from the store at the next start. */
  enqueue(deliveries: readonly Delivery[]): void;
  /**
   * Wakes all loops, and answers the destinations whose loop has not run since the last check: it is stuck, or has ended.
   * None while the daemon stops.
   */
  checkLiveness(): readonly string[];
  /** The store has moved waiting deliveries: they are read again. */
  readAgain(): void;
  /** The store has settled these without an attempt: they are not sent any more. */
  withdraw(deliveries: readonly DeliveryKey[]): void;
  /** Another daemon delivers these from now on. */
  forget(has: (ref: DeliveryRef) => boolean): void;
  /** Probes a destination at once; with `all`, it is sent everything, due or not, whatever its receivers have asked for. */
  tryNow(destination: string, all?: boolean): void;
  /** Runs work that takes waiting deliveries away from a destination: meanwhile none of them is sent. */
  readonly whileIdle: WhileIdle;
  readonly pauses: Pauses;
  /** Begins nothing new, and resolves when the running attempts are settled and written. May be called twice. */
  stop(): Promise<void>;
  /** Abandons the running attempts: they are made again after the next start. */
  release(): void;
};

type DeliverWorld = Omit<LoopWorld, "stopping" | "limits" | "clocks"> & Omit<ClocksWorld, "stopping" | "changed">;

/** Runs one loop for each destination. */
export function createDeliver(world: DeliverWorld): Deliver {
  const stopping = new AbortController();
  const limits = createLimits(world.clock);
  const clocks = createClocks({ ...world, stopping: stopping.signal, changed: setDestinations });
  const loops = createLoops({ ...world, limits, clocks, stopping: stopping.signal });
  const { pauses } = clocks;
  let configured: readonly Destination[] = [];

  return {
    start: loops.start,
    serve(destinations, counts) {
      configured = destinations;
      const waiting = countWaiting(counts);
      clocks.serve(destinations, waiting);
      setDestinations();
      logUnserved(destinations, waiting, world.report);
      logPaused(destinations, { waiting, pauses, clock: world.clock, report: world.report });
    },
    enqueue(deliveries) {
      for (const delivery of deliveries) loops.all.get(delivery.destination)?.enqueue(delivery);
    },
    checkLiveness: loops.checkLiveness,
    readAgain() {
      for (const loop of loops.all.values()) loop.readAgain();
    },
    withdraw(deliveries) {
      const byName = Map.groupBy(deliveries, ({ destination }) => destination);
      for (const [name, those] of byName) loops.all.get(name)?.withdraw(new Set(those.map(({ id }) => id)));
    },
    forget(has) {
      for (const loop of loops.all.values()) loop.forget(has);
    },
    tryNow(destination, all = false) {
      for (const one of configured) if (one.name === destination) world.lanes.tryNow(one, all);
      loops.all.get(destination)?.tryNow(all);
    },
    // A destination without a loop gets one now: the config may bring it back while the work runs.
    whileIdle: (name, work) => loops.of(name).whileIdle(work),
    pauses,
    async stop() {
      stopping.abort();
      await loops.ended();
      limits.release();
    },
    release() {
      stopping.abort();
      limits.release();
    },
  };

  /** Tells each loop its destination, or null if nothing is to be sent to it now. */
  function setDestinations(): void {
    const served = configured.filter(({ name, enabled }) => enabled && pauses.since(name) === null);
    const byName = new Map(served.map((one) => [one.name, one]));
    for (const { name } of served) loops.of(name);
    for (const [name, loop] of loops.all) loop.serve(byName.get(name) ?? null);
  }
}

type Loops = {
  readonly all: ReadonlyMap<string, Loop>;
  /** The loop of a destination, which is made if there is none. */
  of(name: string): Loop;
  start(): void;
  checkLiveness(): readonly string[];
  /** Resolves when all have ended. */
  ended(): Promise<unknown>;
};

/** A loop stays until the daemon ends, because it knows what is being sent. */
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

/** How many deliveries wait for each destination for which any does. */
function countWaiting(counts: readonly DeliveryCount[]): ReadonlyMap<string, number> {
  const waiting = counts.filter(({ state, count }) => state === "waiting" && count > 0);
  return new Map(waiting.map(({ destination, count }) => [destination, count]));
}

/** Waiting deliveries of a destination that is disabled or not in the config stay, and the operator should know. */
function logUnserved(destinations: readonly Destination[], waiting: ReadonlyMap<string, number>, report: Report): void {
  const enabled = new Set(destinations.filter((one) => one.enabled).map(({ name }) => name));
  for (const [destination, count] of waiting) {
    if (!enabled.has(destination)) report.daemon("unserved", { destination, waiting: count, hint: UNSERVED_HINT });
  }
}

const UNSERVED_HINT =
  "it is not in the config, or disabled: enable it and they go on, or end them with `fairlead move` or `fairlead discard`";

type PausedWorld = {
  readonly waiting: ReadonlyMap<string, number>;
  readonly pauses: Pick<Pauses, "since">;
  readonly clock: Pick<Clock, "now" | "wall">;
  readonly report: Pick<PauseReport, "stillPaused">;
};

/** A pause outlives restarts and changes of the config: each config that is read is a reminder. */
export function logPaused(destinations: readonly Destination[], { waiting, pauses, clock, report }: PausedWorld): void {
  for (const { name, enabled } of destinations) {
    const since = pauses.since(name);
    if (since === null || !enabled) continue;
    report.stillPaused(name, { since: clock.wall() - (clock.now() - since), waiting: waiting.get(name) ?? 0 });
  }
}
