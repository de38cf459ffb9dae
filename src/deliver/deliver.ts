import type { Delivery } from "../model/delivery.ts";
import type { Destination } from "../model/destination.ts";
import type { Pauses } from "../model/pause.ts";
import type { DeliveryCount } from "../model/ports.ts";
import type { WhileIdle } from "../model/unserved.ts";
import { createLimits } from "./attempt.ts";
import { createHalts, type Halts, type HaltsWorld } from "./halts.ts";
import { createLoop, type Loop, type LoopWorld } from "./loop.ts";

export type Deliver = {
  /** Begins to deliver. Returns at once. */
  start(): void;
  /** Delivers to these destinations from now on; those that are gone, disabled or paused keep what waits for them. */
  serve(destinations: readonly Destination[], counts: readonly DeliveryCount[]): void;
  /** These were committed just now. Each delivery is to be offered once, or it waits for the next start. */
  offer(deliveries: readonly Delivery[]): void;
  /**
   * Has all loops look again at what is due. Answers the destinations whose loop has not done so since the last knock:
   * it is stuck, or has ended. None while the daemon stops.
   */
  knock(): readonly string[];
  /** The store has moved deliveries that wait: they are to be looked for again. */
  readAgain(): void;
  /** The store has ended the waiting of these: they are not to be sent any more. */
  withdraw(deliveries: readonly Pick<Delivery, "id" | "destination">[]): void;
  /** Probes a destination at once; with `all`, it is sent everything, due or not, whatever its receivers have asked for. */
  tryNow(destination: string, all?: boolean): void;
  /** Lets what waits for a destination be taken away: no delivery of it begins before that is done. */
  readonly whileIdle: WhileIdle;
  readonly pauses: Pauses;
  /** Begins nothing new, and resolves when what runs is settled and written. May be called twice. */
  stop(): Promise<void>;
  /** Lets go of what runs: it begins anew after the next start. */
  release(): void;
};

export type DeliverWorld = Omit<LoopWorld, "stopping" | "limits" | "halts"> & Omit<HaltsWorld, "stopping" | "changed">;

/** Runs one loop for each destination, and keeps it for as long as the daemon lives: it knows what it has in flight. */
export function createDeliver(world: DeliverWorld): Deliver {
  const stopping = new AbortController();
  const limits = createLimits(world.clock);
  const loops = new Map<string, Loop>();
  const running: Promise<void>[] = [];
  const halts = createHalts({ ...world, stopping: stopping.signal, changed: serveUnlessPaused });
  let known: readonly Destination[] = [];
  let started = false;

  return {
    start() {
      if (started) return;
      started = true;
      for (const [name, loop] of loops) begin(name, loop);
    },
    serve(destinations, counts) {
      known = destinations;
      halts.serve(destinations, counts);
      serveUnlessPaused();
    },
    offer: (deliveries) => offer(deliveries, loops),
    knock: () => (started && !stopping.signal.aborted ? knock(loops) : []),
    readAgain: () => readAgain(loops),
    withdraw: (deliveries) => withdraw(deliveries, loops),
    tryNow(destination, all = false) {
      for (const one of known) if (one.name === destination) world.lanes.tryNow(one, all);
      loops.get(destination)?.tryNow(all);
    },
    // One that has no loop gets it now: it may come back while the work goes on.
    whileIdle: (name, work) => (loops.get(name) ?? add(name)).whileIdle(work),
    pauses: halts,
    async stop() {
      stopping.abort();
      await Promise.all(running);
      limits.release();
    },
    release() {
      stopping.abort();
      limits.release();
    },
  };

  function serveUnlessPaused(): void {
    const served = new Map(known.map((one) => [one.name, isServed(one, halts) ? one : null]));
    for (const [name, one] of served) if (one && !loops.has(name)) add(name);
    for (const [name, loop] of loops) loop.serve(served.get(name) ?? null);
  }

  function add(name: string): Loop {
    const loop = createLoop(name, { ...world, limits, halts, stopping: stopping.signal });
    loops.set(name, loop);
    if (started) begin(name, loop);
    return loop;
  }

  function begin(name: string, loop: Loop): void {
    running.push(loop.run().catch((error: unknown) => world.report.unexpected(`run the loop of ${name}`, error)));
  }
}

function offer(deliveries: readonly Delivery[], loops: ReadonlyMap<string, Loop>): void {
  for (const delivery of deliveries) loops.get(delivery.destination)?.offer(delivery);
}

function isServed({ name, enabled }: Destination, halts: Pick<Halts, "since">): boolean {
  return enabled && halts.since(name) === null;
}

function withdraw(deliveries: readonly Pick<Delivery, "id" | "destination">[], loops: ReadonlyMap<string, Loop>): void {
  const byName = Map.groupBy(deliveries, ({ destination }) => destination);
  for (const [name, those] of byName) loops.get(name)?.withdraw(new Set(those.map(({ id }) => id)));
}

function readAgain(loops: ReadonlyMap<string, Loop>): void {
  for (const loop of loops.values()) loop.readAgain();
}

function knock(loops: ReadonlyMap<string, Loop>): readonly string[] {
  return [...loops].filter(([, loop]) => !loop.knock()).map(([name]) => name);
}
