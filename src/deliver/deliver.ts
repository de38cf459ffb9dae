import type { Destination } from "../model/destination.ts";
import { createLoop, type Loop, type LoopWorld } from "./loop.ts";

export type Deliver = {
  /** Begins to deliver. Returns at once. */
  start(): void;
  /** Delivers to these destinations from now on; those that are gone or disabled keep what waits for them. */
  serve(destinations: readonly Destination[]): void;
  /** Deliveries to these destinations were committed. */
  wake(destinations: readonly string[]): void;
  /** Begins nothing new, and resolves when what runs is settled and written. May be called twice. */
  stop(): Promise<void>;
  /** Lets go of what runs: it begins anew after the next start. */
  release(): void;
};

/** Runs one loop for each destination, and keeps it for as long as the daemon lives: it knows what it has in flight. */
export function createDeliver(world: Omit<LoopWorld, "stopping" | "released">): Deliver {
  const stopping = new AbortController();
  const releasing = new AbortController();
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
    wake(destinations) {
      for (const name of destinations) loops.get(name)?.wake();
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
    release() {
      stopping.abort();
      releasing.abort();
    },
  };

  function add(name: string): void {
    const loop = createLoop(name, { ...world, stopping: stopping.signal, released: releasing.signal });
    loops.set(name, loop);
    if (started) begin(name, loop);
  }

  function begin(name: string, loop: Loop): void {
    running.push(loop.run().catch((error: unknown) => world.report.unexpected(`run the loop of ${name}`, error)));
  }
}
