/** The service manager that started the daemon, such as systemd, and the messages it gets. */
import type { Ms } from "./units.ts";

/** Does nothing without a service manager. Never throws. */
export type Supervisor = {
  /** The daemon accepts calls, or has reloaded its config. `status` is one line for people. */
  ready(status: string): void;
  /** A reload has begun. It ends with `ready`. */
  reloading(): void;
  /** The daemon accepts no more calls. */
  stopping(): void;
  /** The start needs at most this much longer and has not failed. */
  extend(by: Ms, status: string): void;
  /** All loops respond. */
  alive(): void;
  /** The longest time between two `alive` before the daemon is killed; null if there is no limit. */
  readonly patience: Ms | null;
};

/** What must respond in a healthy daemon. */
export type Vitals = {
  /** Whether the store answers; it may never resolve. */
  readonly store: Promise<boolean>;
  /** Destinations whose loop has made no round since the last call. */
  readonly stuckLoops: readonly string[];
};

/** Called before each migration step of the outbox. */
export type Migrating = (now: MigrationStep) => void;

export type MigrationStep = {
  readonly step: number;
  readonly of: number;
  /** The size of the outbox's file. */
  readonly bytes: number;
  /** The path of the copy that is being written before this step. */
  readonly copy?: string;
};
