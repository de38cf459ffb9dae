import type { Destination } from "../model/destination.ts";
import type { Backlog } from "../model/ports.ts";

/** Who can hear of a deletion: the config in force, and the destinations of which the store knows. */
export type ReachWorld = {
  readonly destinations: () => readonly Destination[];
  readonly backlog: Pick<Backlog, "counts">;
};

/** Destinations that are disabled and were not always: what they have got of a source may be there still, so they hear later. */
export function holdersOf(source: string, { destinations, backlog }: ReachWorld): readonly string[] {
  const known = namesIn(backlog);
  const disabled = destinations().filter((one) => !one.enabled && takes(one, source));
  return disabled.map(({ name }) => name).filter((name) => known.has(name));
}

/** Whether anybody hears of a deletion from this source, now or later. */
export function isHeard(source: string, world: ReachWorld): boolean {
  return world.destinations().some((one) => one.enabled && takes(one, source)) || holdersOf(source, world).length > 0;
}

/** Destinations that have got something once, and are not in the config any more: nobody can tell them. */
export function beyondReach({ destinations, backlog }: ReachWorld): readonly string[] {
  const configured = new Set(destinations().map(({ name }) => name));
  return [...namesIn(backlog)].filter((name) => !configured.has(name)).sort();
}

function takes({ sources }: Destination, source: string): boolean {
  return sources?.includes(source) ?? true;
}

/** What was pruned leaves a count of zero. */
function namesIn(backlog: Pick<Backlog, "counts">): ReadonlySet<string> {
  return new Set(backlog.counts().map(({ destination }) => destination));
}
