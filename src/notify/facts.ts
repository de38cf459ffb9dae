import { type Certificate, type Config, receiversOf } from "../model/config.ts";
import type { Pauses } from "../model/destination-clock.ts";
import type { StoreHealth } from "../model/disk.ts";
import type { Fact } from "../model/notice.ts";
import type { Backlog, Clock } from "../model/ports.ts";
import type { Sharing } from "../model/sharing.ts";
import type { ConfigStatus, DestinationHealth, Health } from "../model/status.ts";
import type { Timeline } from "../model/timeline.ts";
import { type At, DAY, formatDuration, formatSize, MINUTE, type Ms } from "../model/units.ts";
import { shortTime } from "./message.ts";

export type FactsWorld = {
  readonly config: () => Config;
  readonly webhooks: Health;
  readonly pauses: Pick<Pauses, "since">;
  readonly health: Pick<StoreHealth, "state">;
  readonly backlog: Pick<Backlog, "counts">;
  readonly sharing: Pick<Sharing, "leads"> | null;
  readonly timeline: Timeline;
  readonly lastReload: () => ConfigStatus;
  /** The name of this machine: of daemons that share an outbox, each reports its own config and clock. */
  readonly host: string;
  readonly clock: Pick<Clock, "now" | "wall">;
};

/** All current facts that can be reported. Rejects when the store fails: then nothing is known. */
export async function gatherFacts(world: FactsWorld): Promise<readonly Fact[]> {
  return [
    ...(await ofDestinations(world)),
    await ofOutbox(world),
    ofConfig(world),
    ...world.config().certificates.map((certificate) => ofCertificate(certificate, world)),
    ofClock(world),
  ];
}

async function ofDestinations(world: FactsWorld): Promise<readonly Fact[]> {
  const served = receiversOf(world.config()).filter(({ enabled }) => enabled);
  const all = served.map((one) => ({ name: one.name, health: world.webhooks.of(one) }));
  const counts = all.some(({ health }) => health.failingSince !== null) ? await world.backlog.counts() : [];
  const waiting = new Map(
    counts.filter(({ state }) => state === "waiting").map(({ destination, count }) => [destination, count]),
  );
  return all.map(({ name, health }) => ofDestination(name, { health, waiting: waiting.get(name) ?? 0 }, world));
}

type Asked = { readonly health: DestinationHealth; readonly waiting: number };

function ofDestination(name: string, { health, waiting }: Asked, { pauses, timeline, clock }: FactsWorld): Fact {
  const { state, failingSince, lastError } = health;
  const fact = { kind: "destination_failing", subject: name } as const;
  const now = clock.now();
  // What an operator has stopped is neither working nor failing; nor is what was not asked yet.
  if (pauses.since(name) !== null || state === "untried") return { ...fact, ...NOTHING, state: "unknown" };
  if (failingSince === null || lastError === null) return { ...fact, ...NOTHING, state: "fine" };
  // All was given up, and nothing new has come.
  if (waiting === 0 && now - lastError.at >= LATELY) return { ...fact, ...NOTHING, state: "unknown" };
  const reason = withoutQueries(lastError.reason);
  const since = shortTime(timeline.toWall(failingSince));
  const waits = `${waiting} ${waiting === 1 ? "delivery waits" : "deliveries wait"}`;
  return {
    ...fact,
    state: "bad",
    since: failingSince,
    says: `${name} has accepted nothing for ${formatDuration(now - failingSince)}, since ${since}: ${reason}; ${waits}`,
    details: { url: lastError.url, reason, waiting },
  };
}

const LATELY: Ms = 15 * MINUTE;

const NOTHING = { since: 0, says: "", details: {} } as const;

/** A Location may have a token in its query. */
function withoutQueries(reason: string): string {
  return reason.replace(/[?#]\S*/g, "");
}

/** The shares at which it is reported, and at which it is over. */
const CROWDED = 0.8;
const ROOMY = 0.75;

/** Of daemons that share it, the one that cleans it up reports it. */
async function ofOutbox({ health, sharing, clock }: FactsWorld): Promise<Fact> {
  const fact = { kind: "outbox_nearly_full", subject: "the outbox" } as const;
  if (sharing !== null && !sharing.leads()) return { ...fact, ...NOTHING, state: "elsewhere" };
  const { size, crowding, full } = await health.state();
  const { used, max, free } = size;
  const isBad = used >= max * CROWDED || crowding !== null || full !== null;
  if (!isBad) return { ...fact, ...NOTHING, state: used < max * ROOMY ? "fine" : "unknown" };
  const left = free === null ? "" : `, ${formatSize(free)} of its disk free`;
  const share = Math.floor((used * 100) / max);
  return {
    ...fact,
    state: "bad",
    since: clock.now(),
    says: `the outbox is ${share} % full (${formatSize(used)} of ${formatSize(max)}${left}); ${full === null ? WILL_REFUSE : REFUSES}`,
    details: { used, max, free },
  };
}

const WILL_REFUSE =
  "calls are refused when it is full; fairlead status shows which destinations have waiting deliveries";
const REFUSES =
  "calls are refused until there is room; fairlead status shows which destinations have waiting deliveries";

function ofConfig({ lastReload, timeline, sharing, host }: FactsWorld): Fact {
  const { file, refused } = lastReload();
  const fact = { kind: "config_refused", subject: on(file, { sharing, host }) } as const;
  if (refused === null) return { ...fact, ...NOTHING, state: "fine" };
  const says = `${file} was refused at ${shortTime(refused.at)}: ${refused.reason}; fairlead check shows where`;
  return { ...fact, state: "bad", since: timeline.fromWall(refused.at), says, details: { reason: refused.reason } };
}

/** A certificate is reported this long before its end, or in the last third of a shorter life. */
const LAST_DAYS: Ms = 14 * DAY;

function ofCertificate({ key, file, validFrom, validTo }: Certificate, world: FactsWorld): Fact {
  const { timeline, clock } = world;
  const fact = { kind: "certificate_expiring", subject: on(`the certificate of ${key}`, world) } as const;
  if (!timeline.health().plausible) return { ...fact, ...NOTHING, state: "unknown" };
  const wall: At = clock.wall();
  const from = validTo - Math.min(LAST_DAYS, (validTo - validFrom) / 3);
  if (wall < from) return { ...fact, ...NOTHING, state: "fine" };
  const ends = wall < validTo ? `expires in ${formatDuration(validTo - wall)}, on` : "has expired, on";
  const says = `the certificate of ${key} (${file}) ${ends} ${shortTime(validTo)}; renew it: the daemon loads the new one by itself`;
  const details = { key, file, expires: new Date(validTo).toISOString() };
  return { ...fact, state: "bad", since: timeline.fromWall(from), says, details };
}

function ofClock(world: FactsWorld): Fact {
  const fact = { kind: "clock_wrong", subject: on("the machine's clock", world) } as const;
  const health = world.timeline.health();
  if (health.plausible) return { ...fact, ...NOTHING, state: "fine" };
  const { code, reason, since } = health;
  return {
    ...fact,
    state: "bad",
    since,
    says: `${reason}; set it (timedatectl, or its time service)`,
    details: { code },
  };
}

/** Names the machine where there may be others. */
function on(what: string, { sharing, host }: Pick<FactsWorld, "sharing" | "host">): string {
  return sharing === null || host === "" ? what : `${what} on ${host}`;
}
