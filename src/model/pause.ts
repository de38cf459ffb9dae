/**
 * Times in which nothing is delivered to a destination because the operator wants it so: it is paused, or disabled, or not
 * in the config. What waits for it goes on afterwards, and such time does not use up its four hours.
 */
import type { Fault } from "./fault.ts";
import type { At, Ms } from "./units.ts";

/** A stretch of such time, by `clock.now()`. */
export type Spell = { readonly from: At; readonly until: At };

/** What is remembered of one destination, across restarts. Its times are of `clock.now()`. */
export type Halt = {
  readonly destination: string;
  /** Since when it is paused; null if it is not. */
  readonly pausedAt: At | null;
  /** Since when it is disabled, or not in the config, while something waits for it; null if it is not so. */
  readonly unservedAt: At | null;
  /** Those that are over: the earliest first, none touches another. */
  readonly spells: readonly Spell[];
};

/** What the store does with them. */
export type StoredHalts = {
  /** As they were last written, kept in memory: asking is free. */
  all(): readonly Halt[];
  /** Writes these in place of what was known of their destinations. Answers why it could not: then nothing is changed. */
  save(halts: readonly Halt[]): Promise<Fault | null>;
};

/** The operator's word, kept across restarts. A fault is `store_failed`: then all is as before. */
export type Pauses = {
  /** Since when a destination is paused, by `clock.now()`; null if it is not. */
  since(destination: string): At | null;
  /** Nothing new is sent from now on; what comes in waits. No error if it is so already. */
  pause(destination: string): Promise<Paused | Fault>;
  /** What waits is sent at once, if the config has the destination. No error if it was not paused. */
  resume(destination: string): Promise<Resumed | Fault>;
};

/** `changed`: whether it was not paused before. */
export type Paused = { readonly since: At; readonly changed: boolean };

/** Since when it was paused; null if it was not. */
export type Resumed = { readonly since: At | null };

/** Tells the operator, and those who were not there. */
export type PauseReport = {
  paused(destination: string, waiting: number): void;
  /** All that waits for it is tried at once, by command. */
  retriedNow(destination: string, waiting: number): void;
  resumed(destination: string, after: { readonly paused: Ms; readonly waiting: number }): void;
  /** A destination of a config that was just read is paused: somebody may have forgotten. `since`: by the wall clock. */
  stillPaused(destination: string, what: { readonly since: At; readonly waiting: number }): void;
};
