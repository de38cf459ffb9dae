import type { Config } from "../model/config.ts";
import type { DeliveryState } from "../model/delivery.ts";
import type { Destination } from "../model/destination.ts";
import type { Pauses } from "../model/pause.ts";
import type { Backlog, Clock, DeliveryCount } from "../model/ports.ts";
import type { Source } from "../model/source.ts";
import type { StoreHealth } from "../model/space.ts";
import type {
  Activity,
  Arrivals,
  ConfigStatus,
  DestinationHealth,
  DestinationStatus,
  Health,
  Status,
  WebhookHealth,
} from "../model/status.ts";
import type { Timeline } from "../model/timeline.ts";
import { type At, formatTime } from "../model/units.ts";
import { about, timeOf } from "./answers/fields.ts";
import { status, type troubled } from "./answers/status.ts";
import { onWall } from "./pause.ts";
import { problemsOf } from "./problems.ts";
import { answer, type Like, route } from "./route.ts";

export type StatusWorld = {
  readonly clock: Pick<Clock, "now" | "wall">;
  readonly destinations: () => readonly Destination[];
  readonly sources: () => readonly Pick<Source, "name" | "enabled">[];
  readonly outbox: () => Pick<Config["outbox"], "path">;
  readonly backlog: Pick<Backlog, "counts" | "oldestWaitingAt">;
  readonly health: Pick<StoreHealth, "state">;
  readonly activity: Activity;
  readonly webhooks: Health;
  readonly pauses: Pick<Pauses, "since">;
  readonly arrivals: Arrivals;
  readonly lastReload: () => ConfigStatus;
  readonly timeline: Timeline;
  /** By `clock.now()`. */
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
  const { startedAt, config, problems, clock, outbox, sources, destinations } = found;
  const { readAt, refused } = config;
  const { gone } = outbox;
  return answer(statusRoute, {
    ...found,
    outbox: { ...outbox, gone: gone && { ...gone, since: formatTime(gone.since) } },
    startedAt: formatTime(startedAt),
    config: { ...config, readAt: formatTime(readAt), refused: refused && { ...refused, at: formatTime(refused.at) } },
    problems: problems.map((problem) => ({ ...problem, since: timeOf(problem.since) })),
    clock: clock.plausible
      ? { plausible: true, code: null, reason: null, since: null }
      : { ...clock, since: formatTime(clock.since) },
    sources: sources.map((source) => ({ ...source, lastAt: timeOf(source.lastAt) })),
    destinations: destinations.map(({ pausedSince, failingSince, lastError, webhooks, ...rest }) => ({
      ...rest,
      pausedSince: timeOf(pausedSince),
      failingSince: timeOf(failingSince),
      lastError: lastError && { ...lastError, at: formatTime(lastError.at) },
      webhooks: webhooks.map((webhook) => ({ url: webhook.url, state: webhook.state, ...describeFailure(webhook) })),
    })),
  });
}

function describeFailure({ failingSince, lastFailure, nextTryAt }: WebhookHealth) {
  return {
    failingSince: timeOf(failingSince),
    lastFailure: lastFailure && { ...lastFailure, at: formatTime(lastFailure.at) },
    nextTryAt: timeOf(nextTryAt),
  };
}

/** Of these destinations, the webhooks that do not work: what waits for them has to wait longer than its turn. */
export function troubleOf(names: Iterable<string>, world: TroubleWorld): readonly Like<typeof troubled>[] {
  return [...new Set(names)].flatMap((name) => {
    const destination = world.destinations().find((one) => one.name === name && one.enabled);
    if (!destination) return [];
    const bad = healthOf(destination, world).webhooks.filter(({ failingSince }) => failingSince !== null);
    return bad.map((webhook) => ({
      ...{ destination: name, url: webhook.url, state: webhook.state },
      ...describeFailure(webhook),
    }));
  });
}

/** How the daemon is, and each of its sources and destinations. */
async function readStatus(world: StatusWorld): Promise<Status> {
  const { outbox, sources, health, arrivals, timeline, version, pid } = world;
  const startedAt = timeline.toWall(world.startedAt);
  const { gone, full, writable, size } = await health.state();
  const status = {
    ...{ version, pid, startedAt, config: configSince(startedAt, world.lastReload()), clock: clockOf(timeline) },
    outbox: {
      ...{ path: outbox().path, ...size, full, writable },
      gone: gone && { ...gone, since: timeline.toWall(gone.since) },
    },
    sources: sources().map(({ name, enabled }) => ({ name, enabled, ...arrivals.of(name) })),
    destinations: await readDestinations(world),
  };
  return { ...status, problems: problemsOf(status) };
}

/** With its point in time by the wall clock. */
function clockOf(timeline: Timeline): Status["clock"] {
  const clock = timeline.health();
  return clock.plausible ? clock : { ...clock, since: timeline.toWall(clock.since) };
}

/** What was read before the start was so by a clock that may have been set since: the start is near enough. */
function configSince(startedAt: At, config: ConfigStatus): ConfigStatus {
  return { ...config, readAt: Math.max(config.readAt, startedAt) };
}

async function readDestinations(world: StatusWorld): Promise<readonly DestinationStatus[]> {
  const configured = world.destinations();
  const known = new Set(configured.map(({ name }) => name));
  const counts = await world.backlog.counts();
  const others = counts.filter(({ destination, count }) => count > 0 && !known.has(destination));
  const names = [...known, ...new Set(others.map(({ destination }) => destination))];
  const all = await Promise.all(names.map((name) => readDestination(name, counts, world)));
  // What is gone is worth a word as long as something waits for it.
  return all.filter(({ state, counts }) => state !== "removed" || counts.waiting > 0);
}

async function readDestination(
  name: string,
  stored: readonly DeliveryCount[],
  world: StatusWorld,
): Promise<DestinationStatus> {
  const { clock, destinations, backlog, activity, pauses } = world;
  const configured = destinations().find((destination) => destination.name === name);
  const pausedAt = pauses.since(name);
  const counts: Record<DeliveryState, number> = { waiting: 0, delivered: 0, failed: 0, expired: 0 };
  for (const { destination, state, count } of stored) if (destination === name) counts[state] = count;
  const oldestAt = counts.waiting > 0 ? await backlog.oldestWaitingAt(name) : null;
  const health = configured ? healthOf(configured, world) : UNKNOWN;
  return {
    ...{ name, ...health, counts, perSecond: activity.of(name) },
    state: !configured ? "removed" : !configured.enabled ? "disabled" : pausedAt === null ? health.state : "paused",
    pausedSince: pausedAt === null ? null : onWall(pausedAt, world),
    oldestWaiting: oldestAt === null ? null : Math.max(0, clock.now() - oldestAt),
  };
}

const UNKNOWN: DestinationHealth = { state: "untried", failingSince: null, lastError: null, webhooks: [] };

export type TroubleWorld = Pick<StatusWorld, "clock" | "timeline" | "destinations" | "webhooks">;

/** With its points in time by the wall clock. */
function healthOf(destination: Destination, world: TroubleWorld): DestinationHealth {
  const health = world.webhooks.of(destination);
  const shown = (at: At | null): At | null => (at === null ? null : onWall(at, world));
  return {
    ...health,
    failingSince: shown(health.failingSince),
    lastError: health.lastError && { ...health.lastError, at: onWall(health.lastError.at, world) },
    webhooks: health.webhooks.map(({ failingSince, lastFailure, nextTryAt, ...rest }) => ({
      ...rest,
      ...{ failingSince: shown(failingSince), nextTryAt: shown(nextTryAt) },
      lastFailure: lastFailure && { ...lastFailure, at: onWall(lastFailure.at, world) },
    })),
  };
}
