/**
 * A lane is the way to one webhook, and keeps a sick receiver from slowing the others.
 *
 * open:    deliveries take slots. It begins with few, doubles them after a full round of successes, and halves them at
 *          a failure. A receiver that says Retry-After holds the lane: no slot is given until then.
 * closed:  after ten failures without a success. One probe at a time goes out, with backoff; all else waits untouched.
 *          The first success opens the lane again, with few slots, so that the receiver is met with a ramp.
 */
import type { Spell } from "../model/pause.ts";
import type { Report } from "../model/report.ts";
import type { RetryPolicy } from "../model/settlement.ts";
import type { At, Ms } from "../model/units.ts";
import { backoff, OFFLINE_WAITS } from "../settle/backoff.ts";
import type { Judgement } from "../settle/judge.ts";
import { createOffline } from "./offline.ts";

export const FIRST_SLOTS = 4;
const MOST_SLOTS = 256;
const FAILURES_TO_CLOSE = 10;
const NEVER: At = Number.NEGATIVE_INFINITY;

export type Lane = {
  /** An urgent delivery, whose last attempt is due, need not wait for the next probe of a closed lane. */
  hasRoom(ask: { readonly now: At; readonly concurrency: number; readonly urgent: boolean }): boolean;
  /** How many slots are taken. */
  busy(): number;
  /** Takes a slot. It is given back through `done`. */
  take(): void;
  done(result: LaneResult, circumstances: LaneCircumstances): void;
  /** Until when no slot is given, because the receiver said so or a probe has failed. May lie in the past. */
  shutUntil(): At;
  /** Whether what takes a slot now is a probe. */
  isClosed(): boolean;
  /** When this machine was offline, as far as this lane could tell, up to now. */
  offline(now: At): readonly Spell[];
  /** Since when the lane has been open again after it was closed, or null. */
  reopenedAt(): At | null;
};

export type LaneResult = {
  readonly judgement: Judgement;
  readonly startedAt: At;
  /** What the webhook answered, in a few words. */
  readonly reason: string;
  /** How long the receiver wants no requests at all, or null. */
  readonly hold: Ms | null;
};

export type LaneCircumstances = { readonly now: At; readonly random: number; readonly policy: RetryPolicy };

export type LaneName = { readonly destination: string; readonly url: string };

export function createLane(name: LaneName, report: Report): Lane {
  const offline = createOffline();
  const lane: State = {
    ...{ slots: FIRST_SLOTS, busy: 0, successes: 0, failures: 0, probes: 0 },
    ...{ heldUntil: 0, probeAt: 0, closedAt: NEVER, reopenedAt: null },
  };
  return {
    hasRoom({ now, concurrency, urgent }) {
      if (now < lane.heldUntil || (now < lane.probeAt && !urgent)) return false;
      return lane.busy < (isClosed(lane) ? 1 : Math.min(lane.slots, concurrency));
    },
    busy: () => lane.busy,
    take() {
      lane.busy += 1;
    },
    done({ judgement, startedAt, reason, hold }, { now, random, policy }) {
      lane.busy -= 1;
      if (judgement === "unknown") return;
      offline.saw(judgement === "offline", { startedAt, now });
      if (judgement === "delivered" || judgement === "final") {
        if (succeed(lane, now)) report.laneOpened(name.destination, name.url);
        return;
      }
      fail(lane, now + (hold ?? 0));
      // What was under way when the lane was closed is no probe, and says nothing new.
      if (!isClosed(lane) || startedAt <= lane.closedAt) return;
      const wait = backoff(lane.probes + 1, probePolicy(judgement, policy), random);
      if (hush(lane, { now, wait })) report.laneClosed(name.destination, name.url, reason, wait);
    },
    shutUntil: () => Math.max(lane.heldUntil, lane.probeAt),
    isClosed: () => isClosed(lane),
    offline: offline.spells,
    reopenedAt: () => lane.reopenedAt,
  };
}

type State = {
  slots: number;
  busy: number;
  /** Since the number of slots was last changed. */
  successes: number;
  /** Since the last success. */
  failures: number;
  /** Since the lane was closed. */
  probes: number;
  /** The receiver asked for silence until then. */
  heldUntil: At;
  /** The lane is closed, and the next probe goes out then. */
  probeAt: At;
  /** When the lane was closed. */
  closedAt: At;
  reopenedAt: At | null;
};

function isClosed({ failures }: State): boolean {
  return failures >= FAILURES_TO_CLOSE;
}

/** Answers whether this has opened the lane again. */
function succeed(lane: State, now: At): boolean {
  const reopens = isClosed(lane);
  if (reopens)
    Object.assign(lane, { slots: FIRST_SLOTS, heldUntil: 0, probeAt: 0, closedAt: NEVER, probes: 0, reopenedAt: now });
  lane.failures = 0;
  lane.successes += 1;
  if (lane.successes < lane.slots) return reopens;
  lane.successes = 0;
  lane.slots = Math.min(lane.slots * 2, MOST_SLOTS);
  return reopens;
}

function fail(lane: State, holdUntil: At): void {
  lane.failures += 1;
  lane.successes = 0;
  lane.slots = Math.max(1, Math.floor(lane.slots / 2));
  lane.heldUntil = Math.max(lane.heldUntil, holdUntil);
}

/** Lets nobody through until the next probe. Answers whether this has just closed the lane: later probes are no news. */
function hush(lane: State, { now, wait }: { readonly now: At; readonly wait: Ms }): boolean {
  lane.probes += 1;
  lane.probeAt = now + wait;
  if (lane.probes === 1) lane.closedAt = now;
  return lane.probes === 1;
}

/** A network that comes back is noticed soon: looking for it costs nobody anything. */
function probePolicy(judgement: Judgement, policy: RetryPolicy): RetryPolicy {
  return judgement === "offline" ? { ...policy, ...OFFLINE_WAITS } : policy;
}
