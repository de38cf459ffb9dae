/** When receivers were asked: what waits for one that answers has its turn soon. */
import { type At, MINUTE, type Ms } from "../../../src/model/units.ts";

export type Turns = {
  /** By URL: since when a receiver has answered everything at once. */
  readonly answering: Map<string, At>;
  /** By URL: since when it has taken nothing; how long that was the last time; and the last that was told of its lane. */
  readonly failing: Map<string, At>;
  readonly failed: Map<string, Ms>;
  readonly lanes: Map<string, string>;
  /** When something was last different that a lane, or the store, may have to get over. */
  upsetAt: At;
  /** By destination: when a round began, and when one that was the first of its delivery. */
  readonly rounds: Map<string, At[]>;
  readonly firsts: Map<string, At[]>;
};

export function createTurns(): Turns {
  const known = { failing: new Map(), failed: new Map(), lanes: new Map() };
  return { ...known, answering: new Map(), upsetAt: 0, rounds: new Map(), firsts: new Map() };
}

/** What waits has to wait from here on, as if it had just come. */
export function upset(turns: Turns, at: At): void {
  turns.upsetAt = at;
}

/** A process that has just begun knows of nobody. */
export function forgetTurns(turns: Turns, at: At): void {
  const { answering, failing, failed, lanes, rounds, firsts } = turns;
  for (const map of [answering, failing, failed, lanes, rounds, firsts]) map.clear();
  upset(turns, at);
}

/** A receiver has taken something at this moment, or has not. */
export function noteTaken({ failing, failed }: Turns, url: string, { taken, startAt, at }: Taken): void {
  const since = failing.get(url);
  if (!taken) failing.set(url, Math.min(since ?? startAt, startAt));
  else failing.delete(url);
  if (taken) failed.set(url, since === undefined ? 0 : at - since);
}

export type Taken = { readonly taken: boolean; readonly startAt: At; readonly at: At };

/** Something is told of a lane. Answers whether its receiver is back from an outage: what waits for it need not wait any longer. */
export function isBack({ lanes, failed }: Turns, url: string, what: string): boolean {
  const before = lanes.get(url);
  lanes.set(url, what);
  return what === "laneOpened" && (before === "laneClosed" || (failed.get(url) ?? 0) >= SHORTEST_OUTAGE);
}

const SHORTEST_OUTAGE: Ms = 5 * MINUTE;

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
