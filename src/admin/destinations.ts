import * as v from "valibot";
import { suggest } from "../config/suggest.ts";
import type { Bodies } from "../http/body.ts";
import { respondFault } from "../http/respond.ts";
import type { Destination } from "../model/destination.ts";
import { type Fault, type FaultCode, fault, isFault } from "../model/fault.ts";
import type { PauseReport, Pauses } from "../model/pause.ts";
import type { Backlog, Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Timeline } from "../model/timeline.ts";
import { type At, formatTime, KB, SECOND } from "../model/units.ts";
import type { Discarded, Moved, Redirect, Unserved, WhileIdle } from "../model/unserved.ts";
import { about, count, success, time } from "./answers/fields.ts";
import { answer, keysRule, limitEntry, readBody, route, type Said } from "./route.ts";

export type PauseWorld = KnownWorld & {
  readonly clock: Pick<Clock, "now">;
  readonly timeline: Pick<Timeline, "toWall">;
  readonly pauses: Pauses;
  /** Probes a destination at once; with `all`, it is sent everything, due or not, whatever its webhooks have answered. */
  readonly tryNow: (destination: string, all?: boolean) => void;
  readonly report: Pick<PauseReport, "paused" | "resumed" | "retriedNow">;
};

const common = {
  method: "post",
  params: { name: "The destination." },
  faults: ["unknown_destination", "store_failed"],
} as const;
const changed = about("False if all was so already.", v.boolean());

export const pauseRoute = route({
  ...common,
  id: "pauseDestination",
  path: "/api/destinations/:name/pause",
  summary: "Send nothing new to a destination, until it is resumed",
  description: "What comes in for it waits, and that time does not count towards its four hours. Kept over restarts.",
  answers: {
    200: about(
      "Since when it is paused, and how many wait.",
      v.strictObject({ success, paused: v.literal(true), since: time, changed, waiting: count }),
    ),
  },
});

export const resumeRoute = route({
  ...common,
  id: "resumeDestination",
  path: "/api/destinations/:name/resume",
  summary: "Let what waits for a destination go on",
  answers: {
    200: about(
      "Since when it was paused, and how many wait.",
      v.strictObject({
        ...{ success, paused: v.literal(false), changed, waiting: count },
        since: about("Null if it was not paused.", v.nullable(time)),
        served: about(
          "False if nothing is sent to it all the same: it is disabled, or not in the config.",
          v.boolean(),
        ),
      }),
    ),
  },
});

export const retryDestinationRoute = route({
  ...common,
  id: "retryDestination",
  path: "/api/destinations/:name/retry",
  summary: "Try a destination now",
  description:
    "All that waits for it is due now, and its webhooks are asked at once: a probe is not waited for, nor the end of a Retry-After.",
  answers: {
    200: about(
      "How many wait.",
      v.strictObject({
        ...{ success, waiting: count },
        served: about(
          "False if nothing is sent to it all the same: it is paused, disabled, or not in the config.",
          v.boolean(),
        ),
      }),
    ),
  },
});

/**
 * `POST /api/destinations/:name/pause`: nothing new is sent to it until it is resumed, over restarts too. Answers
 * `{paused, since, changed, waiting}`; `changed` is false if it was paused already.
 */
export async function postPause(name: string, world: PauseWorld): Promise<Response> {
  return answer(pauseRoute, await pause(name, world));
}

/**
 * `POST /api/destinations/:name/resume`: what waits goes on. Answers likewise, `since` being when it was paused, or null if
 * it was not; and in `served` whether anything is sent to it now: not while it is disabled, or not in the config.
 */
export async function postResume(name: string, world: PauseWorld): Promise<Response> {
  return answer(resumeRoute, await resume(name, world));
}

async function pause(name: string, world: PauseWorld): Promise<Said<typeof pauseRoute> | Fault> {
  const refusal = refuse(name, world);
  if (refusal !== null) return refusal;
  const paused = await world.pauses.pause(name);
  if (isFault(paused)) return paused;
  const { since, changed } = paused;
  const waiting = waitingFor(name, world);
  if (changed) world.report.paused(name, waiting);
  return { success: true, paused: true, since: formatTime(onWall(since, world)), changed, waiting };
}

async function resume(name: string, world: PauseWorld): Promise<Said<typeof resumeRoute> | Fault> {
  const refusal = refuse(name, world);
  if (refusal !== null) return refusal;
  const resumed = await world.pauses.resume(name);
  if (isFault(resumed)) return resumed;
  const { since } = resumed;
  world.tryNow(name);
  const waiting = waitingFor(name, world);
  const served = world.destinations().some((one) => one.name === name && one.enabled);
  if (since === null) return { success: true, paused: false, since, changed: false, waiting, served };
  world.report.resumed(name, { paused: world.clock.now() - since, waiting });
  const at = formatTime(onWall(since, world));
  return { success: true, paused: false, since: at, changed: true, waiting, served };
}

/**
 * `POST /api/destinations/:name/retry`: all that waits for a destination is due now, and its webhooks are asked at once,
 * whatever they have answered. Answers `{waiting, served}`.
 */
export function postRetryDestination(name: string, world: PauseWorld): Response {
  return answer(retryDestinationRoute, retryDestination(name, world));
}

function retryDestination(name: string, world: PauseWorld): Said<typeof retryDestinationRoute> | Fault {
  const refusal = refuse(name, world);
  if (refusal !== null) return refusal;
  const waiting = waitingFor(name, world);
  const isEnabled = world.destinations().some((one) => one.name === name && one.enabled);
  const served = isEnabled && world.pauses.since(name) === null;
  if (served) {
    world.tryNow(name, true);
    world.report.retriedNow(name, waiting);
  }
  return { success: true, waiting, served };
}

/** One that is paused is known, even if the config and the outbox have lost it. */
function refuse(name: string, world: PauseWorld): Fault | null {
  return world.pauses.since(name) === null ? refuseUnknown(name, world) : null;
}

export function onWall(at: At, { timeline }: Pick<PauseWorld, "timeline">): At {
  return timeline.toWall(at);
}

const MAX_BODY_BYTES = 4 * KB;
/** Deliveries in one page: the daemon does nothing else while one is written. */
const MOST_IN_PAGE = 1_000;
const IN_PAGE_BY_DEFAULT = 500;

const page = {
  limit: limitEntry({ most: MOST_IN_PAGE, byDefault: IN_PAGE_BY_DEFAULT }),
  dryRun: about("Says how many wait, and changes nothing.", v.optional(v.boolean("must be true or false"), false)),
};
const name = v.pipe(v.string("must name a destination"), v.nonEmpty("must name a destination"));
const discardWish = v.strictObject(page, keysRule("limit and dryRun"));
const moveWish = v.strictObject({ to: name, ...page }, keysRule("to, limit and dryRun"));

const more = about("Whether others wait still.", v.boolean());
const waiting = about("A dry run: how many wait.", v.strictObject({ success, waiting: count }));

const endingCommon = {
  method: "post",
  params: { name: "The destination for which they wait. It has to be paused, disabled, or out of the config." },
  faults: ["unknown_destination", "destination_in_use", "destination_busy", "store_failed"],
} as const;

export const discardRoute = route({
  ...endingCommon,
  id: "discardWaiting",
  path: "/api/destinations/:name/discard",
  summary: "Give up a page of what waits for a destination",
  description: "They become failed, and are kept as others that failed. Ask again while there are more.",
  body: { shape: discardWish, maxBytes: MAX_BODY_BYTES },
  answers: {
    200: about("What was done.", v.union([v.strictObject({ success, discarded: count, more }), waiting])),
  },
});

export const moveRoute = route({
  ...endingCommon,
  id: "moveWaiting",
  path: "/api/destinations/:name/move",
  summary: "Let a page of what waits for a destination wait for another one",
  description: "As if they had just been accepted for it: with no attempts so far. Ask again while there are more.",
  body: { shape: moveWish, maxBytes: MAX_BODY_BYTES },
  answers: {
    200: about(
      "What was done. `doubled`: those that have failed because the event was there already.",
      v.union([v.strictObject({ success, moved: count, doubled: count, more }), waiting]),
    ),
  },
});

type World = UnservedWorld & { readonly bodies: Bodies };

/**
 * `POST /api/destinations/:name/discard {limit?, dryRun?}`: the next page of what waits for a destination that nothing is
 * delivered to becomes `failed`. Answers `{discarded, more}`, or with `dryRun` only `{waiting}`. The caller paces.
 */
export async function postDiscard(request: Request, from: string, world: World): Promise<Response> {
  const read = await readBody(request, discardRoute.body, world.bodies);
  if (isFault(read)) return respondFault(read);
  const { limit, dryRun } = read.value;
  if (dryRun) return answer(discardRoute, asWaiting(countWaiting(from, world)));
  return answer(discardRoute, asDone(await discardPage(from, limit, world)));
}

/** `POST /api/destinations/:name/move {to, limit?, dryRun?}`: likewise, to another destination: `{moved, doubled, more}`. */
export async function postMove(request: Request, from: string, world: World): Promise<Response> {
  const read = await readBody(request, moveRoute.body, world.bodies);
  if (isFault(read)) return respondFault(read);
  const { to, limit, dryRun } = read.value;
  const by = { from, to };
  if (dryRun) return answer(moveRoute, asWaiting(countMovable(by, world)));
  return answer(moveRoute, asDone(await movePage(by, limit, world)));
}

function asWaiting(count: number | Fault) {
  return typeof count === "number" ? { success: true as const, waiting: count } : count;
}

function asDone<T extends object>(what: T | Fault) {
  return isFault(what) ? what : { success: true as const, ...what };
}

/** Where a destination may be known: in the config in force, or in the outbox. */
export type KnownWorld = {
  readonly destinations: () => readonly Destination[];
  readonly backlog: Pick<Backlog, "counts">;
};

export type UnservedWorld = KnownWorld & {
  readonly pauses: Pick<Pauses, "since">;
  readonly unserved: Unserved;
  readonly whileIdle: WhileIdle;
  readonly report: Pick<Report, "discarded" | "moved">;
};

/**
 * How many deliveries wait for a destination that is removed, disabled or paused. Faults: `unknown_destination`, and
 * `destination_in_use` for one that is served.
 */
function countWaiting(name: string, world: UnservedWorld): number | Fault {
  const isEnabled = world.destinations().some((one) => one.name === name && one.enabled);
  if (isEnabled && world.pauses.since(name) === null) return inUse(name);
  return refuseUnknown(name, world) ?? waitingFor(name, world);
}

/** The fault `unknown_destination`, for one that is neither in the config nor in the outbox; else null. */
export function refuseUnknown(name: string, { destinations, backlog }: KnownWorld): Fault | null {
  const stored = backlog.counts().filter(({ count }) => count > 0);
  const known = [...destinations().map((one) => one.name), ...stored.map(({ destination }) => destination)];
  return known.includes(name) ? null : unknownName("unknown_destination", name, known);
}

/** The fault `unknown_destination`, for one that is not in the config (any more); else null. */
export function refuseRemoved(name: string, { destinations }: Pick<KnownWorld, "destinations">): Fault | null {
  const names = destinations().map((one) => one.name);
  return names.includes(name) ? null : unknownName("unknown_destination", name, names);
}

/** How many deliveries wait for a destination, whatever it is. */
function waitingFor(name: string, { backlog }: Pick<KnownWorld, "backlog">): number {
  const counts = backlog.counts().filter(({ destination }) => destination === name);
  return counts.find(({ state }) => state === "waiting")?.count ?? 0;
}

/** The same, of those that are to be moved. Faults: also `invalid_request`, and `unknown_destination` for the new one. */
function countMovable({ from, to }: Redirect, world: UnservedWorld): number | Fault {
  const waiting = countWaiting(from, world);
  if (typeof waiting !== "number") return waiting;
  if (from === to) return fault("invalid_request", `to: must be another destination than ${from}`);
  return refuseRemoved(to, world) ?? waiting;
}

/** Faults: those of `countWaiting`, `destination_busy` and `store_failed`. */
async function discardPage(name: string, limit: number, world: UnservedWorld): Promise<Discarded | Fault> {
  const waiting = countWaiting(name, world);
  if (typeof waiting !== "number") return waiting;
  const page = await world.whileIdle(name, () => world.unserved.discard(name, limit));
  if (typeof page === "string") return notIdle(name, page);
  if (!isFault(page) && page.discarded > 0) world.report.discarded(name, page.discarded);
  return page;
}

/** Faults: those of `countMovable`, `destination_busy` and `store_failed`. */
async function movePage(by: Redirect, limit: number, world: UnservedWorld): Promise<Moved | Fault> {
  const waiting = countMovable(by, world);
  if (typeof waiting !== "number") return waiting;
  const page = await world.whileIdle(by.from, () => world.unserved.move(by, limit));
  if (typeof page === "string") return notIdle(by.from, page);
  if (!isFault(page) && page.moved + page.doubled > 0) world.report.moved(by, page);
  return page;
}

function notIdle(name: string, why: "served" | "busy"): Fault {
  if (why === "served") return inUse(name);
  // What is under way could still be delivered here, and then a second time elsewhere.
  return fault("destination_busy", `attempts for ${name} that were begun before still run; try again`, SECOND);
}

function inUse(name: string): Fault {
  const remedy = "pause it, disable it, or remove it from the config, before you move or discard what waits for it";
  return fault("destination_in_use", `${name} is served now; ${remedy}`);
}

const NOUNS = { unknown_destination: "destination", unknown_source: "source" } as const;
/** Of so many names, all are listed where none is near. */
const MOST_NAMED = 10;

/** The fault of a name that nothing has: with the one that was probably meant, else with those that there are. */
export function unknownName(code: FaultCode & keyof typeof NOUNS, name: string, names: readonly string[]): Fault {
  const known = [...new Set(names)];
  const meant = suggest(name, known);
  const all = known.length === 0 ? "; there are none" : `; known are ${known.join(", ")}`;
  const list = known.length > MOST_NAMED ? "" : all;
  const hint = meant === null ? list : `; did you mean ${meant}?`;
  return fault(code, `there is no ${NOUNS[code]} ${JSON.stringify(name.slice(0, 100))}${hint}`);
}
