/** Pausing a destination by command: nothing is sent to it until it is resumed by command. */
import type { Fault } from "./fault.ts";
import type { At, Ms } from "./units.ts";

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
  resumed(destination: string, after: { readonly paused: Ms; readonly waiting: number }): void;
  /**
   * A destination is still paused after the config was read; the operator may have forgotten it. `since`: by the wall clock.
   */
  stillPaused(destination: string, what: { readonly since: At; readonly waiting: number }): void;
};
