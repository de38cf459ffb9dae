/** Time that does not count towards a cutoff, as the world knows it: at least as much as the daemon may grant. */
import type { At, Ms } from "../../../src/model/units.ts";
import type { World } from "./world.ts";

export type Lost = { readonly destination: string; readonly why: string; from: At; until: At | null };

/** It begins, or has begun as early as this. */
export function beginLost(world: World, destination: string, { why, from }: Pick<Lost, "why" | "from">): void {
  const known = open(world, destination, why);
  if (known) known.from = Math.min(known.from, from);
  else world.lost.push({ destination, why, from, until: null });
}

export function endLost(world: World, destination: string, why: string): void {
  const one = open(world, destination, why);
  if (one) one.until = world.life.clock.now();
}

/** An upper bound: what overlaps counts twice. */
export function lostBetween({ lost }: World, destination: string, { from, until }: { from: At; until: At }): Ms {
  let sum = 0;
  for (const one of lost) {
    if (one.destination !== destination) continue;
    sum += Math.max(0, Math.min(one.until ?? until, until) - Math.max(one.from, from));
  }
  return sum;
}

/** By its operator: paused, disabled, or not in the config. */
export function isHalted(world: World, destination: string): boolean {
  return ["paused", "unserved"].some((why) => open(world, destination, why) !== undefined);
}

function open({ lost }: World, destination: string, why: string): Lost | undefined {
  return lost.find((one) => one.destination === destination && one.why === why && one.until === null);
}
