import type { Config } from "../model/config.ts";
import type { DeliveryState } from "../model/delivery.ts";
import type { Destination } from "../model/destination.ts";
import type { Pauses } from "../model/pause.ts";
import type { Backlog, Clock } from "../model/ports.ts";
import type { Source } from "../model/source.ts";
import type { StoreHealth } from "../model/space.ts";
import type {
  Arrivals,
  AttemptsLately,
  ConfigStatus,
  DestinationState,
  DestinationStatus,
  Lately,
  Status,
} from "../model/status.ts";
import { type At, formatTime } from "../model/units.ts";
import { about, timeOf } from "./answers/fields.ts";
import { status } from "./answers/status.ts";
import { onWall } from "./pause.ts";
import { answer, route } from "./route.ts";

export type StatusWorld = {
  readonly clock: Pick<Clock, "now" | "wall">;
  readonly destinations: () => readonly Destination[];
  readonly sources: () => readonly Pick<Source, "name" | "enabled">[];
  readonly outbox: () => Pick<Config["outbox"], "path">;
  readonly backlog: Pick<Backlog, "counts" | "oldestWaitingAt">;
  readonly health: Pick<StoreHealth, "size" | "full" | "writable" | "gone">;
  readonly activity: AttemptsLately;
  readonly pauses: Pick<Pauses, "since">;
  readonly arrivals: Arrivals;
  readonly lastReload: () => ConfigStatus;
  /** By the wall clock. */
  readonly startedAt: At;
  readonly version: string;
  readonly pid: number;
};

export const statusRoute = route({
  id: "getStatus",
  method: "get",
  path: "/api/status",
  summary: "How the daemon is, and each of its sources and destinations",
  answers: { 200: about("The state at this moment.", status) },
});

/** `GET /api/status`, with points in time in ISO 8601. */
export async function getStatus(world: StatusWorld): Promise<Response> {
  const found = await readStatus(world);
  const { startedAt, config, outbox, sources, destinations } = found;
  const { readAt, refused } = config;
  const { gone } = outbox;
  return answer(statusRoute, {
    ...found,
    outbox: { ...outbox, gone: gone && { ...gone, since: formatTime(gone.since) } },
    startedAt: formatTime(startedAt),
    config: { ...config, readAt: formatTime(readAt), refused: refused && { ...refused, at: formatTime(refused.at) } },
    sources: sources.map((source) => ({ ...source, lastAt: timeOf(source.lastAt) })),
    destinations: destinations.map(({ pausedSince, failingSince, lastError, ...rest }) => ({
      ...rest,
      pausedSince: timeOf(pausedSince),
      failingSince: timeOf(failingSince),
      lastError: lastError && { ...lastError, at: formatTime(lastError.at) },
    })),
  });
}

/** How the daemon is, and each of its sources and destinations. */
async function readStatus(world: StatusWorld): Promise<Status> {
  const { outbox, sources, health, arrivals, lastReload, startedAt, version, pid } = world;
  const found = health.gone();
  const gone = found && { ...found, since: onWall(found.since, world) };
  return {
    ...{ version, pid, startedAt, config: lastReload() },
    outbox: { path: outbox().path, ...health.size(), full: health.full(), writable: health.writable(), gone },
    sources: sources().map(({ name, enabled }) => ({ name, enabled, ...arrivals.of(name) })),
    destinations: await readDestinations(world),
  };
}

async function readDestinations(world: StatusWorld): Promise<readonly DestinationStatus[]> {
  const configured = world.destinations();
  const known = new Set(configured.map(({ name }) => name));
  const counts = world.backlog.counts();
  const others = counts.filter(({ destination, count }) => count > 0 && !known.has(destination));
  const names = [...known, ...new Set(others.map(({ destination }) => destination))];
  const all = await Promise.all(names.map((name) => readDestination(name, world)));
  // What is gone is worth a word as long as something waits for it.
  return all.filter(({ state, counts }) => state !== "removed" || counts.waiting > 0);
}

async function readDestination(name: string, world: StatusWorld): Promise<DestinationStatus> {
  const { clock, destinations, backlog, activity, pauses } = world;
  const lately = activity.of(name);
  const configured = destinations().find((destination) => destination.name === name);
  const pausedAt = pauses.since(name);
  const counts: Record<DeliveryState, number> = { waiting: 0, delivered: 0, failed: 0, expired: 0 };
  for (const { destination, state, count } of backlog.counts()) if (destination === name) counts[state] = count;
  const oldestAt = counts.waiting > 0 ? await backlog.oldestWaitingAt(name) : null;
  return {
    ...{ name, state: stateOf(configured, { ...lately, isPaused: pausedAt !== null }), counts },
    pausedSince: pausedAt === null ? null : onWall(pausedAt, world),
    ...{ failingSince: lately.failingSince, lastError: lately.lastError, perSecond: lately.perSecond },
    oldestWaiting: oldestAt === null ? null : Math.max(0, clock.now() - oldestAt),
  };
}

type Known = Lately & { readonly isPaused: boolean };

function stateOf(destination: Destination | undefined, { isPaused, failingSince, offline }: Known): DestinationState {
  if (!destination) return "removed";
  if (!destination.enabled) return "disabled";
  if (isPaused) return "paused";
  if (failingSince === null) return "working";
  return offline ? "offline" : "failing";
}
