import type { Debug } from "./debug.ts";
import type { Cancel } from "./world.ts";

/** Says when to flush (SPEC.md 4.3 rule 2). */
export type Pacer = {
  /** A call has come. */
  queued(text: string): void;
  /** All that has come is sent now, for whatever reason. */
  flush(): void;
  stop(): void;
};

type Pace = {
  readonly flushAt: number;
  readonly flushAfterMs: number;
  after(ms: number, run: () => void): Cancel;
  readonly send: () => void;
  readonly debug: Debug;
};

/**
 * Counts the calls since the last flush, and runs a timer from it. Idle, there is no timer: it ends with the first
 * interval in which nothing comes, and begins again with the next call.
 */
export function createPacer({ flushAt, flushAfterMs, after, send, debug }: Pace): Pacer {
  let buffered = 0;
  let cancel: Cancel | null = null;

  return { queued, flush, stop };

  function queued(text: string): void {
    buffered += 1;
    debug(() => `buffer (${buffered}/${flushAt}) ${text}`);
    if (buffered < flushAt) {
      start();
      return;
    }
    debug(() => `exceeded ${flushAt} messages – flushing`);
    flush();
  }

  function flush(): void {
    buffered = 0;
    stop();
    start();
    send();
  }

  function start(): void {
    cancel ??= after(flushAfterMs, pass);
  }

  function stop(): void {
    cancel?.();
    cancel = null;
  }

  function pass(): void {
    cancel = null;
    const waiting = buffered;
    debug(() => (waiting === 0 ? "interval reached – nothing to send" : `interval reached - flushing ${waiting}`));
    if (waiting > 0) flush();
  }
}
