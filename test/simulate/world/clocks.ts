/** For how long the clock of each destination has stood still, as the world knows it: at most, and at least. */
import type { At, Ms } from "../../../src/model/units.ts";
import type { Rows } from "./rows.ts";
import type { World } from "./world.ts";

export type Reason = "paused" | "unserved" | "offline";
/** A time in which a clock stood still: may have, or with `surely` must have. */
export type Stop = {
  readonly destination: string;
  readonly why: Reason | "surely";
  from: At;
  until: At | null;
};

/** It begins, or has begun as early as this. */
export function beginStop(world: World, destination: string, { why, from }: Pick<Stop, "why" | "from">): void {
  const known = open(world, destination, why);
  if (known) known.from = Math.min(known.from, from);
  else world.stops.push({ destination, why, from, until: null });
}

export function endStop(world: World, destination: string, why: Stop["why"]): void {
  const one = open(world, destination, why);
  if (one) one.until = world.life.clock.now();
}

type Between = { readonly from: At; readonly until: At };

export function stoodStillAtMost({ stops }: World, destination: string, between: Between): Ms {
  return timeIn(
    stops.filter((one) => one.destination === destination && one.why !== "surely"),
    between,
  );
}

export function stoodStillAtLeast({ stops }: World, destination: string, between: Between): Ms {
  return timeIn(
    stops.filter((one) => one.destination === destination && one.why === "surely"),
    between,
  );
}

/** What overlaps counts once. */
function timeIn(stops: readonly Stop[], { from, until }: Between): Ms {
  let [sum, seen] = [0, from];
  for (const stop of stops.toSorted((a, b) => a.from - b.from)) {
    const end = Math.min(stop.until ?? until, until);
    sum += Math.max(0, end - Math.max(stop.from, seen));
    seen = Math.max(seen, end);
  }
  return sum;
}

/** Whether its operator has stopped it: it is paused, disabled, or not in the config. */
export function isStopped(world: World, destination: string): boolean {
  return (["paused", "unserved"] as const).some((why) => open(world, destination, why) !== undefined);
}

/** A process may have died before it wrote that a clock goes on: the next one knows only what is written. */
export function reopenStops({ stops }: World, { clocks }: Rows): void {
  for (const { destination, reasons } of clocks.values()) {
    for (const why of reasons) {
      const last = stops.findLast((one) => one.destination === destination && one.why === why);
      if (last) last.until = null;
    }
  }
}

function open({ stops }: World, destination: string, why: Stop["why"]): Stop | undefined {
  return stops.find((one) => one.destination === destination && one.why === why && one.until === null);
}
