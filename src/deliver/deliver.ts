import type { Delivery } from "../model/delivery.ts";
import type { Destination } from "../model/destination.ts";
import type { WhileIdle } from "../model/unserved.ts";
import { createLimits } from "./limits.ts";
import { createLoop, type Loop, type LoopWorld } from "./loop.ts";

export type Deliver = {
  /** Begins to deliver. Returns at once. */
  start(): void;
  /** Delivers to these destinations from now on; those that are gone or disabled keep what waits for them. */
  serve(destinations: readonly Destination[]): void;
  /** These were committed just now. Each delivery is to be offered once, or it waits for the next start. */
  offer(deliveries: readonly Delivery[]): void;
  /** The store has moved deliveries that wait: they are to be looked for again. */
  readAgain(): void;
  /** Lets what waits for a destination be taken away: no delivery of it begins before that is done. */
  readonly whileIdle: WhileIdle;
  /** Begins nothing new, and resolves when what runs is settled and written. May be called twice. */
  stop(): Promise<void>;
  /** Lets go of what runs: it begins anew after the next start. */
  release(): void;
};

/** Runs one loop for each destination, and keeps it for as long as the daemon lives: it knows what it has in flight. */
export function createDeliver(world: Omit<LoopWorld, "stopping" | "limits">): Deliver {
  const stopping = new AbortController();
  const limits = createLimits(world.clock);
  const loops = new Map<string, Loop>();
  const running: Promise<void>[] = [];
  let started = false;

  return {
    start() {
      if (started) return;
      started = true;
      for (const [name, loop] of loops) begin(name, loop);
    },
    serve(destinations) {
      const enabled = new Map(destinations.filter((one) => one.enabled).map((one) => [one.name, one]));
      for (const name of enabled.keys()) if (!loops.has(name)) add(name);
      for (const [name, loop] of loops) loop.serve(enabled.get(name) ?? null);
    },
    offer(deliveries) {
      for (const delivery of deliveries) loops.get(delivery.destination)?.offer(delivery);
    },
    readAgain() {
      for (const loop of loops.values()) loop.readAgain();
    },
    // One that has no loop gets it now: it may come back while the work goes on.
    whileIdle: (destination, work) => (loops.get(destination) ?? add(destination)).whileIdle(work),
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

  function add(name: string): Loop {
    const loop = createLoop(name, { ...world, limits, stopping: stopping.signal });
    loops.set(name, loop);
    if (started) begin(name, loop);
    return loop;
  }

  function begin(name: string, loop: Loop): void {
    running.push(loop.run().catch((error: unknown) => world.report.unexpected(`run the loop of ${name}`, error)));
  }
}
