import { type GivenUp, GROUPING, type Notice, type NoticeItem } from "../model/notice.ts";
import type { At, Ms } from "../model/units.ts";

/** Counts of one destination that are not reported yet. */
type Count = { readonly since: At; failed: number; expired: number; reason: string };

type GivenUps = {
  count(one: GivenUp, now: At): void;
  /** The counts of all destinations that were not reported within `repeat`, when one of them has waited for the others. */
  due(now: At): readonly Notice[];
  all(): readonly Notice[];
  told(items: readonly NoticeItem[], now: At): void;
  marks(now: At): readonly (readonly [string, number])[];
  adopt(destination: string, toldAt: At): void;
};

/** Counts deliveries that were given up, by their destination. They have no end, so each destination is reported once in `repeat`. */
export function createGivenUps(repeat: () => Ms): GivenUps {
  const counts = new Map<string, Count>();
  const toldAt = new Map<string, At>();

  return {
    count({ destination, state, reason }, now) {
      const count = counts.get(destination) ?? { since: now, failed: 0, expired: 0, reason };
      counts.set(destination, count);
      count[state] += 1;
      count.reason = reason;
    },
    due(now) {
      const quiet = [...counts].filter(([destination]) => now - (toldAt.get(destination) ?? -Infinity) >= repeat());
      return quiet.some(([, { since }]) => now - since >= GROUPING) ? noticeOf(quiet) : [];
    },
    all: () => noticeOf([...counts]),
    told(items, now) {
      for (const { subject, details } of items) {
        toldAt.set(subject, now);
        const count = counts.get(subject);
        if (!count) continue;
        // Some more may have been given up while this was being stored.
        const [failed, expired] = [count.failed - Number(details.failed), count.expired - Number(details.expired)];
        if (failed + expired > 0) counts.set(subject, { since: now, failed, expired, reason: count.reason });
        else counts.delete(subject);
      }
    },
    marks: (now) =>
      [...toldAt]
        .filter(([, at]) => now - at < repeat())
        .map(([destination, at]) => [`told/deliveries_given_up/${destination}`, at] as const),
    adopt(destination, at) {
      toldAt.set(destination, Math.max(toldAt.get(destination) ?? at, at));
    },
  };
}

function noticeOf(counts: readonly (readonly [string, Count])[]): readonly Notice[] {
  if (counts.length === 0) return [];
  const waits = Math.min(...counts.map(([, { since }]) => since));
  return [{ kind: "deliveries_given_up", state: "new", items: counts.map(itemOf), waits }];
}

function itemOf([subject, { since, failed, expired, reason }]: readonly [string, Count]): NoticeItem {
  return { subject, since, until: null, gone: false, says: reason, details: { failed, expired } };
}
