import type { Destination } from "../model/config.ts";
import { withoutQuery } from "../model/config.ts";
import type { Observer } from "../model/observer.ts";
import type { Clock } from "../model/ports.ts";
import { createRate, type Rate } from "../model/rate.ts";
import type { Activity, AttemptError, DestinationHealth, Health, LaneStatus, WebhookHealth } from "../model/status.ts";
import { type At, MINUTE, type Ms } from "../model/units.ts";
import { isSuccess } from "../settle/settle.ts";
import type { Lanes } from "./lanes.ts";

/** A webhook that took something within this time works, whatever it has refused since. */
const LATELY: Ms = MINUTE;

/** The state of each destination, by its lanes. */
export function createHealth(lanes: Pick<Lanes, "status" | "heldSince">, clock: Pick<Clock, "now">): Health {
  return {
    of(destination) {
      const now = clock.now();
      const health = healthOf(destination, lanes.status(destination), now);
      return { ...health, heldSince: lanes.heldSince(destination, now) };
    },
  };
}

function healthOf(
  { webhooks }: Destination,
  statuses: readonly LaneStatus[],
  now: At,
): Omit<DestinationHealth, "heldSince"> {
  const all = webhooks.flatMap(({ url }, nth) => {
    const status = statuses[nth];
    return status ? [describe(withoutQuery(url), status, now)] : [];
  });
  const bad = all.filter(isBad);
  const isFailing = bad.length > 0 && bad.length === all.length;
  return {
    state: stateOf(all, bad),
    failingSince: isFailing ? Math.max(...bad.map(({ failingSince }) => failingSince ?? now)) : null,
    lastError: lastErrorOf(bad),
    webhooks: all,
  };
}

function isBad({ state }: WebhookHealth): boolean {
  return state !== "untried" && state !== "working";
}

function stateOf(all: readonly WebhookHealth[], bad: readonly WebhookHealth[]): DestinationHealth["state"] {
  if (bad.length === 0) return all.some(({ state }) => state === "working") ? "working" : "untried";
  if (bad.length < all.length) return "degraded";
  return bad.every(({ state }) => state === "offline") ? "offline" : "failing";
}

function lastErrorOf(bad: readonly WebhookHealth[]): AttemptError | null {
  const errors = bad.flatMap(({ url, lastFailure }) => (lastFailure === null ? [] : [{ url, ...lastFailure }]));
  return errors.reduce<AttemptError | null>((last, one) => (last === null || one.at > last.at ? one : last), null);
}

function describe(url: string, lane: LaneStatus, now: At): WebhookHealth {
  const state = webhookState(lane, now);
  const nextTryAt = lane.shutUntil > now ? lane.shutUntil : null;
  if (state === "untried" || state === "working")
    return { url, state, failingSince: null, lastFailure: null, nextTryAt };
  const { failingSince, lastFailure } = lane;
  return {
    url,
    state,
    failingSince,
    lastFailure: lastFailure && { at: lastFailure.at, reason: lastFailure.reason },
    nextTryAt,
  };
}

function webhookState(lane: LaneStatus, now: At): WebhookHealth["state"] {
  const { state, failures, lastSuccessAt, lastFailure } = lane;
  if (failures === 0) return lastSuccessAt === null ? "untried" : "working";
  if (state === "open" && lastSuccessAt !== null && now - lastSuccessAt < LATELY) return "working";
  if (lastFailure?.offline) return "offline";
  if (state === "closed") return "down";
  return state === "slowed" ? "slowed" : "failing";
}

/** Counts recent successes for the operator, in memory. */
export function createActivity(clock: Pick<Clock, "now">): Activity & Pick<Observer, "attempted"> {
  const rates = new Map<string, Rate>();
  return {
    attempted({ destination }, outcome) {
      if (!isSuccess(outcome)) return;
      const rate = rates.get(destination) ?? createRate();
      rates.set(destination, rate);
      rate.add(1, outcome.startedAt + outcome.duration);
    },
    of: (destination) => rates.get(destination)?.perSecond(clock.now()) ?? 0,
  };
}
