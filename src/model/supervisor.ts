/** Whoever has started the daemon and watches over it, such as systemd; what it wants to hear, and what it is told. */
import type { Ms } from "./units.ts";

/** Told to nobody where there is none. Nothing of this throws. */
export type Supervisor = {
  /** It takes calls; or it has read its config anew. `status` is one line for people. */
  ready(status: string): void;
  /** It reads its config anew. Ends with `ready`. */
  reloading(): void;
  /** It takes no more calls. */
  stopping(): void;
  /** The start takes at most so much longer from now on, and is not to be taken for a failed one. */
  extend(by: Ms, status: string): void;
  /** All goes round. */
  alive(): void;
  /** How long it waits for `alive` before it gives the daemon up; null if it does not. */
  readonly patience: Ms | null;
};

/** What has to go round in a daemon that is well. */
export type Vitals = {
  /** Whether the store answers; it may never resolve. */
  readonly store: Promise<boolean>;
  /** The destinations whose loop has not come round since this was last asked. */
  readonly stuckLoops: readonly string[];
};

/** Hears, before each step, that the outbox is being brought up to date. */
export type Migrating = (now: MigrationStep) => void;

export type MigrationStep = {
  readonly step: number;
  readonly of: number;
  /** Of the outbox's file. */
  readonly bytes: number;
  /** Where a copy of the outbox is kept before that step: it is being written. */
  readonly copy?: string;
};
