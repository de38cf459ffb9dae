import type { Cancel, Clock } from "../model/ports.ts";
import type { At, Ms } from "../model/units.ts";

/** The time limit of one attempt. */
export type Limit = {
  /** Aborted when the time is up, or when the daemon has to stop at once. */
  readonly signal: AbortSignal;
  /** The attempt is over. */
  end(): void;
};

/** The time limits of attempts: those of one length share a timer, since most attempts are over long before. */
export type Limits = {
  start(length: Ms): Limit;
  /** Ends all attempts at once, those to come included. */
  release(): void;
  released(): boolean;
  /** Aborted by a release. */
  readonly signal: AbortSignal;
};

type Running = { readonly controller: AbortController; readonly endsAt: At };

export function createLimits(clock: Clock): Limits {
  const queues = new Map<Ms, Queue>();
  const releasing = new AbortController();

  return {
    start(length) {
      if (releasing.signal.aborted) return { signal: releasing.signal, end() {} };
      const controller = new AbortController();
      const queue = queueOf(length);
      const running = { controller, endsAt: clock.now() + length };
      queue.add(running);
      return { signal: controller.signal, end: () => queue.remove(running) };
    },
    release() {
      releasing.abort();
      for (const queue of queues.values()) queue.abortAll();
    },
    released: () => releasing.signal.aborted,
    signal: releasing.signal,
  };

  function queueOf(length: Ms): Queue {
    const known = queues.get(length);
    if (known) return known;
    const queue = createQueue(clock);
    queues.set(length, queue);
    return queue;
  }
}

type Queue = { add(running: Running): void; remove(running: Running): void; abortAll(): void };

/** Limits of one length, and so in the order in which they end. */
function createQueue(clock: Clock): Queue {
  const all = new Set<Running>();
  let cancel: Cancel | null = null;

  return {
    add(running) {
      all.add(running);
      if (cancel === null) watch(running);
    },
    remove: (running) => void all.delete(running),
    abortAll() {
      cancel?.();
      for (const { controller } of all) controller.abort();
    },
  };

  function watch({ endsAt }: Running): void {
    cancel = clock.after(Math.max(0, endsAt - clock.now()), abortWhatIsDue);
  }

  function abortWhatIsDue(): void {
    cancel = null;
    for (const running of all) {
      if (running.endsAt > clock.now()) {
        watch(running);
        return;
      }
      all.delete(running);
      running.controller.abort();
    }
  }
}
