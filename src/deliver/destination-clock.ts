import type { DestinationClock, StoredClock } from "../model/destination-clock.ts";
import type { At } from "../model/units.ts";

/** Why a destination's clock stands still: since when it is so. */
export type Reason = "pausedAt" | "unservedAt" | "offlineAt";

/** The clock of one destination, in memory. */
export type LiveClock = DestinationClock & {
  /** As it is to be stored. */
  stored(): StoredClock;
  /** This reason holds since then. Answers whether that is new. */
  stop(reason: Reason, at: At): boolean;
  /** This reason has ended. Answers whether that is new. */
  start(reason: Reason, at: At): boolean;
  /** Begins again from nothing, as no delivery needs it; a pause stays. Answers whether there was something to forget. */
  forget(): boolean;
};

export function createDestinationClock(first: StoredClock): LiveClock {
  let clock = first;
  /**
   * The last time that it stood still and that is over, for attempts that began before its end. An attempt takes seconds, so
   * that the one before it hardly ever matters.
   */
  let last: { readonly from: At; readonly until: At } | null = null;

  return {
    stored: () => clock,
    standsStill: () => clock.stoppedAt !== null,
    stoodStill(at) {
      const { stoppedAt, stoodStill } = clock;
      const sinceStop = stoppedAt === null ? 0 : Math.max(0, at - stoppedAt);
      const notYet = last === null ? 0 : Math.max(0, last.until - Math.max(last.from, at));
      return stoodStill + sinceStop - notYet;
    },
    stop(reason, at) {
      if (clock[reason] !== null) return false;
      // What lies before the end of the last time is counted already.
      clock = { ...stopped(clock, reason, Math.max(at, last?.until ?? at)), [reason]: at };
      return true;
    },
    start(reason, at) {
      if (clock[reason] === null) return false;
      const { stoppedAt } = clock;
      clock = started(clock, reason, at);
      if (stoppedAt !== null && clock.stoppedAt === null) last = { from: stoppedAt, until: Math.max(at, stoppedAt) };
      return true;
    },
    forget() {
      const { destination, pausedAt, unservedAt, offlineAt, stoodStill } = clock;
      if (unservedAt === null && offlineAt === null && stoodStill === 0) return false;
      clock = { ...neverStopped(destination), pausedAt, stoppedAt: pausedAt };
      last = null;
      return true;
    },
  };
}

export function neverStopped(destination: string): StoredClock {
  return { destination, pausedAt: null, unservedAt: null, offlineAt: null, stoppedAt: null, stoodStill: 0 };
}

export function stopped(clock: StoredClock, reason: Reason, at: At): StoredClock {
  return { ...clock, [reason]: at, stoppedAt: Math.min(at, clock.stoppedAt ?? at) };
}

/** It runs again once no other reason is left. */
export function started(clock: StoredClock, reason: Reason, at: At): StoredClock {
  const { stoppedAt, ...others } = { ...clock, [reason]: null };
  const { pausedAt, unservedAt, offlineAt, stoodStill } = others;
  if (stoppedAt === null || pausedAt !== null || unservedAt !== null || offlineAt !== null) {
    return { ...others, stoppedAt };
  }
  return { ...others, stoppedAt: null, stoodStill: stoodStill + Math.max(0, at - stoppedAt) };
}
