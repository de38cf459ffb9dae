import type { Spell } from "../model/pause.ts";
import type { At } from "../model/units.ts";

/** More periods than a flapping network has within one cutoff; beyond them the oldest is forgotten. */
const MOST_PERIODS = 256;

/** Remembers when this machine had no network, so that such time does not count against anybody. */
export type Offline = {
  /** An attempt ended: it never left the machine, or it did. */
  saw(offline: boolean, attempt: { readonly startedAt: At; readonly now: At }): void;
  /** When it was offline, up to now. */
  spells(now: At): readonly Spell[];
};

export function createOffline(): Offline {
  const periods: { readonly from: At; until: At | null }[] = [];
  return {
    saw(offline, { startedAt, now }) {
      const last = periods.at(-1);
      const during = last !== undefined && last.until === null;
      if (offline && !during) periods.push({ from: startedAt, until: null });
      if (!offline && during) last.until = now;
      if (periods.length > MOST_PERIODS) periods.shift();
    },
    spells: (now) => periods.map(({ from, until }) => ({ from, until: until ?? now })),
  };
}
