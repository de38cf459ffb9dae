import * as v from "valibot";
import { type Fault, isFault } from "../model/fault.ts";
import type { PauseReport, Pauses } from "../model/pause.ts";
import type { Clock } from "../model/ports.ts";
import type { Timeline } from "../model/timeline.ts";
import { type At, formatTime } from "../model/units.ts";
import { about, count, success, time } from "./answers/fields.ts";
import { answer, route, type Said } from "./route.ts";
import { type KnownWorld, refuseUnknown, waitingFor } from "./unserved.ts";

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
  const refusal = await refuse(name, world);
  if (refusal !== null) return refusal;
  const paused = await world.pauses.pause(name);
  if (isFault(paused)) return paused;
  const { since, changed } = paused;
  const waiting = await waitingFor(name, world);
  if (changed) world.report.paused(name, waiting);
  return { success: true, paused: true, since: formatTime(onWall(since, world)), changed, waiting };
}

async function resume(name: string, world: PauseWorld): Promise<Said<typeof resumeRoute> | Fault> {
  const refusal = await refuse(name, world);
  if (refusal !== null) return refusal;
  const resumed = await world.pauses.resume(name);
  if (isFault(resumed)) return resumed;
  const { since } = resumed;
  world.tryNow(name);
  const waiting = await waitingFor(name, world);
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
export async function postRetryDestination(name: string, world: PauseWorld): Promise<Response> {
  return answer(retryDestinationRoute, await retryDestination(name, world));
}

async function retryDestination(name: string, world: PauseWorld): Promise<Said<typeof retryDestinationRoute> | Fault> {
  const refusal = await refuse(name, world);
  if (refusal !== null) return refusal;
  const waiting = await waitingFor(name, world);
  const isEnabled = world.destinations().some((one) => one.name === name && one.enabled);
  const served = isEnabled && world.pauses.since(name) === null;
  if (served) {
    world.tryNow(name, true);
    world.report.retriedNow(name, waiting);
  }
  return { success: true, waiting, served };
}

/** One that is paused is known, even if the config and the outbox have lost it. */
async function refuse(name: string, world: PauseWorld): Promise<Fault | null> {
  return world.pauses.since(name) === null ? refuseUnknown(name, world) : null;
}

export function onWall(at: At, { timeline }: Pick<PauseWorld, "timeline">): At {
  return timeline.toWall(at);
}
