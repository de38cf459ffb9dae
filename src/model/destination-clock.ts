/**
 * The clock that measures the cutoff of a destination's deliveries (SPEC.md 7: four hours). It stands still while nothing
 * can be delivered for a reason that is not the receiver's: the destination is paused, disabled or not in the config, or
 * this machine is offline. Several reasons at once stop it once.
 */
import type { Fault } from "./fault.ts";
import type { At, Ms } from "./units.ts";

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

export type StoredClocks = {
  /** All clocks that have ever stood still, as last written. */
  all(): Promise<readonly StoredClock[]>;
  /** Replaces the clocks of these destinations. Answers why it could not; then nothing has changed. */
  save(clocks: readonly StoredClock[], because: "command" | "observed"): Promise<Fault | null>;
};

/** A destination's clock as its deliveries see it. */
export type DestinationClock = {
  /** How long it had stood still in total at a moment that is now or recent. */
  stoodStill(at: At): Ms;
  /** Whether it stands still now. While it does, nothing expires. */
  standsStill(): boolean;
};
