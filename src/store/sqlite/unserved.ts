import { type At, MB } from "../../model/units.ts";
import type { Discarded, Moved, Redirect } from "../../model/unserved.ts";
import { DISCARDED, hasAlready } from "../ended.ts";
import type { Waiting } from "./kept.ts";
import { createGiveUp, type GiveUpParts } from "./settle.ts";

/** Bodies that one page writes, in bytes: nobody waits long behind it. */
const MOST_BODY = 2 * MB;

/** Inside a transaction: a page of what waits for a destination that nobody serves. */
export type UnservedRows = {
  discard(destination: string, page: PageOf): Discarded;
  move(by: Redirect, page: PageOf): Moved;
};

export type PageOf = { readonly limit: number; readonly now: At };

export function createUnserved(parts: GiveUpParts): UnservedRows {
  const { counts, progress, tried, kept } = parts;
  const giveUp = createGiveUp(parts);

  return {
    discard(destination, { limit, now }) {
      const why = { at: now, reason: DISCARDED };
      const discarded = each(destination, limit, (one) => giveUp(one, why));
      return { discarded, more: isLeft(destination) };
    },
    move({ from, to }, { limit, now }) {
      const why = { at: now, reason: hasAlready(to) };
      let doubled = 0;
      const done = each(from, limit, (one) => {
        if (!isThere(one, to)) return handOver(one, to);
        doubled += 1;
        return giveUp(one, why);
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

  function isThere(one: Waiting, destination: string): boolean {
    const there = { ...one, destination };
    return (progress.letter(there) ?? "-") !== "-" || tried.has(there);
  }

  function handOver(one: Waiting, to: string): number {
    progress.move(one, to);
    if (one.kind === "row") tried.move(one, to);
    counts.add(one.destination, "waiting", -1);
    counts.add(to, "waiting", 1);
    return one.size;
  }
}
