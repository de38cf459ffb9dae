import type { Spell } from "../model/pause.ts";
import type { At, Ms } from "../model/units.ts";

/** More than anybody pauses a destination by hand while one delivery waits. */
export const MOST_SPELLS = 100;

/** How much of the time from `at` until `now` lies in any of these spells. They may overlap, and come in any order. */
export function timeIn(spells: readonly Spell[], { at, now }: { readonly at: At; readonly now: At }): Ms {
  let [sum, seen] = [0, at];
  for (const { from, until } of spells.toSorted((a, b) => a.from - b.from)) {
    const end = Math.min(until, now);
    sum += Math.max(0, end - Math.max(from, seen));
    seen = Math.max(seen, end);
  }
  return sum;
}

/**
 * Adds a spell to those that are over: the earliest first, and those that touch as one. They are bounded: beyond that the
 * two with the least time between them become one that is as long as both.
 */
export function addSpell(spells: readonly Spell[], spell: Spell): readonly Spell[] {
  const joined: Spell[] = [];
  for (const next of [...spells, spell].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last === undefined || next.from > last.until) joined.push(next);
    else joined[joined.length - 1] = { from: last.from, until: Math.max(last.until, next.until) };
  }
  return joined.length > MOST_SPELLS ? withoutLeastGap(joined) : joined;
}

/** What was last tried before both loses nothing; what was tried between them is given at most that gap. */
function withoutLeastGap(spells: readonly Spell[]): readonly Spell[] {
  const gaps = spells.slice(1).map(({ from }, before) => from - (spells[before]?.until ?? 0));
  const at = gaps.indexOf(Math.min(...gaps));
  return spells.flatMap((spell, index) => {
    if (index === at) return [];
    const before = spells[at];
    if (index !== at + 1 || before === undefined) return [spell];
    return [{ from: spell.from - (before.until - before.from), until: spell.until }];
  });
}
