import * as v from "valibot";
import { suggest } from "../config/suggest.ts";
import { isNotifyName, TEST_NAME } from "../model/config.ts";
import { type Fault, type FaultCode, fault, isFault } from "../model/fault.ts";
import { KB } from "../model/units.ts";
import { destinationInUse, type Redirect } from "../model/waiting-deliveries.ts";
import { discardedPage, movedPage, waitingCount } from "../wire/deliveries.ts";
import { about } from "../wire/fields.ts";
import { pausedDestination, resumedDestination, retriedDestination, testedDestination } from "../wire/status.ts";
import { type Answered, type Asked, keysRule, limitEntry, route, type Serve, wallTime } from "./route.ts";
import type { AdminWorld } from "./world.ts";

/** The operator's actions on a destination and its waiting deliveries. */
export function serveDestinations(serve: Serve, world: AdminWorld): void {
  serve(discardRoute, ({ params, body }) => postDiscard(params.name, body, world));
  serve(moveRoute, ({ params, body }) => postMove(params.name, body, world));
  serve(pauseRoute, ({ params }) => postPause(params.name, world));
  serve(retryDestinationRoute, ({ params }) => postRetryDestination(params.name, world));
  serve(resumeRoute, ({ params }) => postResume(params.name, world));
  serve(testRoute, ({ params }) => postTest(params.name, world));
}

const served = {
  method: "post",
  params: { name: "The destination." },
  faults: ["unknown_destination", "store_failed"],
} as const;

const pauseRoute = route({
  ...served,
  id: "pauseDestination",
  path: "/api/destinations/:name/pause",
  summary: "Pause a destination: nothing is sent to it until it is resumed",
  description:
    "New events for it wait. The time it is paused does not count towards their cutoff. The pause survives restarts.",
  answers: { 200: pausedDestination },
});

const resumeRoute = route({
  ...served,
  id: "resumeDestination",
  path: "/api/destinations/:name/resume",
  summary: "Resume a destination",
  answers: { 200: resumedDestination },
});

const retryDestinationRoute = route({
  ...served,
  id: "retryDestination",
  path: "/api/destinations/:name/retry",
  summary: "Try a destination now",
  description:
    "All its waiting deliveries become due now. Its webhooks are tried at once: they need not wait for a probe or a Retry-After.",
  answers: { 200: retriedDestination },
});

const testRoute = route({
  ...served,
  id: "testDestination",
  path: "/api/destinations/:name/test",
  summary: "Send a test call to a destination",
  description: `A track call \`Fairlead Test\` with \`{"test": true}\` as its properties. It is stored, signed and retried as any other, and goes to no other destination. Its source and its user are \`${TEST_NAME}\`: no source can have that name.`,
  answers: { 200: testedDestination },
  faults: [
    "unknown_destination",
    "destination_disabled",
    "user_suppressed",
    "store_full",
    "store_failed",
    "overloaded",
  ],
});

const unserved = {
  method: "post",
  params: {
    name: "The destination whose waiting deliveries are meant. It must be paused, disabled, or absent from the config.",
  },
  faults: ["unknown_destination", "destination_in_use", "destination_busy", "store_failed"],
} as const;
const MAX_BODY_BYTES = 4 * KB;
const page = {
  // Writing a page blocks the daemon.
  limit: limitEntry({ most: 1_000, byDefault: 500 }),
  dryRun: about(
    "Only counts the waiting deliveries and changes nothing.",
    v.optional(v.boolean("must be true or false"), false),
  ),
};
const to = v.pipe(v.string("must name a destination"), v.nonEmpty("must name a destination"));

const discardRoute = route({
  ...unserved,
  id: "discardWaiting",
  path: "/api/destinations/:name/discard",
  summary: "Discard a page of a destination's waiting deliveries",
  description: "They become failed and are kept like other failed deliveries. Repeat the request while more are left.",
  body: { shape: v.strictObject(page, keysRule("limit and dryRun")), maxBytes: MAX_BODY_BYTES },
  answers: { 200: about("What was done.", v.union([discardedPage, waitingCount])) },
});

const moveRoute = route({
  ...unserved,
  id: "moveWaiting",
  path: "/api/destinations/:name/move",
  summary: "Move a page of a destination's waiting deliveries to another one",
  description: "They count as just accepted there, with no attempts yet. Repeat the request while more are left.",
  body: { shape: v.strictObject({ to, ...page }, keysRule("to, limit and dryRun")), maxBytes: MAX_BODY_BYTES },
  answers: {
    200: about(
      "The result. `doubled`: the deliveries that became failed because the destination already has the event.",
      v.union([movedPage, waitingCount]),
    ),
  },
});

/** `POST /api/destinations/:name/pause`: stops sending to it until it is resumed, across restarts too. */
async function postPause(name: string, world: AdminWorld): Promise<Answered<typeof pauseRoute>> {
  const { pauses, timeline, report } = world;
  const refusal = await refuseUnlessPaused(name, world);
  if (refusal) return refusal;
  const paused = await pauses.pause(name);
  if (isFault(paused)) return paused;
  const { since, changed } = paused;
  const waiting = await waitingFor(name, world);
  if (changed) report.paused(name, waiting);
  return { success: true, paused: true, since: wallTime(since, timeline), changed, waiting };
}

/** `POST /api/destinations/:name/resume`: sends its waiting deliveries, unless it is disabled or not in the config. */
async function postResume(name: string, world: AdminWorld): Promise<Answered<typeof resumeRoute>> {
  const { clock, pauses, timeline, tryNow, report } = world;
  const refusal = await refuseUnlessPaused(name, world);
  if (refusal) return refusal;
  const resumed = await pauses.resume(name);
  if (isFault(resumed)) return resumed;
  const { since } = resumed;
  tryNow(name);
  const waiting = await waitingFor(name, world);
  const served = isEnabled(name, world);
  if (since === null) return { success: true, paused: false, since, changed: false, waiting, served };
  report.resumed(name, { paused: clock.now() - since, waiting });
  return { success: true, paused: false, since: wallTime(since, timeline), changed: true, waiting, served };
}

/** `POST /api/destinations/:name/retry`: makes all its waiting deliveries due now, whatever its webhooks have answered. */
async function postRetryDestination(name: string, world: AdminWorld): Promise<Answered<typeof retryDestinationRoute>> {
  const refusal = await refuseUnlessPaused(name, world);
  if (refusal) return refusal;
  const waiting = await waitingFor(name, world);
  const served = isServed(name, world);
  if (!served) return { success: true, waiting, served };
  const refused = await world.retry(name);
  if (refused) return refused;
  world.report.retriedNow(name, waiting);
  return { success: true, waiting, served };
}

/** `POST /api/destinations/:name/test`: accepts a test call for it alone. */
async function postTest(name: string, world: AdminWorld): Promise<Answered<typeof testRoute>> {
  const refusal = refuseRemoved(name, world);
  if (refusal) return refusal;
  if (!isEnabled(name, world)) {
    return fault("destination_disabled", `${name} is disabled: nothing is sent to it; enable it in the config first`);
  }
  const paused = world.pauses.since(name) !== null;
  const test = await world.sendTest(name);
  if (isFault(test)) return test;
  world.report.tested(name, test);
  return { success: true, ...test, paused };
}

/** A paused destination is known even if neither the config nor the outbox has it any more. */
async function refuseUnlessPaused(name: string, world: AdminWorld): Promise<Fault | null> {
  return world.pauses.since(name) === null ? refuseUnknown(name, world) : null;
}

function isEnabled(name: string, { destinations }: AdminWorld): boolean {
  return destinations().some((one) => one.name === name && one.enabled);
}

function isServed(name: string, world: AdminWorld): boolean {
  return isEnabled(name, world) && world.pauses.since(name) === null;
}

/**
 * `POST /api/destinations/:name/discard`: fails the next page of the waiting deliveries of a destination that is not served.
 * The caller sets the pace.
 */
async function postDiscard(
  name: string,
  { limit, dryRun }: Asked<typeof discardRoute>["body"],
  world: AdminWorld,
): Promise<Answered<typeof discardRoute>> {
  const refusal = await refuseServed(name, world);
  if (refusal) return refusal;
  if (dryRun) return { success: true, waiting: await waitingFor(name, world) };
  const page = await world.whileIdle(name, () => world.waiting.discard(name, limit));
  if (isFault(page)) return page;
  if (page.discarded > 0) world.report.discarded(name, page.discarded);
  return { success: true, ...page };
}

/**
 * `POST /api/destinations/:name/move`: moves the next page of the waiting deliveries of a destination that is not served to
 * another one.
 */
async function postMove(
  name: string,
  { to, limit, dryRun }: Asked<typeof moveRoute>["body"],
  world: AdminWorld,
): Promise<Answered<typeof moveRoute>> {
  const refusal = await refuseServed(name, world);
  if (refusal) return refusal;
  if (name === to) return fault("invalid_request", `to: must be a destination other than ${name}`);
  const removed = refuseRemoved(to, world);
  if (removed) return removed;
  if (isNotifyName(name) !== isNotifyName(to)) return OF_TWO_KINDS;
  if (dryRun) return { success: true, waiting: await waitingFor(name, world) };
  const by: Redirect = { from: name, to };
  const page = await world.whileIdle(name, () => world.waiting.move(by, limit));
  if (isFault(page)) return page;
  if (page.moved + page.doubled > 0) world.report.moved(by, page);
  return { success: true, ...page };
}

const OF_TWO_KINDS = fault(
  "invalid_request",
  "to: events cannot be moved to notify, nor notifications to a destination",
);

/** Faults: `unknown_destination`, and `destination_in_use` for one that is served. */
async function refuseServed(name: string, world: AdminWorld): Promise<Fault | null> {
  return isServed(name, world) ? destinationInUse(name) : refuseUnknown(name, world);
}

/** The fault `unknown_destination` for one that is neither in the config nor in the outbox; else null. */
export async function refuseUnknown(
  name: string,
  { destinations, backlog }: Pick<AdminWorld, "destinations" | "backlog">,
): Promise<Fault | null> {
  const stored = (await backlog.counts()).filter(({ count }) => count > 0);
  const known = [...destinations().map((one) => one.name), ...stored.map(({ destination }) => destination)];
  return known.includes(name) ? null : unknownName("unknown_destination", name, known);
}

/** The fault `unknown_destination` for a name that is not in the config; else null. */
export function refuseRemoved(name: string, { destinations }: Pick<AdminWorld, "destinations">): Fault | null {
  const names = destinations().map((one) => one.name);
  return names.includes(name) ? null : unknownName("unknown_destination", name, names);
}

async function waitingFor(name: string, { backlog }: Pick<AdminWorld, "backlog">): Promise<number> {
  const found = (await backlog.counts()).find(({ destination, state }) => destination === name && state === "waiting");
  return found?.count ?? 0;
}

const NOUNS = { unknown_destination: "destination", unknown_source: "source" } as const;
/** Up to this many names are listed if none is similar. */
const MOST_NAMED = 10;

/** The fault for an unknown name: with a similar one, or else with all names. */
export function unknownName(code: FaultCode & keyof typeof NOUNS, name: string, names: readonly string[]): Fault {
  const known = [...new Set(names)];
  const meant = suggest(name, known);
  const all = known.length === 0 ? "; there are none" : `; known are ${known.join(", ")}`;
  const list = known.length > MOST_NAMED ? "" : all;
  const hint = meant === null ? list : `; did you mean ${meant}?`;
  return fault(code, `there is no ${NOUNS[code]} ${JSON.stringify(name.slice(0, 100))}${hint}`);
}
