/**
 * What there should be in a store, in plain memory. The events of one commit are a segment: they are stored together, and
 * what was delivered of them at its first attempt goes together. What was not has a place of its own.
 */

import type { Delivery, DeliveryRef, Settlement } from "../../../src/model/delivery.ts";
import type { Entry, PruneBefore, PruneCounts, Receipt } from "../../../src/model/ports.ts";
import type { At } from "../../../src/model/units.ts";

export type Expected = {
  readonly seen: Set<string>;
  readonly segments: Map<number, Segment>;
  /** By `keyOf`, in the order in which they came here. */
  readonly tried: Map<string, Tried>;
  /** By `keyOf`: all there ever were, as their receipts had them. */
  readonly handed: Map<string, Delivery>;
  nextNumber: number;
};

export type Segment = {
  readonly first: number;
  readonly acceptedAt: At;
  readonly entries: readonly Entry[];
  /** By `keyOf`: what waits for its first attempt, and what was delivered by it. */
  readonly waiting: Set<string>;
  readonly delivered: Map<string, Settlement>;
  /** Those that have, or had, a place of their own. */
  readonly apart: Set<string>;
  settledAt: At | null;
};

/** `last` is null while it was only moved here. If the operator ended it, that was no attempt: see `delivery` for the last. */
export type Tried = { readonly delivery: Delivery; readonly last: Settlement | null };

export type Key = Pick<Delivery, "id" | "destination">;

export function createExpected(): Expected {
  return { seen: new Set(), segments: new Map(), tried: new Map(), handed: new Map(), nextNumber: 1 };
}

export function keyOf({ id, destination }: Key): string {
  return `${id} to ${destination}`;
}

/** Of one commit; several calls of `append` may be in it. */
export function expectAppend(expected: Expected, entries: readonly Entry[], now: At): readonly Receipt[] {
  const first = expected.nextNumber;
  const stored: Entry[] = [];
  const waiting = new Set<string>();
  const receipts = entries.map((entry): Receipt => {
    if (expected.seen.has(entry.event.messageId)) return { kind: "duplicate" };
    expected.seen.add(entry.event.messageId);
    const deliveries = deliveriesOf(entry, first + stored.length, now);
    stored.push(entry);
    for (const delivery of deliveries) {
      waiting.add(keyOf(delivery));
      expected.handed.set(keyOf(delivery), delivery);
    }
    return { kind: "accepted", deliveries };
  });
  expected.nextNumber += stored.length;
  const settledAt = waiting.size === 0 ? now : null;
  const none = { delivered: new Map(), apart: new Set<string>() };
  const segment = { first, acceptedAt: now, entries: stored, waiting, ...none, settledAt };
  if (stored.length > 0) expected.segments.set(first, segment);
  return receipts;
}

/** Notes the `ref` of these deliveries, which only the engine knows: it is not compared. */
export function learnRefs({ handed }: Expected, receipts: readonly Receipt[]): void {
  const all = receipts.flatMap((receipt) => (receipt.kind === "accepted" ? receipt.deliveries : []));
  for (const delivery of all) {
    const known = handed.get(keyOf(delivery));
    if (known) handed.set(keyOf(delivery), { ...known, ref: delivery.ref });
  }
}

const NO_REF = null as unknown as DeliveryRef;

function deliveriesOf({ source, event, body, deliverTo }: Entry, id: number, now: At): readonly Delivery[] {
  return deliverTo.map((destination) => ({
    ...{ id, destination, ref: NO_REF, source, messageId: event.messageId, type: event.type, body, acceptedAt: now },
    ...{
      attempts: 0,
      firstAttemptAt: null,
      attemptedAt: null,
      replayedAt: null,
      stoodStill: 0,
      dueAt: now,
      finals: [],
    },
  }));
}

/** All that waits, as it is read. */
export function waitingIn({ segments, tried, handed }: Expected): readonly Delivery[] {
  const keys = [...segments.values()].flatMap(({ waiting }) => [...waiting]);
  const first = keys.flatMap((key) => handed.get(key) ?? []);
  return [...first, ...[...tried.values()].filter(waits).map(({ delivery }) => delivery)];
}

export function waits({ last }: Tried): boolean {
  return last === null || last.state === "waiting";
}

export function expectSettle(expected: Expected, key: string, settlement: Settlement): "written" | "gone" {
  const segment = [...expected.segments.values()].find(({ waiting }) => waiting.has(key));
  if (segment) {
    settleFirst(expected, { segment, key, settlement });
    return "written";
  }
  const row = expected.tried.get(key);
  if (!row || !waits(row)) return "gone";
  expected.tried.set(key, after(row.delivery, settlement));
  return "written";
}

type First = { readonly segment: Segment; readonly key: string; readonly settlement: Settlement };

function settleFirst({ tried, handed }: Expected, { segment, key, settlement }: First): void {
  const delivery = handed.get(key);
  segment.waiting.delete(key);
  segment.settledAt = Math.max(segment.settledAt ?? 0, settlement.attemptedAt);
  if (settlement.state === "delivered" && settlement.attempts === 1) segment.delivered.set(key, settlement);
  else if (delivery) {
    segment.apart.add(key);
    tried.set(key, after(delivery, settlement));
  }
}

/** What is read of it after this round. */
function after(delivery: Delivery, settlement: Settlement): Tried {
  const { attempts, firstAttemptAt, attemptedAt, stoodStill, finals } = settlement;
  const dueAt = settlement.state === "waiting" ? settlement.dueAt : delivery.dueAt;
  return {
    delivery: { ...delivery, attempts, firstAttemptAt, attemptedAt, stoodStill, finals, dueAt },
    last: settlement,
  };
}

export function needsPrune(expected: Expected, before: PruneBefore): boolean {
  const states = ["delivered", "failed", "expired"] as const;
  return old(expected, before).length > 0 || states.some((state) => oldTried(expected, state, before).length > 0);
}

/** Segments that are settled, and then those of which at most half waits; and `limit` of each kind that were tried. */
export function expectPrune(expected: Expected, before: PruneBefore, limit: number): PruneCounts {
  const counts = { delivered: 0, failed: 0, expired: 0, unrouted: 0, seen: 0 };
  let events = 0;
  for (const segment of old(expected, before)) {
    if (events >= limit) break;
    counts.delivered += segment.delivered.size;
    counts.unrouted += segment.entries.filter(({ deliverTo }) => deliverTo.length === 0).length;
    events += segment.entries.length;
    dissolve(expected, segment);
  }
  for (const state of ["delivered", "failed", "expired"] as const) {
    const keys = oldTried(expected, state, before).slice(0, limit);
    for (const key of keys) expected.tried.delete(key);
    counts[state] += keys.length;
  }
  return counts;
}

function old({ segments }: Expected, { delivered, sparse = 0 }: PruneBefore): readonly Segment[] {
  const all = [...segments.values()];
  const settled = all.filter(({ waiting, settledAt }) => waiting.size === 0 && (settledAt ?? 0) < delivered);
  const thin = all.filter(({ waiting, entries, acceptedAt }) => {
    return waiting.size > 0 && waiting.size * 2 <= entries.length && acceptedAt < sparse;
  });
  settled.sort((a, b) => (a.settledAt ?? 0) - (b.settledAt ?? 0) || a.first - b.first);
  thin.sort((a, b) => a.acceptedAt - b.acceptedAt || a.first - b.first);
  return [...settled, ...thin];
}

/** The keys of those that settled in this state, the oldest first. */
function oldTried({ tried }: Expected, state: Settlement["state"], before: PruneBefore): readonly string[] {
  const end = state === "delivered" ? before.delivered : before.failed;
  const rows = [...tried].flatMap(([key, { last }]) => (last?.state === state ? [{ key, at: last.attemptedAt }] : []));
  return rows
    .filter(({ at }) => at < end)
    .sort((a, b) => a.at - b.at)
    .map(({ key }) => key);
}

/** By destination and then number. */
function dissolve({ segments, tried, handed }: Expected, { first, waiting }: Segment): void {
  const left = [...waiting].flatMap((key) => handed.get(key) ?? []);
  left.sort((a, b) => (a.destination < b.destination ? -1 : Number(a.destination > b.destination)) || a.id - b.id);
  for (const delivery of left) tried.set(keyOf(delivery), { delivery, last: null });
  segments.delete(first);
}
