import type { Config } from "../model/config.ts";
import type { Deletion, StoredDeletions, Unnoticed } from "../model/deletion.ts";
import { type Event, ownEvent } from "../model/event.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Backlog, Clock, Random, RequestDeletion } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { beyondReach, isHeard, type ReachWorld } from "./withdraw.ts";

type RequestWorld = {
  readonly config: () => Config;
  readonly deletions: Pick<StoredDeletions, "record">;
  readonly backlog: Pick<Backlog, "counts">;
  /** Wakes the worker. */
  readonly wake: () => void;
  readonly clock: Pick<Clock, "wall">;
  readonly random: Random;
  readonly report: Pick<Report, "deletionRequested">;
};

/**
 * Accepts a request to delete users. It is durable when it is answered, and `worker.ts` completes it even across restarts.
 * Faults: `unknown_source`, and those of the store.
 */
export function createRequestDeletion(world: RequestWorld): RequestDeletion {
  const { config, deletions, backlog, wake, clock, random, report } = world;
  return async function requestDeletion({ userIds, sources, ...wishes }) {
    const reach: ReachWorld = { destinations: () => config().destinations, backlog };
    const affected = await affectedSources(config(), sources, reach);
    if (isFault(affected)) return affected;
    const users = [...new Set(userIds)];
    const requestedAt = clock.wall();
    // It begins with the time, so that ids sort by time.
    const id = `del-${requestedAt.toString(16).padStart(12, "0")}-${random.hex(6)}`;
    const scope = sources && [...new Set(sources)];
    const untold = await beyondReach(reach);
    const what = { ...wishes, userIds: users, sources: scope };
    const recorded = await deletions.record({ ...what, id, requestedAt, affected, untold });
    if (isFault(recorded)) return recorded;
    const notifications = affected.length * users.length;
    report.deletionRequested({ users: users.length, notifications, sources: affected, untold });
    wake();
    return { id, status: recorded.status, notifications, sources: affected, untold };
  };
}

/** The named sources, or all, without those that have no destination. */
async function affectedSources(
  config: Config,
  named: readonly string[] | null,
  reach: ReachWorld,
): Promise<readonly string[] | Fault> {
  const known = config.sources.map((source) => source.name);
  const unknown = named?.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const why = `no source is named ${JSON.stringify(unknown)}; there are: ${known.join(", ")}`;
    return fault("unknown_source", `${why}. A request without a source is for all, including removed ones`);
  }
  const heard: string[] = [];
  for (const name of new Set(named ?? known)) if (await isHeard(name, reach)) heard.push(name);
  return heard;
}

/**
 * The notification that a user must be deleted (SPEC.md 6). Its messageId is always the same, and begins with the time
 * as all ids of this server do, so that they sort by time.
 */
export function makeNotice({ nth, userId }: Unnoticed, source: string, { id, sources, requestedAt }: Deletion): Event {
  const place = `${toHex(nth)}${toHex(sources.indexOf(source))}`;
  const messageId = `${id.replace(/^del-/, "delete-")}${place}`;
  return ownEvent({ type: "delete", messageId, userId, at: requestedAt });
}

/** In four digits: a request has at most 1,000 users. */
function toHex(nth: number): string {
  return nth.toString(16).padStart(4, "0");
}

/** Whether any notification is still waiting, and whether any was given up. */
export function standingOf({ notices }: Pick<Deletion, "notices">): "waiting" | "given up" | "gone out" {
  if (notices.some(({ waiting }) => waiting > 0)) return "waiting";
  return notices.some(({ failed, expired }) => failed + expired > 0) ? "given up" : "gone out";
}
