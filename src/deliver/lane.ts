/**
 * A lane is the way to one webhook, and keeps a sick receiver from slowing the others.
 *
 * open:    deliveries take slots. It begins with few, doubles them after a full round of successes, and halves them at
 *          a failure. A receiver that says Retry-After holds the lane: no slot is given until then.
 * closed:  after ten failures without a success. One probe at a time goes out, with backoff; all else waits untouched.
 *          The first success opens the lane again, with few slots, so that the receiver is met with a ramp.
 */
import type { Report } from "../model/ports.ts";
import type { RetryPolicy } from "../model/settlement.ts";
import type { At, Ms } from "../model/units.ts";
import { backoff, OFFLINE_WAITS } from "../settle/backoff.ts";
import type { Judgement } from "../settle/judge.ts";
import { createOffline, type Offline } from "./offline.ts";

const FIRST_SLOTS = 4;
const MOST_SLOTS = 256;
const FAILURES_TO_CLOSE = 10;

export type Lane = {
  hasRoom(now: At, concurrency: number): boolean;
  /** Takes a slot. It is given back through `done`. */
  take(): void;
  done(result: LaneResult, circumstances: LaneCircumstances): void;
  /** Until when no slot is given, because the receiver said so or a probe has failed. May lie in the past. */
  heldUntil(): At;
  /** How long this machine was offline, as far as this lane could tell, since `at`. */
  offlineSince(at: At, now: At): Ms;
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

export function createLane({ destination, url }: LaneName, report: Report): Lane {
  const offline: Offline = createOffline();
  let slots = FIRST_SLOTS;
  let busy = 0;
  let successes = 0;
  let failures = 0;
  let probes = 0;
  let heldUntil: At = 0;
  let openedAt: At | null = null;

  return {
    hasRoom(now, concurrency) {
      return now >= heldUntil && busy < (isClosed() ? 1 : Math.min(slots, concurrency));
    },
    take() {
      busy += 1;
    },
    done({ judgement, startedAt, reason, hold }, { now, random, policy }) {
      busy -= 1;
      if (judgement === "unknown") return;
      offline.saw(judgement === "offline", { startedAt, now });
      if (judgement === "delivered" || judgement === "final") return succeed(now);
      fail(now + (hold ?? 0));
      if (isClosed()) hush(reason, { now, wait: backoff(probes + 1, probePolicy(judgement, policy), random) });
    },
    heldUntil: () => heldUntil,
    offlineSince: offline.since,
    reopenedAt: () => openedAt,
  };

  function isClosed(): boolean {
    return failures >= FAILURES_TO_CLOSE;
  }

  function succeed(now: At): void {
    if (isClosed()) reopen(now);
    failures = 0;
    successes += 1;
    if (successes < slots) return;
    successes = 0;
    slots = Math.min(slots * 2, MOST_SLOTS);
  }

  function reopen(now: At): void {
    openedAt = now;
    slots = FIRST_SLOTS;
    heldUntil = now;
    probes = 0;
    report.laneOpened(destination, url);
  }

  function fail(holdUntil: At): void {
    failures += 1;
    successes = 0;
    slots = Math.max(1, Math.floor(slots / 2));
    heldUntil = Math.max(heldUntil, holdUntil);
  }

  /** Lets nobody through until the next probe. Told once: the probes that fail after it are no news. */
  function hush(reason: string, { now, wait }: { readonly now: At; readonly wait: Ms }): void {
    probes += 1;
    heldUntil = Math.max(heldUntil, now + wait);
    if (probes === 1) report.laneClosed(destination, url, reason, wait);
  }
}

/** A network that comes back is noticed soon: looking for it costs nobody anything. */
function probePolicy(judgement: Judgement, policy: RetryPolicy): RetryPolicy {
  return judgement === "offline" ? { ...policy, ...OFFLINE_WAITS } : policy;
}
