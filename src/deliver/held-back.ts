import type { Clock } from "../model/ports.ts";
import type { HeldBack } from "../model/status.ts";
import type { Lanes } from "./lanes.ts";
import type { Loop } from "./loop.ts";

type HeldBackWorld = {
  readonly loops: { readonly all: ReadonlyMap<string, Pick<Loop, "inMemory">> };
  readonly lanes: Pick<Lanes, "heldSince" | "runningIfFull">;
  readonly clock: Pick<Clock, "now">;
  readonly daemons: () => number;
};

/** Why deliveries that are due are not sent at this moment: what the loops and the lanes know, which nothing stores. */
export function createHeldBack({ loops, lanes, clock, daemons }: HeldBackWorld): HeldBack {
  return {
    of(destination) {
      const now = clock.now();
      const { waiting, inLine, inLineOf } = loops.all.get(destination.name)?.inMemory() ?? NOTHING;
      const isRated = lanes.heldSince(destination, now) !== null;
      const concurrency = Math.ceil(destination.concurrency / daemons());
      const running = isRated ? null : lanes.runningIfFull(destination, { now, concurrency });
      return {
        by: isRated ? "rate" : running === null ? null : "concurrency",
        running: running ?? 0,
        inLineOf,
        counts: { user: inLine, rate: isRated ? waiting : 0, concurrency: running === null ? 0 : waiting },
      };
    },
  };
}

const NOTHING: ReturnType<Loop["inMemory"]> = { waiting: 0, inLine: 0, inLineOf: () => new Set() };
