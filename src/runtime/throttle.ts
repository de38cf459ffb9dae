import type { Clock } from "../model/ports.ts";
import { type Ms, SECOND } from "../model/units.ts";

/** Decides which of many like lines are written. */
export type Throttle = {
  /** Whether to write this line: null if not, else how many like it were left out since the last one. */
  pass(subject: string, kind: string): number | null;
  /** The subject is well again: its next line is news. */
  forgive(subject: string): void;
  /** Whether there is nothing to forgive. */
  isEmpty(): boolean;
};

/** After a line, more of the same subject and kind wait so long. */
const QUIET: Ms = 10 * SECOND;
/** Lines in that time of a subject that fails and recovers again and again. */
const MOST_LINES = 5;
/** Most pairs of subject and kind remembered; beyond, the subjects that came first are forgotten. */
const MOST_KEYS = 1_000;

type Spell = { readonly since: number; lines: number; leftOut: number; news: boolean };

/** Makes a throttle that remembers at most 1,000 keys. */
export function createThrottle(clock: Pick<Clock, "now">): Throttle {
  const subjects = new Map<string, Map<string, Spell>>();
  let keys = 0;

  function begin(subject: string, kind: string): void {
    const kinds = subjects.get(subject) ?? new Map<string, Spell>();
    if (!kinds.has(kind)) keys++;
    kinds.set(kind, { since: clock.now(), lines: 1, leftOut: 0, news: false });
    subjects.delete(subject);
    subjects.set(subject, kinds);
    for (const [oldest, { size }] of subjects) {
      if (keys <= MOST_KEYS) return;
      subjects.delete(oldest);
      keys -= size;
    }
  }

  return {
    pass(subject, kind) {
      const spell = subjects.get(subject)?.get(kind);
      if (!spell || clock.now() - spell.since >= QUIET) {
        begin(subject, kind);
        return spell?.leftOut ?? 0;
      }
      return repeat(spell);
    },
    forgive(subject) {
      for (const spell of subjects.get(subject)?.values() ?? []) spell.news = true;
    },
    isEmpty: () => subjects.size === 0,
  };
}

/** A line within the quiet time passes only after a success, and even then not without end. */
function repeat(spell: Spell): number | null {
  if (!spell.news || spell.lines >= MOST_LINES) {
    spell.leftOut++;
    return null;
  }
  const { leftOut } = spell;
  Object.assign(spell, { lines: spell.lines + 1, leftOut: 0, news: false });
  return leftOut;
}
