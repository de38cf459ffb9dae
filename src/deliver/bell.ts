import type { Clock } from "../model/ports.ts";
import type { At } from "../model/units.ts";

/** Wakes one waiter. A ring while nobody waits is kept for the next one: no wake-up is lost between look and sleep. */
export type Bell = {
  ring(): void;
  /** Resolves at the next ring, at `until` (of `clock.now()`; null for never), or when the signal is aborted. */
  rung(until: At | null, signal: AbortSignal): Promise<void>;
};

export function createBell(clock: Clock): Bell {
  let pending = false;
  let wake: (() => void) | null = null;
  return {
    ring() {
      pending = true;
      wake?.();
    },
    async rung(until, signal) {
      if (!pending && !signal.aborted) await waitFor(until, signal);
      pending = false;
    },
  };

  function waitFor(until: At | null, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = until === null ? () => {} : clock.after(Math.max(0, until - clock.now()), finish);
      signal.addEventListener("abort", finish);
      wake = finish;
      function finish(): void {
        cancel();
        signal.removeEventListener("abort", finish);
        wake = null;
        resolve();
      }
    });
  }
}
