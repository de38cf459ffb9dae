import type { DaemonAbout } from "./ports.ts";
import type { At, Ms } from "./units.ts";

/** How daemons share one store. */
export type Sharing = {
  /** The daemons that are known to the store, in the order of their start. Rejects when the store fails. */
  daemons(): Promise<readonly SharedDaemon[]>;
  /** Whether this one does the work that one daemon does for all. It also reports the metrics of what is shared. */
  leads(): boolean;
  /** How many streams this one holds. */
  streams(): number;
  /** When this one last told the others that it is alive, by `clock.now()`. */
  beatAt(): At;
  /** How many daemons were alive then. */
  alive(): number;
};

export type SharedDaemon = DaemonAbout & {
  /** Whether it is the one that was asked. */
  readonly self: boolean;
  /** How long ago it told the others that it is alive, by the clock of the store. */
  readonly silentFor: Ms;
  /** False if it is silent for so long that others take its streams. */
  readonly alive: boolean;
  /** Whether it does the work that one daemon does for all. */
  readonly leads: boolean;
  readonly streams: readonly SharedStream[];
};

/** A part of the store that one daemon writes and delivers. `waiting`: so many deliveries, as of the last beat. */
export type SharedStream = { readonly id: number; readonly waiting: number };
