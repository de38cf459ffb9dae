import type { Destination } from "../model/destination.ts";
import type { PauseReport, Pauses } from "../model/pause.ts";
import type { Clock, DeliveryCount } from "../model/ports.ts";

export type PausedWorld = {
  readonly pauses: Pick<Pauses, "since">;
  readonly counts: readonly DeliveryCount[];
  readonly clock: Pick<Clock, "now" | "wall">;
  readonly report: Pick<PauseReport, "stillPaused">;
};

/** A pause outlives restarts and changes of the config, and whoever has read a config should know. */
export function tellPaused(destinations: readonly Destination[], { pauses, counts, clock, report }: PausedWorld): void {
  const waiting = counts.filter(({ state }) => state === "waiting");
  for (const { name, enabled } of destinations) {
    const since = pauses.since(name);
    if (since === null || !enabled) continue;
    const count = waiting.find(({ destination }) => destination === name)?.count ?? 0;
    report.stillPaused(name, { since: clock.wall() - (clock.now() - since), waiting: count });
  }
}
