import type { Cancel, Clock } from "../model/ports.ts";
import type { At } from "../model/units.ts";

/**
 * Wakes one loop. A wake-up that comes while the loop runs counts for its next wait: otherwise what happens between its last
 * look and its sleep would be lost.
 */
export type Waker = {
  wake(): void;
  /** Resolves at the next wake-up, or at `until` (of `clock.now()`; null for never). */
  wait(until: At | null): Promise<void>;
  /** Wakes the loop, and answers whether it has woken since the last check: one that never does is stuck. */
  checkLiveness(): boolean;
  /** The loop has ended: cancels the timer. */
  stop(): void;
};

export function createWaker(clock: Clock): Waker {
  let isPending = false;
  let isChecked = false;
  let resume = (): void => {};
  // Most wake-ups do not change the time of the next one, so the timer stays from one wait to the next.
  let timedFor: At | null = null;
  let cancel: Cancel = () => {};

  return {
    wake,
    wait(until) {
      setTimer(until);
      return (isPending ? Promise.resolve() : new Promise<void>(sleep)).then(goOn);
    },
    checkLiveness() {
      const isAlive = !isChecked;
      isChecked = true;
      wake();
      return isAlive;
    },
    stop: () => setTimer(null),
  };

  function sleep(resolve: () => void): void {
    resume = resolve;
  }

  /** Only now is the loop awake: wake-ups until here count for this wait. */
  function goOn(): void {
    isPending = false;
    isChecked = false;
  }

  function wake(): void {
    isPending = true;
    resume();
  }

  function setTimer(until: At | null): void {
    if (until === timedFor) return;
    cancel();
    timedFor = until;
    cancel = until === null ? () => {} : clock.after(Math.max(0, until - clock.now()), timeIsUp);
  }

  function timeIsUp(): void {
    timedFor = null;
    wake();
  }
}
