import type { Cancel, Clock } from "../model/ports.ts";
import { type Ms, SECOND } from "../model/units.ts";

/** Decides which of many like lines are written, and sees to it that those left out are told of. */
export type Throttle<Summary> = {
  /** Whether to write this line: null if not, else how many like it were left out since the last one. */
  pass(line: Repeating<Summary>): number | null;
  /** The subject is well again: its next line is news. */
  forgive(subject: string): void;
  /** Whether there is nothing to forgive. */
  isEmpty(): boolean;
  /** Tells at once of all that was left out. */
  flush(): void;
};

export type Repeating<Summary> = {
  /** What the line is about, and which of the things that can be said about it. */
  readonly subject: string;
  readonly kind: string;
  /** Lines that are written before others are left out; one if left out. */
  readonly most?: number;
  /** What is told of those that were left out. */
  readonly summary: Summary;
};

export type ThrottleParts<Summary> = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly tell: (summary: Summary, leftOut: number) => void;
};

/** Like lines within this time are one spell. At its end it is told how many of them were left out. */
const QUIET: Ms = 10 * SECOND;
/** Lines in that time of a subject that fails and recovers again and again. */
const MOST_LINES = 5;
/** Most pairs of subject and kind remembered; beyond, the subjects that came first are forgotten. */
const MOST_KEYS = 1_000;

type Spell<Summary> = {
  readonly since: number;
  readonly summary: Summary;
  lines: number;
  leftOut: number;
  news: boolean;
  /** Set while lines are left out that were not told of. */
  cancel: Cancel | null;
};

/** Makes a throttle that remembers at most 1,000 keys. */
export function createThrottle<Summary>({ clock, tell }: ThrottleParts<Summary>): Throttle<Summary> {
  const subjects = new Map<string, Map<string, Spell<Summary>>>();
  let keys = 0;

  function begin({ subject, kind, summary }: Repeating<Summary>): void {
    const kinds = subjects.get(subject) ?? new Map<string, Spell<Summary>>();
    if (!kinds.has(kind)) keys++;
    kinds.set(kind, { since: clock.now(), summary, lines: 1, leftOut: 0, news: false, cancel: null });
    subjects.delete(subject);
    subjects.set(subject, kinds);
    for (const [oldest, spells] of subjects) {
      if (keys <= MOST_KEYS) return;
      subjects.delete(oldest);
      keys -= spells.size;
      for (const spell of spells.values()) summarize(spell);
    }
  }

  function leaveOut(spell: Spell<Summary>): null {
    spell.leftOut++;
    // Nothing else of this kind may ever happen.
    spell.cancel ??= clock.after(spell.since + QUIET - clock.now(), () => summarize(spell));
    return null;
  }

  function summarize(spell: Spell<Summary>): void {
    const leftOut = settle(spell);
    if (leftOut > 0) tell(spell.summary, leftOut);
  }

  return {
    pass(line) {
      const spell = subjects.get(line.subject)?.get(line.kind);
      if (!spell || clock.now() - spell.since >= QUIET) {
        begin(line);
        return spell ? settle(spell) : 0;
      }
      if (!mayPass(spell, line.most ?? 1)) return leaveOut(spell);
      spell.lines++;
      spell.news = false;
      return settle(spell);
    },
    forgive(subject) {
      for (const spell of subjects.get(subject)?.values() ?? []) spell.news = true;
    },
    isEmpty: () => subjects.size === 0,
    flush() {
      for (const spells of subjects.values()) for (const spell of spells.values()) summarize(spell);
    },
  };
}

/** Beyond the first ones, a line passes only after a success, and even then not without end. */
function mayPass({ lines, news }: Spell<unknown>, most: number): boolean {
  return lines < most || (news && lines < MOST_LINES);
}

/** Answers how many were left out that were not told of. They are now. */
function settle(spell: Spell<unknown>): number {
  const { leftOut } = spell;
  spell.cancel?.();
  spell.cancel = null;
  spell.leftOut = 0;
  return leftOut;
}
