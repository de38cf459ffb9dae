/**
 * A lane limits what is sent to one webhook at a time, so that a sick receiver does not slow the others.
 *
 * open:    deliveries take slots. The lane begins with few, and doubles them after a full round of successes. A round
 *          without any success halves them. So does each attempt without an answer, or with one that reports overload.
 * slowed:  the receiver answers, but its refusals in a row have used up its trust. Requests go out one at a time, a few a
 *          second: events that it would accept still reach it. The first success opens the lane. Trust begins at ten
 *          refusals and doubles with each success, up to a thousand.
 * closed:  ten attempts in a row got no answer. Single probes go out, with backoff. Any answer ends this: a success
 *          opens the lane, a refusal leaves it slowed.
 *
 * In every state, Retry-After holds the lane: it gives no slot until then. Of daemons that share a store, all are held. The
 * command `fairlead retry` ends these waits.
 */

import type { Delivery, RetryPolicy } from "../model/delivery.ts";
import type { Report } from "../model/report.ts";
import type { LaneStatus } from "../model/status.ts";
import { type At, MINUTE, type Ms, SECOND } from "../model/units.ts";
import { backoff, OFFLINE_WAITS } from "../settle/backoff.ts";
import type { Sign } from "../settle/judge.ts";

export const FIRST_SLOTS = 4;
const MOST_SLOTS = 256;
/** The fewest results of a round without enough successes: fewer say little about a receiver that accepts some events. */
const SHORTEST_ROUND = 16;
/** After so many failures in a row, the retries may be the cause, and new deliveries get more turns. */
const FAILURES_TO_SUSPECT = 4;
const SILENCES_TO_CLOSE = 10;
const LEAST_TRUST = 10;
const MOST_TRUST = 1_000;
/** The pause between two requests of a slowed lane, and after a 429. */
const PACE: Ms = SECOND / 4;
/** A receiver that accepted nothing for so long was out of order. If it was shorter, the events may have been the cause. */
const SHORTEST_OUTAGE: Ms = 5 * MINUTE;

export type Lane = {
  hasRoom(ask: LaneAsk): boolean;
  /** How many slots are taken. */
  busy(): number;
  /** Takes a slot. It is given back through `done`. */
  takeSlot(ask: Pick<LaneAsk, "tried" | "now">): void;
  done(result: LaneResult, circumstances: LaneCircumstances): void;
  /** The lane gives no slot until then. May lie in the past. */
  shutUntil(): At;
  /** Whether it is closed: an attempt that takes a slot now is a probe. */
  isClosed(): boolean;
  /** Whether it gives slots now or in a moment: it is neither closed, nor has its receiver asked for silence. */
  isAlive(now: At): boolean;
  /** Whether the last few attempts have all failed. */
  isSuspect(): boolean;
  /** The last outage of the receiver that is over, or null. */
  outage(): Outage | null;
  /** Gives no slot until then, as the receiver has asked another daemon for silence. */
  hold(until: At): void;
  /** Ends the wait for the next probe; with `all`, also the silence that the receiver has asked for. */
  tryNow(all: boolean): void;
  status(): LaneStatus;
};

export type LaneAsk = {
  readonly now: At;
  /** Most slots of the lane. */
  readonly concurrency: number;
  /** Whether the slot is for a last attempt, which need not wait for the next probe. */
  readonly urgent: boolean;
  /** Whether the slot is for a retry. */
  readonly tried: boolean;
  /** Whether a delivery waits that was never tried. */
  readonly untriedWaits: boolean;
};

export type LaneResult = {
  readonly sign: Sign;
  readonly startedAt: At;
  /** Whether it was a retry, as the slot was asked for. */
  readonly tried: boolean;
  /** What the webhook answered, in a few words. */
  readonly reason: string;
  /** How long the receiver wants no requests at all, or null. */
  readonly hold: Ms | null;
};

export type LaneCircumstances = { readonly now: At; readonly random: number; readonly policy: RetryPolicy };

/** A time in which a receiver accepted nothing. */
export type Outage = { readonly from: At; readonly until: At };

/** A delivery that failed while the receiver accepted others, before the outage or since, may be the cause itself. */
export function mustWait({ attemptedAt, firstAttemptAt }: Delivery, { from, until }: Outage): boolean {
  return (attemptedAt ?? 0) >= until || (firstAttemptAt ?? from) < from;
}

export type LaneName = { readonly destination: string; readonly url: string };

export function createLane(name: LaneName, report: Report): Lane {
  const lane: LaneInternals = {
    slots: FIRST_SLOTS,
    busy: 0,
    busyTried: 0,
    round: { results: 0, successes: 0 },
    trust: LEAST_TRUST,
    failures: 0,
    silences: 0,
    probes: 0,
    lastWasTried: false,
    heldUntil: 0,
    nextAt: 0,
    closedAt: null,
    failingSince: null,
    outage: null,
    lastSuccessAt: null,
    lastFailure: null,
  };
  return {
    hasRoom: (ask) => hasRoom(lane, ask),
    busy: () => lane.busy,
    takeSlot({ tried, now }) {
      if (stateOf(lane) === "slowed") lane.nextAt = Math.max(lane.nextAt, now + PACE);
      lane.busy += 1;
      if (tried) lane.busyTried += 1;
      lane.lastWasTried = tried;
    },
    done(result, circumstances) {
      lane.busy -= 1;
      if (result.tried) lane.busyTried -= 1;
      if (result.sign === "unknown") return;
      const before = stateOf(lane);
      if (result.sign === "taken") succeed(lane, circumstances.now);
      else fail(lane, result, circumstances);
      logChange({ before, after: stateOf(lane) }, { name, report, lane, result, now: circumstances.now });
    },
    shutUntil: () => Math.max(lane.heldUntil, lane.nextAt),
    isClosed: () => stateOf(lane) === "closed",
    isAlive: (now) => stateOf(lane) !== "closed" && lane.heldUntil <= now,
    isSuspect: () => lane.failures >= FAILURES_TO_SUSPECT,
    outage: () => lane.outage,
    tryNow(all) {
      lane.nextAt = 0;
      if (all) lane.heldUntil = 0;
    },
    hold(until) {
      lane.heldUntil = Math.max(lane.heldUntil, until);
    },
    status: () => describe(lane),
  };
}

type LaneInternals = {
  slots: number;
  /** How many slots are taken. */
  busy: number;
  /** How many of them by retries. */
  busyTried: number;
  /** Results since the number of slots was last set. */
  round: { results: number; successes: number };
  /** How many refusals in a row it takes to slow the lane. */
  trust: number;
  /** Failed attempts since the last success. */
  failures: number;
  /** Attempts in a row that got no answer. */
  silences: number;
  /** Failed probes since the lane was closed. */
  probes: number;
  /** Whether the last slot was taken by a retry. */
  lastWasTried: boolean;
  /** The receiver asked, by Retry-After, for no requests until then. */
  heldUntil: At;
  /** The next probe of a closed lane, or the next request of a slowed one, goes out then. */
  nextAt: At;
  /** When the lane was closed; null while it is not. */
  closedAt: At | null;
  /** When the first of the failures since the last success began. */
  failingSince: At | null;
  outage: Outage | null;
  lastSuccessAt: At | null;
  lastFailure: LaneStatus["lastFailure"];
};

type LaneState = "open" | "slowed" | "closed";

function stateOf({ failures, silences, trust }: LaneInternals): LaneState {
  if (silences >= SILENCES_TO_CLOSE) return "closed";
  return failures >= trust ? "slowed" : "open";
}

function hasRoom(lane: LaneInternals, { now, concurrency, urgent, tried, untriedWaits }: LaneAsk): boolean {
  if (now < lane.heldUntil || (now < lane.nextAt && !urgent)) return false;
  const state = stateOf(lane);
  if (state === "closed") {
    // A single bad event must not keep the lane closed: the probe after a retry is a delivery that was never tried.
    if (tried && untriedWaits && lane.lastWasTried && !urgent) return false;
    return lane.busy === 0;
  }
  const most = state === "slowed" ? 1 : Math.min(lane.slots, concurrency);
  if (tried) return lane.busy < most;
  // Retries that hang must not keep new events out: new events can always take one slot more than retries hold.
  return lane.busy < Math.min(concurrency, Math.max(most, lane.busyTried + 1));
}

function succeed(lane: LaneInternals, now: At): void {
  if (stateOf(lane) !== "open") {
    const from = lane.failingSince ?? now;
    if (stateOf(lane) === "closed" || now - from >= SHORTEST_OUTAGE) lane.outage = { from, until: now };
    Object.assign(lane, { slots: FIRST_SLOTS, heldUntil: 0, nextAt: 0, round: { results: 0, successes: 0 } });
  }
  lane.failures = 0;
  lane.silences = 0;
  lane.probes = 0;
  lane.closedAt = null;
  lane.failingSince = null;
  lane.lastSuccessAt = now;
  lane.trust = Math.min(lane.trust * 2, MOST_TRUST);
  lane.round.successes += 1;
  countResult(lane);
}

function fail(lane: LaneInternals, result: LaneResult, { now, random, policy }: LaneCircumstances): void {
  const { sign, startedAt, reason, hold } = result;
  const isSilent = sign === "silent" || sign === "offline";
  const wasClosed = stateOf(lane) === "closed";
  lane.failures += 1;
  lane.silences = isSilent ? lane.silences + 1 : 0;
  lane.failingSince = Math.min(lane.failingSince ?? startedAt, startedAt);
  lane.lastFailure = { at: now, reason, offline: sign === "offline" };
  lane.heldUntil = Math.max(lane.heldUntil, now + (hold ?? 0));
  if (sign === "refused") countResult(lane);
  else setSlots(lane, lane.slots / 2);
  const state = stateOf(lane);
  if (state !== "closed") {
    Object.assign(lane, { closedAt: null, probes: 0 });
    // The receiver answers again, so the wait for the next probe is over.
    if (wasClosed) lane.nextAt = 0;
    if (state === "slowed" || sign === "crowded") lane.nextAt = now + PACE;
    return;
  }
  // An attempt that began before the lane was closed is not a probe, and says nothing new.
  if (lane.closedAt !== null && startedAt <= lane.closedAt) return;
  lane.closedAt ??= now;
  lane.trust = LEAST_TRUST;
  lane.probes += 1;
  // A probe without a network costs no receiver anything, so the waits are short.
  const waits = sign === "offline" ? { ...policy, ...OFFLINE_WAITS } : policy;
  lane.nextAt = now + backoff(lane.probes, waits, random);
}

/** Changes the number of slots when a round is over: after as many successes as there are slots, or enough results. */
function countResult(lane: LaneInternals): void {
  const { round, slots } = lane;
  round.results += 1;
  const isOver = round.successes >= slots || round.results >= Math.max(slots, SHORTEST_ROUND);
  // A receiver that accepts some events is not overloaded: it refuses the others for their content.
  if (isOver) setSlots(lane, round.successes > 0 ? slots * 2 : slots / 2);
}

function setSlots(lane: LaneInternals, slots: number): void {
  lane.slots = Math.min(Math.max(1, Math.floor(slots)), MOST_SLOTS);
  lane.round = { results: 0, successes: 0 };
}

type StateChange = { readonly before: LaneState; readonly after: LaneState };
type ChangeLog = {
  readonly name: LaneName;
  readonly report: Report;
  readonly lane: LaneInternals;
  readonly result: LaneResult;
  readonly now: At;
};

function logChange({ before, after }: StateChange, { name, report, lane, result, now }: ChangeLog): void {
  if (before === after) return;
  const { destination, url } = name;
  if (after === "closed") report.laneClosed(destination, url, result.reason, lane.nextAt - now);
  else if (after === "slowed") report.laneSlowed(destination, url, result.reason);
  else report.laneOpened(destination, url);
}

function describe(lane: LaneInternals): LaneStatus {
  const { failures, failingSince, lastSuccessAt, lastFailure, heldUntil, nextAt } = lane;
  const shutUntil = Math.max(heldUntil, nextAt);
  return { state: stateOf(lane), failures, failingSince, lastSuccessAt, lastFailure, shutUntil };
}
