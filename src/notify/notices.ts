/**
 * What is reported to one webhook of `notify`, and when. Facts go in, notices come out; nothing here waits or asks.
 *
 * Trouble is known by its kind and subject, such as `destination_failing` and `crm`. It is in one of these states:
 *
 * new:      seen, not reported yet. It is reported with all others of its kind, a minute after the first of them was seen.
 * ongoing:  reported. It is reported again at each `repeat` for as long as it lasts.
 * ended:    over, which is not reported yet. It is reported with all others of its kind that have ended, a minute after the first.
 *           If it begins again before that, it continues as if it had not ended.
 *
 * Deliveries that were given up have no end: they are counted. The counts are reported at most once in `repeat` for each destination.
 *
 * At most `perHour` notices are due in any hour. A notice that is held back is not lost: it is reported later, with the facts of that
 * time. Trouble that came and went meanwhile is reported as ended. Marks keep what was reported, so that a restart does not repeat it.
 * Daemons that share a store share the marks: one of them reports trouble, and one that has seen its end reports that.
 */
import type { NoticeKind } from "../model/config.ts";
import type { Fact, GivenUp, Notice, NoticeRules, NoticeState } from "../model/notice.ts";
import { type At, HOUR } from "../model/units.ts";
import { createGivenUps } from "./given-up.ts";
import { createTroubles, type Known } from "./trouble.ts";

export type Notices = {
  /** These are all the facts there are now. */
  see(facts: readonly Fact[], now: At): void;
  countGivenUp(givenUp: GivenUp, now: At): void;
  /** What must be reported now. It stays due until it is reported. */
  due(now: At): readonly Notice[];
  /** What is counted and not reported, due or not: the daemon stops. */
  counted(now: At): readonly Notice[];
  told(notice: Notice, now: At): void;
  /** What must survive a restart. */
  marks(now: At): ReadonlyMap<string, number>;
  /** Learns from marks what was reported before, or by another daemon. `before`: the marks as they were last read or saved. */
  adopt(marks: ReadonlyMap<string, number>, before: ReadonlyMap<string, number>): void;
};

const STATES: readonly NoticeState[] = ["new", "recovered", "ongoing"];

export function createNotices(world: NoticeRules): Notices {
  const { rules } = world;
  const troubles = createTroubles(world);
  const givenUps = createGivenUps(() => rules().repeat);
  const hour = createHour(() => rules().perHour);

  return {
    see: troubles.see,
    countGivenUp(one, now) {
      if (rules().on.includes(COUNTED)) givenUps.count(one, now);
    },
    due(now) {
      const all = STATES.flatMap((state) => rules().on.flatMap((kind) => dueOf(kind, state, now)));
      // The longest wait goes first, so that nothing waits forever.
      return all.sort((one, other) => one.waits - other.waits).slice(0, hour.left(now));
    },
    counted: (now) => givenUps.all().slice(0, hour.left(now)),
    told(notice, now) {
      hour.note(now);
      if (notice.kind === COUNTED) givenUps.told(notice.items, now);
      else troubles.told(notice, now);
    },
    marks: (now) => new Map([...troubles.marks(), ...givenUps.marks(now), ...hour.marks(now)]),
    adopt(marks, before) {
      const told = toldIn(marks);
      for (const { kind, subject, at } of told) if (kind === COUNTED) givenUps.adopt(subject, at);
      const gone = toldIn(before).filter(({ kind, subject }) => !marks.has(`told/${kind}/${subject}`));
      troubles.adopt(
        told.filter(({ kind }) => kind !== COUNTED),
        gone,
      );
      hour.adopt(marks);
    },
  };

  function dueOf(kind: NoticeKind, state: NoticeState, now: At): readonly Notice[] {
    if (kind !== COUNTED) return troubles.due(kind, state, now);
    return state === "new" ? givenUps.due(now) : [];
  }
}

/** What was reported and is not over, by the marks. */
function toldIn(marks: ReadonlyMap<string, number>): readonly Known[] {
  return [...marks].flatMap(([name, at]) => {
    const [, kind, subject] = /^told\/([^/]+)\/(.*)$/s.exec(name) ?? [];
    if (kind === undefined || subject === undefined) return [];
    return [{ kind, subject, at, since: marks.get(`since/${kind}/${subject}`) ?? at }];
  });
}

const COUNTED: NoticeKind = "deliveries_given_up";

/** How many may still be reported in the hour that ends now. */
function createHour(most: () => number) {
  const sent = new Map<string, At>();
  return {
    left(now: At): number {
      for (const [name, at] of sent) if (now - at >= HOUR) sent.delete(name);
      return Math.max(0, most() - sent.size);
    },
    note(now: At): void {
      sent.set(`sent/${now}/${sent.size}`, now);
    },
    marks(now: At): readonly (readonly [string, number])[] {
      return [...sent].filter(([, at]) => now - at < HOUR);
    },
    adopt(marks: ReadonlyMap<string, number>): void {
      for (const [name, at] of marks) if (name.startsWith("sent/")) sent.set(name, at);
    },
  };
}
