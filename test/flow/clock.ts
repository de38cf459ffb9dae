import type { Clock } from "../../src/model/ports.ts";
import type { Timeline } from "../../src/model/timeline.ts";
import { type At, type Ms, parseDuration } from "../../src/model/units.ts";

/** A clock that stands still until it is told to go on: four hours pass in milliseconds. */
export type FalseClock = Clock & {
  /** Goes on by this much, and stops at each timer on the way until all that it set off has come to rest. */
  advance(duration: string): Promise<void>;
  /** Resolves when nothing more can happen without time going on. */
  rest(): Promise<void>;
  /** Another program works at this, in real time: nothing is at rest until it is done. */
  during<T>(work: Promise<T>): Promise<T>;
  /** Sets what the machine's clock says, as an operator or a bad time server would. */
  setWall(at: At): void;
  /** Goes on by this much at once, and no timer runs meanwhile: the daemon is down, or kept from running. */
  skip(duration: string): void;
  /** The machine was started again, or null: nobody can say. Nobody can until this is called. */
  reboot(id: number | null): void;
  /** The process that goes by it is dead: no timer runs any more, and no turn comes. */
  kill(): void;
};

/** The machine's clock is where the line of the store is, and can be believed. */
export const UNSHIFTED: Timeline = {
  toWall: (at) => at,
  fromWall: (wall) => wall,
  health: () => ({ plausible: true }),
};

type Timer = { readonly at: Ms; readonly order: number; readonly run: () => void };

export const START: At = Date.UTC(2026, 10, 20, 12, 0, 0);

/** When the daemon that goes by a false clock was built. */
export const BUILT: At = Date.UTC(2026, 0, 1);

/** Turns after which nobody believes that it will come to rest. */
const MOST_TURNS = 1_000_000;

export function createFalseClock(start: At = START, mostTurns = MOST_TURNS): FalseClock {
  const timers = new Set<Timer>();
  const sleepers = new Set<() => void>();
  // Since the clock was made. The line of the store, and what the machine says, are so much ahead of it.
  let passed: Ms = 0;
  let line: At = start;
  let wall: At = start;
  let boot: { readonly id: number; readonly since: Ms } | null = null;
  let turns = 0;
  let order = 0;
  let dead = false;

  const clock: FalseClock = {
    now: () => line + passed,
    wall: () => wall + passed,
    boot: () => boot && { id: boot.id, uptime: passed - boot.since },
    builtAt: BUILT,
    after(ms, run) {
      if (dead) return () => {};
      const timer = { at: passed + Math.max(0, ms), order: order++, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    sleep(ms, signal) {
      return new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const cancel = clock.after(ms, finish);
        signal.addEventListener("abort", finish);
        sleepers.add(forget);
        function finish(): void {
          cancel();
          forget();
          resolve();
        }
        function forget(): void {
          signal.removeEventListener("abort", finish);
          sleepers.delete(forget);
        }
      });
    },
    async nextTurn() {
      turns += 1;
      await realTurn();
      turns -= 1;
      if (dead) await new Promise(() => {});
    },
    continueFrom(at) {
      line = at - passed;
    },
    async advance(duration) {
      const until = passed + toMs(duration);
      await clock.rest();
      for (let next = first(until); next; next = first(until)) {
        timers.delete(next);
        passed = Math.max(passed, next.at);
        next.run();
        await clock.rest();
      }
      if (!dead) passed = until;
    },
    async rest() {
      // Everything in the process runs on promises and turns; three quiet ones in a row mean that nothing is left.
      let quiet = 0;
      for (let count = 0; quiet < 3; count += 1) {
        if (count > mostTurns) throw new Error(`no rest after ${mostTurns} turns of the event loop`);
        await realTurn();
        quiet = turns === 0 ? quiet + 1 : 0;
      }
    },
    during(work) {
      turns += 1;
      return work.finally(() => {
        turns -= 1;
      });
    },
    setWall(at) {
      wall = at - passed;
    },
    skip(duration) {
      passed += toMs(duration);
    },
    reboot(id) {
      boot = id === null ? null : { id, since: passed };
    },
    kill() {
      dead = true;
      timers.clear();
      // Signals made of others are kept by the runtime for as long as somebody listens.
      for (const forget of sleepers) forget();
    },
  };
  return clock;

  function first(until: Ms): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of timers) {
      if (timer.at > until) continue;
      if (!next || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer;
    }
    return next;
  }
}

function realTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function toMs(duration: string): Ms {
  const ms = parseDuration(duration);
  if (ms === null) throw new Error(`not a duration: ${duration}`);
  return ms;
}
