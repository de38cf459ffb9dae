import type { Config } from "../model/config.ts";
import type { StoredDeletions } from "../model/deletion.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Clock, Random, RequestDeletion } from "../model/ports.ts";
import type { Report } from "../model/report.ts";

export type RequestWorld = {
  readonly config: () => Config;
  readonly deletions: Pick<StoredDeletions, "record">;
  /** There is something to be done now. */
  readonly wake: () => void;
  readonly clock: Pick<Clock, "wall">;
  readonly random: Random;
  readonly report: Pick<Report, "deletionRequested">;
};

/**
 * Takes a request that users be deleted: it is answered when it is durable, and done from then on (`worker.ts`), whatever
 * happens to the daemon. Faults: `unknown_source`, and those of the store.
 */
export function createRequestDeletion(world: RequestWorld): RequestDeletion {
  const { config, deletions, wake, clock, random, report } = world;
  return async function requestDeletion({ userIds, sources, ...wishes }) {
    const affected = affectedSources(config(), sources);
    if (isFault(affected)) return affected;
    const users = [...new Set(userIds)];
    const requestedAt = clock.wall();
    // It begins with the time, so that they sort as they came.
    const id = `del-${requestedAt.toString(16).padStart(12, "0")}-${random.hex(6)}`;
    const scope = sources && [...new Set(sources)];
    const recorded = await deletions.record({ ...wishes, id, requestedAt, userIds: users, sources: scope, affected });
    if (isFault(recorded)) return recorded;
    const notifications = affected.length * users.length;
    report.deletionRequested(users.length, notifications, affected);
    wake();
    return { id, status: recorded.status, notifications, sources: affected };
  };
}

/** Sources that were named, or all, less those whose events go to nobody. */
function affectedSources(config: Config, named: readonly string[] | null): readonly string[] | Fault {
  const known = config.sources.map((source) => source.name);
  const unknown = named?.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    return fault("unknown_source", `no source is named ${JSON.stringify(unknown)}; there are: ${known.join(", ")}`);
  }
  const takers = config.destinations.filter((destination) => destination.enabled);
  return [...new Set(named ?? known)].filter((name) => takers.some(({ sources }) => sources?.includes(name) ?? true));
}
