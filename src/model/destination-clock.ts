/**
 * The clock by which a destination's deliveries reach their cutoff (SPEC.md 7: four hours). It stands still while nothing can
 * be delivered for a reason that is not the receiver's: the destination is paused, or disabled, or not in the config, or this
 * machine is offline. Several reasons at once stop it once.
 */
import type { Fault } from "./fault.ts";
import type { At, Ms } from "./units.ts";

/** A destination's clock as it is kept across restarts. Its times are of `clock.now()`. */
export type StoredClock = {
  readonly destination: string;
  /** Since when it is paused by command; null if it is not. */
  readonly pausedAt: At | null;
  /** Since when it is disabled, or not in the config, while something waits for it; null if it is served. */
  readonly unservedAt: At | null;
  /** Since when this machine is offline, as far as the destination's attempts could tell; null if it is not. */
  readonly offlineAt: At | null;
  /** When the clock stopped; null while it runs. */
  readonly stoppedAt: At | null;
  /** For how long it had stood still in all, before `stoppedAt`. */
  readonly stoodStill: Ms;
};

export type StoredClocks = {
  /** Those that have ever stood still, as they were last written. Kept in memory: asking is free. */
  all(): readonly StoredClock[];
  /** Writes these in place of what was known of their destinations. Answers why it could not: then nothing is changed. */
  save(clocks: readonly StoredClock[]): Promise<Fault | null>;
};

/** What one delivery asks of its destination's clock. */
export type DestinationClock = {
  /** For how long it had stood still in all at that moment: now, or lately. */
  stoodStill(at: At): Ms;
  /** Whether it stands still now: then nothing is given up. */
  standsStill(): boolean;
};
