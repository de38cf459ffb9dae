import type { Cancel, Clock } from "../model/ports.ts";
import type { At } from "../model/units.ts";

/** Wakes one waiter. A ring while nobody waits counts for the next wait, so that no wake-up is lost between look and sleep. */
export type Bell = {
  ring(): void;
  /** Resolves at the next ring, or at `until` (of `clock.now()`; null for never). */
  rung(until: At | null): Promise<void>;
  /** Rings, and answers whether the waiter has woken since the last check: one that never does is stuck. */
  checkLiveness(): boolean;
  /** Nobody will wait any more. */
  silence(): void;
};

export function createBell(clock: Clock): Bell {
  let pending = false;
  let isChecked = false;
  let wake = (): void => {};
  // Rings are frequent and mostly leave the time as it was: the timer stays from one wait to the next.
  let timedFor: At | null = null;
  let cancel: Cancel = () => {};

  function ring(): void {
    pending = true;
    wake();
  }

  function setTimer(until: At | null): void {
    if (until === timedFor) return;
    cancel();
    timedFor = until;
    cancel = until === null ? () => {} : clock.after(Math.max(0, until - clock.now()), timeIsUp);
  }

  function timeIsUp(): void {
    timedFor = null;
    ring();
  }

  return {
    ring,
    checkLiveness() {
      const isAlive = !isChecked;
      isChecked = true;
      ring();
      return isAlive;
    },
    silence: () => setTimer(null),
    async rung(until) {
      setTimer(until);
      if (!pending)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      pending = false;
      isChecked = false;
    },
  };
}
