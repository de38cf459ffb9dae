import type { Destination, Source } from "../model/config.ts";
import type { DeliveryState } from "../model/delivery.ts";
import { StoreAway } from "../model/fault.ts";
import type { DestinationHealth } from "../model/status.ts";
import { type At, formatDuration, formatRate, formatSize, formatTime, type Ms, SECOND } from "../model/units.ts";
import type { Answer } from "../wire/fields.ts";
import { status, type troubledWebhook } from "../wire/status.ts";
import { accessOf } from "./access.ts";
import { type Answered, route, type Serve, timeOf, wallTime, wallTimeOf } from "./route.ts";
import type { AdminWorld } from "./world.ts";

export function serveStatus(serve: Serve, world: AdminWorld): void {
  serve(statusRoute, ({ request }) => getStatus(request, world));
}

const statusRoute = route({
  id: "getStatus",
  method: "get",
  path: "/api/status",
  summary: "Show the state of the daemon and of each source and destination",
  answers: { 200: status },
});

type Status = Answer<typeof status>;
type Problem = Status["problems"][number];
type SourceStatus = Status["sources"][number];
type DestinationStatus = Status["destinations"][number];
type WebhookStatus = DestinationStatus["webhooks"][number];

/** `GET /api/status`. */
async function getStatus(request: Request, world: AdminWorld): Promise<Answered<typeof statusRoute>> {
  const { version, pid, outbox, health, sources, arrivals, timeline } = world;
  const startedAt = timeline.toWall(world.startedAt);
  const { file, readAt, refused, needsRestart } = world.lastReload();
  const clock = timeline.health();
  const { gone, full, writable, size } = await health.state();
  const stored = await readStored(world);
  const parts: Omit<Status, "problems"> = {
    version,
    pid,
    startedAt: formatTime(startedAt),
    // Nobody gets here without access.
    access: accessOf(request, world.admin()) ?? "read",
    config: {
      file,
      // The first config may be read before the daemon's clock is right; the time of the start is close enough.
      readAt: formatTime(Math.max(readAt, startedAt)),
      refused: refused && { ...refused, at: formatTime(refused.at) },
      needsRestart,
    },
    outbox: {
      path: outbox().path,
      ...size,
      full,
      writable,
      away: stored instanceof StoreAway ? describeAway(stored, world) : null,
      gone: gone && { ...gone, since: wallTime(gone.since, timeline) },
    },
    clock: clock.plausible
      ? { plausible: true, code: null, reason: null, since: null }
      : { ...clock, since: wallTime(clock.since, timeline) },
    daemons: stored instanceof StoreAway ? null : stored.daemons,
    sources: sources().map((source) => {
      const { perSecond, lastAt } = arrivals.of(source.name);
      const { name, enabled } = source;
      return { name, enabled, perSecond, lastAt: timeOf(lastAt), limits: describeLimits(source, world) };
    }),
    destinations: describeDestinations(stored instanceof StoreAway ? null : stored.backlogs, world),
  };
  return { ...parts, problems: problemsOf(parts) };
}

function describeLimits(source: Source, { limits, timeline }: AdminWorld): SourceStatus["limits"] {
  const found = limits.of(source);
  if (found === null) return null;
  const { rate } = source;
  const { waiting, refusing } = found;
  return {
    rate: rate && formatRate(rate.requests, rate.per),
    waiting,
    refusing: refusing && {
      code: refusing.code,
      since: wallTime(refusing.since, timeline),
      requests: refusing.requests,
    },
  };
}

/** What only the store knows. `backlogs`: by destination. */
type Stored = {
  readonly daemons: Exclude<Status["daemons"], null>;
  readonly backlogs: ReadonlyMap<string, DestinationBacklog>;
};
type DestinationBacklog = {
  readonly counts: Readonly<Record<DeliveryState, number>>;
  /** When the delivery that waits longest was accepted. */
  readonly oldestAt: At | null;
};

/** A database that is away may take as long as its time limits to say so. */
const LONGEST_READ: Ms = 5 * SECOND;

async function readStored(world: AdminWorld): Promise<Stored | StoreAway> {
  const { sharing, clock } = world;
  const reading = Promise.all([readDaemons(world), readBacklogs(world)]);
  const read = new AbortController();
  const waiting = sharing === null ? [] : [clock.sleep(LONGEST_READ, read.signal).then(noAnswer)];
  try {
    const [daemons, backlogs] = await Promise.race([reading, ...waiting]);
    return { daemons, backlogs };
  } catch (error) {
    if (error instanceof StoreAway) return error;
    throw error;
  } finally {
    read.abort();
  }
}

function noAnswer(): never {
  throw new StoreAway(`no answer within ${formatDuration(LONGEST_READ)}`);
}

/** It was there when this daemon last told the others that it is alive. */
function describeAway({ message }: StoreAway, { sharing, clock, timeline }: AdminWorld): Status["outbox"]["away"] {
  return { since: wallTime(sharing?.beatAt() ?? clock.now(), timeline), reason: message };
}

async function readDaemons({ sharing }: AdminWorld): Promise<Stored["daemons"]> {
  const daemons = (await sharing?.daemons()) ?? [];
  return daemons.map((daemon) => ({ ...daemon, startedAt: formatTime(daemon.startedAt) }));
}

async function readBacklogs({ backlog }: AdminWorld): Promise<Stored["backlogs"]> {
  const stored = (await backlog.counts()).filter(({ count }) => count > 0);
  const all = [...Map.groupBy(stored, ({ destination }) => destination)].map(async ([name, counted]) => {
    const counts = { ...NO_COUNTS };
    for (const { state, count } of counted) counts[state] = count;
    return [name, { counts, oldestAt: counts.waiting > 0 ? await backlog.oldestWaitingAt(name) : null }] as const;
  });
  return new Map(await Promise.all(all));
}

const NO_COUNTS: Record<DeliveryState, number> = { waiting: 0, delivered: 0, failed: 0, expired: 0 };
const NOTHING: DestinationBacklog = { counts: NO_COUNTS, oldestAt: null };
const NOT_KNOWN = { counts: null, oldestAt: null } as const;

/** The destinations of the config, and removed ones with waiting deliveries. `backlogs`: null if they are not known. */
function describeDestinations(backlogs: Stored["backlogs"] | null, world: AdminWorld): readonly DestinationStatus[] {
  const configured = world.destinations().map(({ name }) => name);
  const names = new Set([...configured, ...(backlogs?.keys() ?? [])]);
  const all = [...names].map((name) => {
    return describeDestination(name, backlogs === null ? NOT_KNOWN : (backlogs.get(name) ?? NOTHING), world);
  });
  return all.filter(({ state, counts }) => state !== "removed" || (counts !== null && counts.waiting > 0));
}

function describeDestination(
  name: string,
  { counts, oldestAt }: DestinationBacklog | typeof NOT_KNOWN,
  world: AdminWorld,
): DestinationStatus {
  const { clock, destinations, activity, pauses, timeline } = world;
  const configured = destinations().find((destination) => destination.name === name);
  const pausedAt = pauses.since(name);
  const { state, webhooks, failingSince, heldSince, lastError } = configured ? world.webhooks.of(configured) : UNKNOWN;
  return {
    name,
    state: !configured ? "removed" : !configured.enabled ? "disabled" : pausedAt === null ? state : "paused",
    webhooks: webhooks.map((webhook) => describeWebhook(webhook, world)),
    counts,
    pausedSince: wallTimeOf(pausedAt, timeline),
    failingSince: wallTimeOf(failingSince, timeline),
    lastError: lastError && { ...lastError, at: wallTime(lastError.at, timeline) },
    perSecond: activity.of(name),
    heldBack: heldBackOf(configured, { waits: counts?.waiting !== 0 && pausedAt === null, heldSince, timeline }),
    oldestWaiting: oldestAt === null ? null : Math.max(0, clock.now() - oldestAt),
  };
}

const UNKNOWN: DestinationHealth = {
  state: "untried",
  failingSince: null,
  lastError: null,
  heldSince: null,
  webhooks: [],
};

type Waits = Pick<DestinationHealth, "heldSince"> & Pick<AdminWorld, "timeline"> & { readonly waits: boolean };

function heldBackOf(
  configured: Destination | undefined,
  { waits, heldSince, timeline }: Waits,
): DestinationStatus["heldBack"] {
  if (!configured?.enabled || configured.rate === null || heldSince === null || !waits) return null;
  const { requests, per } = configured.rate;
  return { rate: formatRate(requests, per), since: wallTime(heldSince, timeline) };
}

type WebhookHealth = DestinationHealth["webhooks"][number];

function describeWebhook(
  { url, state, failingSince, lastFailure, nextTryAt }: WebhookHealth,
  { timeline }: Pick<AdminWorld, "timeline">,
): WebhookStatus {
  return {
    url,
    state,
    failingSince: wallTimeOf(failingSince, timeline),
    lastFailure: lastFailure && { ...lastFailure, at: wallTime(lastFailure.at, timeline) },
    nextTryAt: wallTimeOf(nextTryAt, timeline),
  };
}

/** The failing webhooks of these destinations: deliveries wait for them beyond their due time. */
export function troubleOf(names: Iterable<string>, world: AdminWorld): readonly Answer<typeof troubledWebhook>[] {
  return [...new Set(names)].flatMap((name) => {
    const destination = world.destinations().find((one: Destination) => one.name === name && one.enabled);
    const webhooks = destination ? world.webhooks.of(destination).webhooks : [];
    const bad = webhooks.filter(({ failingSince }) => failingSince !== null);
    return bad.map((webhook) => ({ destination: name, ...describeWebhook(webhook, world) }));
  });
}

/** The share of `outbox.maxSize` above which a nearly full outbox is a problem. */
const CROWDED = 0.8;

/** The problems that the daemon can see itself and since when they exist, worst first. Times are by the wall clock. */
function problemsOf(status: Omit<Status, "problems">): readonly Problem[] {
  const found = [
    ...ofOutbox(status.outbox),
    ...ofClock(status.clock),
    ...ofConfig(status.config),
    ...status.sources.flatMap(ofSource),
    ...(status.daemons ?? []).filter(({ alive }) => !alive).map(silent),
    ...status.destinations.flatMap(ofDestination),
  ];
  return found.sort((a, b) => Number(a.level === "warning") - Number(b.level === "warning"));
}

function ofOutbox({ path, writable, full, used, max, free, away, gone }: Status["outbox"]): readonly Problem[] {
  if (gone !== null) {
    const what = `calls are refused: ${gone.path} was ${gone.what} under the daemon`;
    return [{ level: "error", code: "outbox_gone", what, since: gone.since, remedy: RESCUE }];
  }
  if (away !== null) {
    const what = `calls are refused, and waiting deliveries are unknown: ${path} does not answer (${away.reason})`;
    return [{ level: "error", code: "database_away", what, since: away.since, remedy: AWAIT }];
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
  "do not stop the daemon: fairlead backup FILE copies what it still holds; then stop it, fairlead restore --force FILE, and start it";
const AWAIT =
  "check the server and the connection to it (fairlead doctor); the daemon continues by itself when it answers";
const ROOM =
  "get waiting deliveries delivered, or discard them (fairlead status shows their destinations), or raise outbox.maxSize";

function ofClock(clock: Status["clock"]): readonly Problem[] {
  if (clock.plausible) return [];
  const { code, reason, since } = clock;
  const remedy = "set the machine's clock (timedatectl, or its time service): new events get their times from it";
  return [{ level: "warning", code: `clock_${code}`, what: reason ?? "", since, remedy }];
}

function silent({ host, pid, silentFor }: Stored["daemons"][number]): Problem {
  const what = `the daemon on ${host} (process ${pid}) has been silent for ${formatDuration(silentFor)}: other daemons deliver its events`;
  return { level: "warning", code: "daemon_silent", what, since: null, remedy: "see its log, and start it again" };
}

function ofConfig({ refused, needsRestart }: Status["config"]): readonly Problem[] {
  const found: Problem[] = [];
  if (refused) {
    const what = `the new config is not in force: ${refused.reason}`;
    found.push({ level: "error", code: "config_refused", what, since: refused.at, remedy: "fairlead check" });
  }
  if (needsRestart.length > 0) {
    const what = `changes of ${needsRestart.join(", ")} take effect at the next start`;
    found.push({ level: "warning", code: "restart_needed", what, since: null, remedy: "systemctl restart fairlead" });
  }
  return found;
}

function ofSource({ name, limits }: SourceStatus): readonly Problem[] {
  if (!limits?.refusing) return [];
  const { rate, waiting, refusing } = limits;
  const { code, since, requests } = refusing;
  const full = `too many of its events wait for delivery (${formatSize(waiting?.bytes ?? 0)} of ${formatSize(waiting?.max ?? 0)})`;
  const why = code === "rate_limited" ? `it sends more than ${rate}` : full;
  const what = `calls of ${name} are refused: ${why}, ${requests} ${requests === 1 ? "request" : "requests"} so far`;
  return [
    {
      level: "warning",
      code,
      what,
      since,
      remedy: `${REMEDIES[code](name)}; fairlead rejected --source ${name} shows who sends`,
    },
  ];
}

const REMEDIES = {
  rate_limited: (name: string) => `clients send them again; raise sources.${name}.rate if these calls are wanted`,
  source_full: (name: string) => `see below why deliveries wait, or raise sources.${name}.maxWaiting`,
} as const;

function ofDestination(one: DestinationStatus): readonly Problem[] {
  return problemsWith(one).map((problem) => Object.assign(problem, { destination: one.name }));
}

function problemsWith(one: DestinationStatus): readonly Problem[] {
  const { name, state, counts, pausedSince } = one;
  if (state === "removed" || state === "disabled") return (counts?.waiting ?? 0) === 0 ? [] : [unserved(one)];
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
    remedy: `when it works again: fairlead retry ${name}`,
  }));
}

const HOW: Readonly<Record<WebhookStatus["state"], string>> = {
  untried: "",
  working: "",
  failing: "accepts nothing",
  slowed: "refuses everything",
  down: "does not answer",
  offline: "cannot be reached: this machine has no network",
};

function isBad({ state }: WebhookStatus): boolean {
  return state !== "untried" && state !== "working";
}

function lastAnswer({ lastFailure }: WebhookStatus): string {
  return lastFailure === null ? "" : ` (${lastFailure.reason})`;
}

function unserved(one: DestinationStatus): Problem {
  const { name, state } = one;
  const what = `${name} is ${state === "removed" ? "not in the config" : "disabled"}${waitingFor(one)}`;
  const remedy = `put it back into the config, or fairlead move ${name} OTHER, or fairlead discard ${name}`;
  return { level: "warning", code: "unserved", what, since: null, remedy };
}

function waitingFor({ counts, oldestWaiting }: DestinationStatus): string {
  if (counts === null || counts.waiting === 0) return "";
  const age = oldestWaiting === null ? "" : `, the oldest for ${formatDuration(oldestWaiting)}`;
  return `, ${counts.waiting} ${counts.waiting === 1 ? "delivery waits" : "deliveries wait"}${age}`;
}
