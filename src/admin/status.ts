import type { Config } from "../model/config.ts";
import type { DeliveryState } from "../model/delivery.ts";
import type { Destination } from "../model/destination.ts";
import type { Pauses } from "../model/pause.ts";
import type { Backlog, Clock } from "../model/ports.ts";
import type { Source } from "../model/source.ts";
import type { StoreHealth } from "../model/space.ts";
import type {
  Activity,
  Arrivals,
  ConfigStatus,
  DestinationHealth,
  DestinationStatus,
  Health,
  Problem,
  Status,
  WebhookHealth,
} from "../model/status.ts";
import type { Timeline } from "../model/timeline.ts";
import { type At, formatDuration, formatSize, formatTime } from "../model/units.ts";
import { about, timeOf } from "./answers/fields.ts";
import { status, type troubled } from "./answers/status.ts";
import { onWall } from "./destinations.ts";
import { answer, type Like, route } from "./route.ts";

export type StatusWorld = {
  readonly clock: Pick<Clock, "now" | "wall">;
  readonly destinations: () => readonly Destination[];
  readonly sources: () => readonly Pick<Source, "name" | "enabled">[];
  readonly outbox: () => Pick<Config["outbox"], "path">;
  readonly backlog: Pick<Backlog, "counts" | "oldestWaitingAt">;
  readonly health: Pick<StoreHealth, "size" | "full" | "writable" | "gone">;
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
  const found = health.gone();
  const gone = found && { ...found, since: timeline.toWall(found.since) };
  const status = {
    ...{ version, pid, startedAt, config: configSince(startedAt, world.lastReload()), clock: clockOf(timeline) },
    outbox: { path: outbox().path, ...health.size(), full: health.full(), writable: health.writable(), gone },
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
  const counts = world.backlog.counts();
  const others = counts.filter(({ destination, count }) => count > 0 && !known.has(destination));
  const names = [...known, ...new Set(others.map(({ destination }) => destination))];
  const all = await Promise.all(names.map((name) => readDestination(name, world)));
  // What is gone is worth a word as long as something waits for it.
  return all.filter(({ state, counts }) => state !== "removed" || counts.waiting > 0);
}

async function readDestination(name: string, world: StatusWorld): Promise<DestinationStatus> {
  const { clock, destinations, backlog, activity, pauses } = world;
  const configured = destinations().find((destination) => destination.name === name);
  const pausedAt = pauses.since(name);
  const counts: Record<DeliveryState, number> = { waiting: 0, delivered: 0, failed: 0, expired: 0 };
  for (const { destination, state, count } of backlog.counts()) if (destination === name) counts[state] = count;
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

/** Of `outbox.maxSize`: from here on it is worth a word. */
const CROWDED = 0.8;

/**
 * What is wrong with a running daemon, and since when, the worst first: as far as it knows by itself. Points in time are of
 * the wall clock.
 */
function problemsOf(status: Omit<Status, "problems">): readonly Problem[] {
  const found = [
    ...ofOutbox(status.outbox),
    ...ofClock(status.clock),
    ...ofConfig(status.config),
    ...status.destinations.flatMap(ofDestination),
  ];
  return found.sort((a, b) => Number(a.level === "warning") - Number(b.level === "warning"));
}

function ofOutbox({ path, writable, full, used, max, free, gone }: Status["outbox"]): readonly Problem[] {
  if (gone !== null) {
    const what = `calls are refused: ${gone.path} was ${gone.what} under the daemon`;
    return [{ level: "error", code: "outbox_gone", what, since: gone.since, remedy: RESCUE }];
  }
  const size = `${formatSize(used)} of ${formatSize(max)}`;
  const left = free === null ? "" : `, ${formatSize(free)} of the disk free`;
  if (full !== null) {
    const what = `calls are refused: outbox.${full} is reached (${size} used${left})`;
    return [{ level: "error", code: "store_full", what, since: null, remedy: ROOM }];
  }
  if (!writable) {
    const what = `calls are refused: ${path} cannot be written`;
    return [{ level: "error", code: "store_failed", what, since: null, remedy: "the log says why" }];
  }
  if (used < max * CROWDED) return [];
  return [
    { level: "warning", code: "store_crowded", what: `the outbox is nearly full: ${size}`, since: null, remedy: ROOM },
  ];
}

const RESCUE =
  "do not stop the daemon: fairlead backup FILE copies what it still has; then stop it, fairlead restore --force FILE, and start it";
const ROOM = "deliver or discard what waits (fairlead status says for whom), or raise outbox.maxSize";

function ofClock(clock: Status["clock"]): readonly Problem[] {
  if (clock.plausible) return [];
  const { code, reason, since } = clock;
  const remedy = "set the machine's clock (timedatectl, or its time service): new events get its stamps";
  return [{ level: "warning", code: `clock_${code}`, what: reason, since, remedy }];
}

function ofConfig({ refused, needsRestart }: Status["config"]): readonly Problem[] {
  const found: Problem[] = [];
  if (refused) {
    const what = `the config is not in force: ${refused.reason}`;
    found.push({ level: "error", code: "config_refused", what, since: refused.at, remedy: "fairlead check" });
  }
  if (needsRestart.length > 0) {
    const what = `changes of ${needsRestart.join(", ")} take effect at the next start`;
    found.push({ level: "warning", code: "restart_needed", what, since: null, remedy: "systemctl restart fairlead" });
  }
  return found;
}

function ofDestination(one: DestinationStatus): readonly Problem[] {
  const { name, state, counts, pausedSince } = one;
  if (state === "removed" || state === "disabled") return counts.waiting === 0 ? [] : [unserved(one)];
  if (state === "paused") {
    const what = `${name} is paused${waitingFor(one)}`;
    return [
      { level: "warning", code: "destination_paused", what, since: pausedSince, remedy: `fairlead resume ${name}` },
    ];
  }
  const isDown = state === "failing" || state === "offline";
  return one.webhooks.filter(isBad).map((webhook) => ({
    level: isDown ? "error" : "warning",
    code: `webhook_${webhook.state}`,
    what: `${name}: ${webhook.url} ${HOW[webhook.state]}${lastAnswer(webhook)}${isDown ? waitingFor(one) : ""}`,
    since: webhook.failingSince,
    remedy: `once it is well again: fairlead retry ${name}`,
  }));
}

const HOW: Readonly<Record<WebhookHealth["state"], string>> = {
  untried: "",
  working: "",
  failing: "takes nothing",
  slowed: "refuses everything",
  down: "does not answer",
  offline: "cannot be reached: this machine has no network",
};

function isBad({ state }: WebhookHealth): boolean {
  return state !== "untried" && state !== "working";
}

function lastAnswer({ lastFailure }: WebhookHealth): string {
  return lastFailure === null ? "" : ` (${lastFailure.reason})`;
}

function unserved(one: DestinationStatus): Problem {
  const { name, state } = one;
  const what = `${name} is ${state === "removed" ? "not in the config" : "disabled"}${waitingFor(one)}`;
  const remedy = `put it back into the config, or fairlead move ${name} OTHER, or fairlead discard ${name}`;
  return { level: "warning", code: "unserved", what, since: null, remedy };
}

function waitingFor({ counts, oldestWaiting }: DestinationStatus): string {
  if (counts.waiting === 0) return "";
  const age = oldestWaiting === null ? "" : `, the oldest for ${formatDuration(oldestWaiting)}`;
  return `, ${counts.waiting} ${counts.waiting === 1 ? "delivery waits" : "deliveries wait"}${age}`;
}
