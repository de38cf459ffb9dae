import type { Destination } from "../model/config.ts";
import type { Clock } from "../model/ports.ts";
import type { Hold, Sharing } from "../model/sharing.ts";
import { type Ms, SECOND } from "../model/units.ts";
import type { Lanes } from "./lanes.ts";

/** A shorter hold is over before the other daemons learn about it. */
const SHORTEST: Ms = SECOND;
/** The least time between two announcements: many attempts may end with the same Retry-After. */
const PACE: Ms = SECOND;

/** Webhooks that have asked for silence. Daemons that share a store tell each other: what one of them has heard holds for all. */
export type Holds = {
  /** A webhook of this daemon has asked for silence. */
  note(hold: Hold): void;
  /** An operator wants the destination tried now: what was not announced yet is dropped. */
  drop(destination: string): void;
  /** Another daemon has announced these. Those of webhooks that are in the config here hold their lanes. */
  hear(heard: readonly Hold[], configured: readonly Destination[]): void;
};

type HoldsWorld = {
  /** Null if no other daemon can have the store. */
  readonly announce: Sharing["announce"] | null;
  readonly lanes: Pick<Lanes, "hold">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly stopping: AbortSignal;
};

export function createHolds({ announce, lanes, clock, stopping }: HoldsWorld): Holds {
  const unsaid = new Map<string, Hold>();
  let isSaying = false;

  return {
    note(hold) {
      if (announce === null || stopping.aborted || hold.until - clock.now() <= SHORTEST) return;
      unsaid.set(`${hold.destination} ${hold.url}`, hold);
      // It never rejects: an announcement that fails answers a fault, which the store has logged.
      if (!isSaying) void sayAll(announce);
    },
    drop(destination) {
      for (const [key, hold] of unsaid) if (hold.destination === destination) unsaid.delete(key);
    },
    hear(heard, configured) {
      for (const { destination, url, until } of heard) {
        const one = configured.find(({ name }) => name === destination);
        if (one) lanes.hold(one, url, Math.min(until, clock.now() + one.cutoff));
      }
    },
  };

  /** What cannot be announced is left out: the other daemons learn it from the receiver. */
  async function sayAll(say: Sharing["announce"]): Promise<void> {
    isSaying = true;
    while (unsaid.size > 0 && !stopping.aborted) {
      const holds = [...unsaid.values()];
      unsaid.clear();
      await say({ kind: "holds", holds });
      await clock.sleep(PACE, stopping);
    }
    isSaying = false;
  }
}
