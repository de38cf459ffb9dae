import { MB } from "../../model/units.ts";
import type { Discarded, Moved, Redirect } from "../../model/waiting-deliveries.ts";
import { DISCARDED, hasAlready } from "../ended.ts";
import type { Tx } from "./commits.ts";
import type { Waiting } from "./kept.ts";
import { createGiveUp, type GiveUpParts } from "./settle.ts";

/** Bodies that one page writes, in bytes: nobody waits long behind it. */
const MOST_BODY = 2 * MB;

/** A page of what waits for a destination that nobody serves. */
export type UnservedRows = {
  discard(tx: Tx, destination: string, limit: number): Discarded;
  move(tx: Tx, by: Redirect, limit: number): Moved;
};

export function createUnserved(parts: GiveUpParts): UnservedRows {
  const { counts, progress, tried, kept } = parts;
  const giveUp = createGiveUp(parts);

  return {
    discard(tx, destination, limit) {
      const discarded = each(destination, limit, (one) => giveUp(tx, one, DISCARDED));
      return { discarded, more: isLeft(destination) };
    },
    move(tx, { from, to }, limit) {
      let doubled = 0;
      const done = each(from, limit, (one) => {
        if (!isThere(tx, one, to)) return handOver(tx, one, to);
        doubled += 1;
        return giveUp(tx, one, hasAlready(to));
      });
      return { moved: done - doubled, doubled, more: isLeft(from) };
    },
  };

  /** `run` answers how many bytes of bodies it has written. Answers how many were done. */
  function each(destination: string, limit: number, run: (one: Waiting) => number): number {
    let [done, body] = [0, 0];
    for (const one of kept.waitingFor(destination, limit)) {
      if (body >= MOST_BODY) break;
      body += run(one);
      done += 1;
    }
    return done;
  }

  function isLeft(destination: string): boolean {
    return kept.waitingFor(destination, 1).length > 0;
  }

  function isThere(tx: Tx, one: Waiting, destination: string): boolean {
    const there = { ...one, destination };
    return (progress.letter(tx, there) ?? "-") !== "-" || tried.has(there);
  }

  function handOver(tx: Tx, one: Waiting, to: string): number {
    progress.move(tx, one, to);
    if (one.kind === "row") tried.move(tx, one, to);
    counts.add(tx, one.destination, "waiting", -1);
    counts.add(tx, to, "waiting", 1);
    return one.size;
  }
}
