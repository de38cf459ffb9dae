import type { Fault } from "./fault.ts";
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
  /** Tells the other daemons, which hear it as a change within two seconds. Resolves once it is certain that they will. */
  announce(what: Announcement): Promise<Fault | null>;
};

/** What one daemon knows and all of them go by. */
export type Announcement =
  /** An operator wants this destination tried now, whatever its receivers have asked for. */
  | { readonly kind: "retry"; readonly destination: string }
  /** These webhooks have asked for silence. */
  | { readonly kind: "holds"; readonly holds: readonly Hold[] };

/** By Retry-After, a webhook wants no requests until then. */
export type Hold = { readonly destination: string; readonly url: string; readonly until: At };

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
