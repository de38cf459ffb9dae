import type { Delivery } from "../../../src/model/delivery.ts";
import type { At } from "../../../src/model/units.ts";
import type { Discarded, Moved, Redirect } from "../../../src/model/waiting-deliveries.ts";
import { type Expected, keyOf, type Segment, waits } from "./model.ts";

type PageOf = { readonly limit: number; readonly now: At };

/** `segment` is where it waits for its first attempt; null for one that has a place of its own. */
type Waiting = { readonly delivery: Delivery; readonly segment: Segment | null };

export function expectDiscard(expected: Expected, destination: string, { limit, now }: PageOf): Discarded {
  const page = waitingFor(expected, destination).slice(0, limit);
  for (const one of page) giveUp(expected, one, { at: now, reason: "discarded by operator" });
  return { discarded: page.length, more: waitingFor(expected, destination).length > 0 };
}

export function expectMove(expected: Expected, { from, to }: Redirect, { limit, now }: PageOf): Moved {
  const page = waitingFor(expected, from).slice(0, limit);
  let doubled = 0;
  for (const one of page) {
    if (isThere(expected, one.delivery, to)) {
      giveUp(expected, one, { at: now, reason: `${to} has this event already` });
      doubled += 1;
    } else handOver(expected, one, to);
  }
  return { moved: page.length - doubled, doubled, more: waitingFor(expected, from).length > 0 };
}

/** What waits for its first attempt comes before the rest, and each by age. */
function waitingFor({ segments, tried, handed }: Expected, destination: string): readonly Waiting[] {
  const byAge = (all: readonly Waiting[]): readonly Waiting[] =>
    all.filter(({ delivery }) => delivery.destination === destination).sort((a, b) => a.delivery.id - b.delivery.id);
  const first = [...segments.values()].flatMap((segment) =>
    [...segment.waiting].flatMap((key) => handed.get(key) ?? []).map((delivery) => ({ delivery, segment })),
  );
  const rows = [...tried.values()].filter(waits).map(({ delivery }) => ({ delivery, segment: null }));
  const since = ({ delivery }: Waiting): At => delivery.replayedAt ?? delivery.acceptedAt;
  return [...byAge(first), ...byAge(rows).toSorted((a, b) => since(a) - since(b))];
}

type Why = { readonly at: At; readonly reason: string };

function giveUp({ tried }: Expected, { delivery, segment }: Waiting, { at, reason }: Why): void {
  const { attempts, firstAttemptAt, stoodStill, finals } = delivery;
  const last = { attempts, firstAttemptAt, attemptedAt: at, stoodStill, finals, state: "failed", reason } as const;
  tried.set(keyOf(delivery), { delivery, last });
  if (segment === null) return;
  segment.waiting.delete(keyOf(delivery));
  segment.apart.add(keyOf(delivery));
  segment.settledAt = Math.max(segment.settledAt ?? 0, at);
}

/** As far as its segment, or a place of its own, can still tell. */
function isThere(expected: Expected, { id }: Delivery, destination: string): boolean {
  const key = keyOf({ id, destination });
  const segment = segmentOf(expected, id);
  const inSegment = segment && (segment.waiting.has(key) || segment.delivered.has(key) || segment.apart.has(key));
  return inSegment || expected.tried.has(key);
}

function segmentOf({ segments }: Expected, id: number): Segment | undefined {
  return [...segments.values()].find(({ first, entries }) => id >= first && id < first + entries.length);
}

function handOver(expected: Expected, { delivery, segment }: Waiting, to: string): void {
  const old = keyOf(delivery);
  const fresh = { attempts: 0, firstAttemptAt: null, attemptedAt: null, replayedAt: null, stoodStill: 0, finals: [] };
  const moved = { ...delivery, ...fresh, destination: to, dueAt: delivery.acceptedAt };
  expected.handed.set(keyOf(moved), moved);
  if (segment !== null) {
    segment.waiting.delete(old);
    segment.waiting.add(keyOf(moved));
    return;
  }
  const around = segmentOf(expected, delivery.id);
  if (around?.apart.delete(old)) around.apart.add(keyOf(moved));
  replaceInPlace(expected, old, { delivery: moved, last: null });
}

type Tried = Expected["tried"] extends Map<string, infer Row> ? Row : never;

/** Its place among those that settle at the same time stays. */
function replaceInPlace({ tried }: Expected, old: string, row: Tried): void {
  const rows = [...tried].map(([key, other]) =>
    key === old ? ([keyOf(row.delivery), row] as const) : ([key, other] as const),
  );
  tried.clear();
  for (const [key, other] of rows) tried.set(key, other);
}
