/**
 * A lane is the way to one webhook, and keeps a sick receiver from slowing the others.
 *
 * open:    deliveries take slots. It begins with few and doubles them after a full round of successes. A round without
 *          any success halves them, and so does each answer that says the receiver is overloaded, or no answer at all.
 * slowed:  the receiver answers, but has refused everything for longer than it is trusted. Requests go out one at a
 *          time, a few a second, so that events that it would take still reach it. The first success opens the lane.
 *          Trust begins at ten refusals in a row and doubles with each success, up to a thousand.
 * closed:  ten attempts in a row got no answer. Single probes go out, with backoff. Any answer ends this: a success
 *          opens the lane, a refusal leaves it slowed.
 *
 * In every state, Retry-After holds the lane: no slot is given until then. By command, `tryNow` ends these waits.
 */
import type { Report } from "../model/report.ts";
import type { RetryPolicy } from "../model/settlement.ts";
import type { LaneStatus } from "../model/status.ts";
import { type At, MINUTE, type Ms, SECOND } from "../model/units.ts";
import { backoff, OFFLINE_WAITS } from "../settle/backoff.ts";
import type { Sign } from "../settle/judge.ts";

export const FIRST_SLOTS = 4;
const MOST_SLOTS = 256;
/** A round has at least so many results, because fewer say little about a receiver that takes some events. */
const SHORTEST_ROUND = 16;
/** After so many failures in a row, the deliveries that were tried may be the trouble, and others get more turns. */
const SUSPICIOUS = 4;
const SILENCES_TO_CLOSE = 10;
const LEAST_TRUST = 10;
const MOST_TRUST = 1_000;
/** Between two requests of a slowed lane, and after a 429. */
const PACE: Ms = SECOND / 4;
/** A receiver that took nothing for so long was out of order. For a shorter time, the events may have been the trouble. */
const SHORTEST_OUTAGE: Ms = 5 * MINUTE;

export type Lane = {
  hasRoom(ask: LaneAsk): boolean;
  /** How many slots are taken. */
  busy(): number;
  /** Takes a slot for a delivery that was tried before, or was not. It is given back through `done`. */
  takeSlot(ask: Pick<LaneAsk, "tried" | "now">): void;
  done(result: LaneResult, circumstances: LaneCircumstances): void;
  /** Until when no slot is given. May lie in the past. */
  shutUntil(): At;
  /** Whether what takes a slot now is a probe. */
  isClosed(): boolean;
  /** Whether it gives slots now or in a moment: it is neither closed, nor has its receiver asked for silence. */
  isAlive(now: At): boolean;
  /** Whether the last few attempts have all failed. */
  isSuspect(): boolean;
  /** The last outage of the receiver that is over, or null. */
  outage(): Outage | null;
  /** Ends the wait for the next probe; with `all`, also the silence that the receiver has asked for. */
  tryNow(all: boolean): void;
  status(): LaneStatus;
};

export type LaneAsk = {
  readonly now: At;
  /** Most slots of the lane. */
  readonly concurrency: number;
  /** Whether it is for a last attempt, which need not wait for the next probe. */
  readonly urgent: boolean;
  /** Whether it is for a delivery that was tried before. */
  readonly tried: boolean;
  /** Whether another one waits that was never tried. */
  readonly untriedWaits: boolean;
};

export type LaneResult = {
  readonly sign: Sign;
  readonly startedAt: At;
  /** Whether the delivery had been tried before. */
  readonly tried: boolean;
  /** What the webhook answered, in a few words. */
  readonly reason: string;
  /** How long the receiver wants no requests at all, or null. */
  readonly hold: Ms | null;
};

export type LaneCircumstances = { readonly now: At; readonly random: number; readonly policy: RetryPolicy };

/** A time in which a receiver took nothing. */
export type Outage = { readonly from: At; readonly until: At };

export type LaneName = { readonly destination: string; readonly url: string };

export function createLane(name: LaneName, report: Report): Lane {
  const lane: State = {
    ...{ slots: FIRST_SLOTS, busy: 0, busyTried: 0, round: { results: 0, successes: 0 }, trust: LEAST_TRUST },
    ...{ failures: 0, silences: 0, probes: 0, probedTried: false, heldUntil: 0, nextAt: 0 },
    ...{ closedAt: null, failingSince: null, outage: null, lastSuccessAt: null, lastFailure: null },
  };
  return {
    hasRoom: (ask) => hasRoom(lane, ask),
    busy: () => lane.busy,
    takeSlot({ tried, now }) {
      if (stateOf(lane) === "slowed") lane.nextAt = Math.max(lane.nextAt, now + PACE);
      lane.busy += 1;
      if (tried) lane.busyTried += 1;
      lane.probedTried = tried;
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
    isSuspect: () => lane.failures >= SUSPICIOUS,
    outage: () => lane.outage,
    tryNow(all) {
      lane.nextAt = 0;
      if (all) lane.heldUntil = 0;
    },
    status: () => describe(lane),
  };
}

type State = {
  slots: number;
  busy: number;
  /** Of them, for deliveries that were tried before. */
  busyTried: number;
  /** Since the number of slots was last changed. */
  round: { results: number; successes: number };
  /** How many refusals in a row it takes to slow the lane. */
  trust: number;
  /** Since the last success. */
  failures: number;
  /** Attempts in a row that got no answer. */
  silences: number;
  /** Since the lane was closed. */
  probes: number;
  /** Whether the last attempt that began was for a delivery tried before. */
  probedTried: boolean;
  /** The receiver asked for silence until then. */
  heldUntil: At;
  /** The next probe of a closed lane, or the next request of a slowed one, goes out then. */
  nextAt: At;
  closedAt: At | null;
  /** When the first of the failures since the last success began. */
  failingSince: At | null;
  outage: Outage | null;
  lastSuccessAt: At | null;
  lastFailure: LaneStatus["lastFailure"];
};

type LaneState = "open" | "slowed" | "closed";

function stateOf({ failures, silences, trust }: State): LaneState {
  if (silences >= SILENCES_TO_CLOSE) return "closed";
  return failures >= trust ? "slowed" : "open";
}

function hasRoom(lane: State, { now, concurrency, urgent, tried, untriedWaits }: LaneAsk): boolean {
  if (now < lane.heldUntil || (now < lane.nextAt && !urgent)) return false;
  const state = stateOf(lane);
  if (state === "closed") {
    // A single bad event must not keep the lane closed: after one that has failed before, another is asked about.
    if (tried && untriedWaits && lane.probedTried && !urgent) return false;
    return lane.busy === 0;
  }
  const most = state === "slowed" ? 1 : Math.min(lane.slots, concurrency);
  if (tried) return lane.busy < most;
  // Retries that hang must not keep new events out: there is always one slot more than they have.
  return lane.busy < Math.min(concurrency, Math.max(most, lane.busyTried + 1));
}

function succeed(lane: State, now: At): void {
  if (stateOf(lane) !== "open") {
    const from = lane.failingSince ?? now;
    if (stateOf(lane) === "closed" || now - from >= SHORTEST_OUTAGE) lane.outage = { from, until: now };
    Object.assign(lane, { slots: FIRST_SLOTS, heldUntil: 0, nextAt: 0, round: { results: 0, successes: 0 } });
  }
  Object.assign(lane, { failures: 0, silences: 0, probes: 0, closedAt: null, failingSince: null, lastSuccessAt: now });
  lane.trust = Math.min(lane.trust * 2, MOST_TRUST);
  lane.round.successes += 1;
  countResult(lane);
}

function fail(lane: State, result: LaneResult, { now, random, policy }: LaneCircumstances): void {
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
    // The probe that the lane waited for is answered.
    if (wasClosed) lane.nextAt = 0;
    if (state === "slowed" || sign === "crowded") lane.nextAt = now + PACE;
    return;
  }
  // An attempt that began before the lane was closed is no probe, and says nothing new.
  if (lane.closedAt !== null && startedAt <= lane.closedAt) return;
  lane.closedAt ??= now;
  lane.trust = LEAST_TRUST;
  lane.probes += 1;
  // Looking for a network that is back costs nobody anything, so the waits are short.
  const waits = sign === "offline" ? { ...policy, ...OFFLINE_WAITS } : policy;
  lane.nextAt = now + backoff(lane.probes, waits, random);
}

/** Changes the number of slots when a round is over: as many successes as there are slots, or enough results. */
function countResult(lane: State): void {
  const { round, slots } = lane;
  round.results += 1;
  const isOver = round.successes >= slots || round.results >= Math.max(slots, SHORTEST_ROUND);
  // A receiver that takes some events is not overloaded: it refuses the others because of what is in them.
  if (isOver) setSlots(lane, round.successes > 0 ? slots * 2 : slots / 2);
}

function setSlots(lane: State, slots: number): void {
  lane.slots = Math.min(Math.max(1, Math.floor(slots)), MOST_SLOTS);
  lane.round = { results: 0, successes: 0 };
}

type Change = { readonly before: LaneState; readonly after: LaneState };
type About = {
  readonly name: LaneName;
  readonly report: Report;
  readonly lane: State;
  readonly result: LaneResult;
  readonly now: At;
};

function logChange({ before, after }: Change, { name, report, lane, result, now }: About): void {
  if (before === after) return;
  const { destination, url } = name;
  if (after === "closed") report.laneClosed(destination, url, result.reason, lane.nextAt - now);
  else if (after === "slowed") report.laneSlowed(destination, url, result.reason);
  else report.laneOpened(destination, url);
}

function describe(lane: State): LaneStatus {
  const { failures, failingSince, lastSuccessAt, lastFailure, heldUntil, nextAt } = lane;
  const shutUntil = Math.max(heldUntil, nextAt);
  return { state: stateOf(lane), failures, failingSince, lastSuccessAt, lastFailure, shutUntil };
}
