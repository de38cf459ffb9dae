/** Pausing a destination by command: nothing new is sent to it until it is resumed by command. */
import type { Fault } from "./fault.ts";
import type { At, Ms } from "./units.ts";

/** Which destinations are paused, also after a restart. A fault is `store_failed`: then nothing has changed. */
export type Pauses = {
  /** Since when a destination is paused, by `clock.now()`; null if it is not. */
  since(destination: string): At | null;
  /** Nothing new is sent from now on; new events wait. No error if it is paused already. */
  pause(destination: string): Promise<Paused | Fault>;
  /** Waiting deliveries are sent at once, if the config has the destination. No error if it was not paused. */
  resume(destination: string): Promise<Resumed | Fault>;
};

/** `changed`: whether it was not paused before. */
export type Paused = { readonly since: At; readonly changed: boolean };

/** Since when it was paused; null if it was not. */
export type Resumed = { readonly since: At | null };

/** What is logged of pauses. */
export type PauseReport = {
  paused(destination: string, waiting: number): void;
  /** All its waiting deliveries are tried at once, by command. */
  retriedNow(destination: string, waiting: number): void;
  resumed(destination: string, after: { readonly paused: Ms; readonly waiting: number }): void;
  /** A destination of a config that was just read is still paused: it may have been forgotten. `since`: by the wall clock. */
  stillPaused(destination: string, what: { readonly since: At; readonly waiting: number }): void;
};
