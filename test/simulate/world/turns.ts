/** When receivers were asked: what waits for one that answers has its turn soon. */
import type { At } from "../../../src/model/units.ts";

export type Turns = {
  /** By URL: since when a receiver has answered everything at once. */
  readonly answering: Map<string, At>;
  /** When something was last different that a lane, or the store, may have to get over. */
  upsetAt: At;
  /** By destination: when a round began, and when one that was the first of its delivery. */
  readonly rounds: Map<string, At[]>;
  readonly firsts: Map<string, At[]>;
};

export function createTurns(): Turns {
  return { answering: new Map(), upsetAt: 0, rounds: new Map(), firsts: new Map() };
}

/** What waits has to wait from here on, as if it had just come. */
export function upset(turns: Turns, at: At): void {
  turns.upsetAt = at;
}

/** A process that has just begun knows of nobody. */
export function forgetTurns(turns: Turns, at: At): void {
  for (const map of [turns.answering, turns.rounds, turns.firsts]) map.clear();
  upset(turns, at);
}

export function noteTurn(of: Map<string, At[]>, destination: string, at: At): void {
  const known = of.get(destination);
  if (known) known.push(at);
  else of.set(destination, [at]);
}

/** How many there were from then on. */
export function countSince(of: ReadonlyMap<string, readonly At[]>, destination: string, since: At): number {
  const times = of.get(destination) ?? [];
  let count = 0;
  for (let nth = times.length - 1; nth >= 0 && (times[nth] ?? 0) >= since; nth -= 1) count += 1;
  return count;
}
