/**
 * What one webhook of `notify` is told, and when. Facts go in, notices come out; nothing here waits or asks.
 *
 * Trouble is known by its kind and subject, such as `destination_failing` and `crm`. It is in one of these states:
 *
 * new:      seen, and not told yet. Told with all others of its kind, a minute after the first of them was seen.
 * ongoing:  told. Told again at each `repeat` for as long as it lasts.
 * ended:    over, and that is not told yet. Told with all others of its kind that have ended, a minute after the first. If it begins
 *           again before, it goes on as if it had not ended.
 *
 * Deliveries that were given up have no end: they are counted, and the counts told at most once in `repeat` for each destination.
 *
 * Never more than `perHour` notices are due in any hour. What is held back is not lost: it is told later, as it is then; trouble that
 * came and went meanwhile is told as ended. What was told is kept in marks, so that a restart does not tell it again. Daemons that
 * share a store share the marks: what one has told, the others do not tell, and its end is told by a daemon that has seen it.
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
  /** What is to be told now. It stays due until it is told. */
  due(now: At): readonly Notice[];
  /** What is counted and not told, due or not: the daemon stops. */
  counted(now: At): readonly Notice[];
  told(notice: Notice, now: At): void;
  /** What is to be remembered across restarts. */
  marks(now: At): ReadonlyMap<string, number>;
  /** Learns from marks what was told before, or by another daemon. `before`: the marks as they were last read or saved. */
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
      // What waits longest goes first, so that nothing waits forever.
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

/** What was told, and is not over, as marks say it. */
function toldIn(marks: ReadonlyMap<string, number>): readonly Known[] {
  return [...marks].flatMap(([name, at]) => {
    const [, kind, subject] = /^told\/([^/]+)\/(.*)$/s.exec(name) ?? [];
    if (kind === undefined || subject === undefined) return [];
    return [{ kind, subject, at, since: marks.get(`since/${kind}/${subject}`) ?? at }];
  });
}

const COUNTED: NoticeKind = "deliveries_given_up";

/** How many may still be told in the hour that ends now. */
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
