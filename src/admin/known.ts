import type { Fault } from "../model/fault.ts";
import type { Lookup, Search } from "../model/lookup.ts";
import type { Source } from "../model/source.ts";
import { type KnownWorld, refuseUnknown, unknownName } from "./unserved.ts";

export type FilterWorld = KnownWorld & {
  readonly sources: () => readonly Pick<Source, "name">[];
  readonly lookup: Pick<Lookup, "deliveries">;
};

/**
 * Refuses to filter by a destination or a source that is neither in the config nor in the outbox: a list that is empty for
 * a slip of the keyboard looks as if all were well. Faults: `unknown_destination`, `unknown_source`.
 */
export async function refuseFilter(
  { destination, source }: Pick<Search, "destination" | "source">,
  world: FilterWorld,
): Promise<Fault | null> {
  const refusal = destination === null ? null : await refuseUnknown(destination, world);
  if (refusal || source === null) return refusal;
  const known = world.sources().map(({ name }) => name);
  if (known.includes(source)) return null;
  // One that was removed is known by the events that are kept of it, as far as they can be looked through at once.
  const page = await world.lookup.deliveries({ ...ANY, source }, { limit: 1, cursor: null });
  const isKnown = page === "bad_cursor" || page.deliveries.length > 0 || page.cursor !== null;
  return isKnown ? null : unknownName("unknown_source", source, known);
}

const ANY: Search = { state: null, destination: null, source: null, type: null, user: null, since: null, until: null };
