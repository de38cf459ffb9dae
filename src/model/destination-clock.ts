import type { Fault } from "./fault.ts";
import type { DeliveryName } from "./ports.ts";
import type { At, Ms } from "./units.ts";

/**
 * The clock that measures the cutoff of a destination's deliveries (SPEC.md 7: four hours). It stands still while nothing
 * can be delivered for a reason that is not the receiver's: the destination is paused, disabled or not in the config, or
 * this machine is offline. Several reasons at once stop it once.
 */

/** A destination's clock as it is stored across restarts. Times are by `clock.now()`. */
export type StoredClock = {
  readonly destination: string;
  /** When it was paused by command; null if it is not. */
  readonly pausedAt: At | null;
  /** When it was disabled or removed from the config while deliveries were waiting; null if it is served. */
  readonly unservedAt: At | null;
  /** Since when its attempts found this machine offline; null if it is online. */
  readonly offlineAt: At | null;
  /** When the clock stopped; null while it runs. */
  readonly stoppedAt: At | null;
  /** How long it had stood still in total before `stoppedAt`. */
  readonly stoodStill: Ms;
};

export function neverStopped(destination: string): StoredClock {
  return { destination, pausedAt: null, unservedAt: null, offlineAt: null, stoppedAt: null, stoodStill: 0 };
}

/** For how long a clock has stood still in all. */
export function totalOf({ stoppedAt, stoodStill }: StoredClock, now: At): Ms {
  return stoodStill + (stoppedAt === null ? 0 : Math.max(0, now - stoppedAt));
}

export type StoredClocks = {
  /** All clocks that have ever stood still, as last written. */
  all(): Promise<readonly StoredClock[]>;
  /**
   * Replaces the clocks of these destinations. Answers why it could not; then nothing has changed. What another daemon has
   * changed meanwhile stays, and is heard as a `StoreChange`.
   */
  save(clocks: readonly StoredClock[], because: "command" | "observed"): Promise<Fault | null>;
  /**
   * Reads the clock of a destination again, which another daemon may have changed a moment ago. If it has, this daemon
   * adopts the change. Answers why it could not. Left out if no other daemon shares the store.
   */
  refresh?(destination: string): Promise<Fault | null>;
};

/** A destination's clock as its deliveries see it. */
export type DestinationClock = {
  /** How long it had stood still in total at a moment that is now or recent. */
  stoodStill(at: At): Ms;
  /** Whether it stands still now. While it does, nothing expires. */
  standsStill(): boolean;
};

/** Pausing a destination by command: nothing is sent to it until it is resumed by command. */

/** Which destinations are paused; survives restarts. On the fault `store_failed`, nothing has changed. */
export type Pauses = {
  /** When a destination was paused, by `clock.now()`; null if it is not. */
  since(destination: string): At | null;
  /** Stops sending; new events wait. No error if it is already paused. */
  pause(destination: string): Promise<Paused | Fault>;
  /** Sends waiting deliveries at once, if the config has the destination. No error if it was not paused. */
  resume(destination: string): Promise<Resumed | Fault>;
};

/** `changed`: whether it was not paused before. */
export type Paused = { readonly since: At; readonly changed: boolean };

/** Since when it was paused; null if it was not. */
export type Resumed = { readonly since: At | null };

/** Log lines about pauses. */
export type PauseReport = {
  paused(destination: string, waiting: number): void;
  /** All its waiting deliveries are tried at once by command. */
  retriedNow(destination: string, waiting: number): void;
  /** A test call was accepted for it by command. */
  tested(destination: string, test: DeliveryName): void;
  resumed(destination: string, after: { readonly paused: Ms; readonly waiting: number }): void;
  /**
   * A destination is still paused after the config was read; the operator may have forgotten it. `since`: by the wall clock.
   */
  stillPaused(destination: string, what: { readonly since: At; readonly waiting: number }): void;
};
