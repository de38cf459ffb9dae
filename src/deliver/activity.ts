import type { Clock } from "../model/ports.ts";
import { createRate, type Rate } from "../model/rate.ts";
import type { Activity } from "../model/status.ts";

/** Counts what was delivered lately, in memory: for the operator, who asks now and then. */
export function createActivity(clock: Pick<Clock, "now">): Activity & { delivered(destination: string): void } {
  const rates = new Map<string, Rate>();
  return {
    delivered(destination) {
      const rate = rates.get(destination) ?? createRate();
      rates.set(destination, rate);
      rate.add(1, clock.now());
    },
    of: (destination) => rates.get(destination)?.perSecond(clock.now()) ?? 0,
  };
}
