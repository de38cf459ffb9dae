import type { Delivery } from "../../../src/model/delivery.ts";
import type { QueueAsk, QueuePage } from "../../../src/model/ports.ts";
import type { At } from "../../../src/model/units.ts";
import { type Expected, type Segment, waitingIn, waits } from "./model.ts";

/** The page that should be answered: of first attempts whole segments, until there are enough. */
export function expectPage(expected: Expected, ask: QueueAsk): QueuePage {
  return ask.queue === "first" ? pageOfFirst(expected, ask) : pageOfRetries(expected, ask);
}

function pageOfFirst(expected: Expected, { destination, after, limit, newestFirst = false }: QueueAsk): QueuePage {
  const deliveries: Delivery[] = [];
  const segments = [...expected.segments.values()];
  for (const segment of newestFirst ? segments.reverse() : segments) {
    const waiting = waitingOf(segment, expected, destination);
    if (newestFirst) deliveries.push(...waiting.toReversed());
    else deliveries.push(...waiting.filter(({ id }) => id > (after?.id ?? 0)));
    if (deliveries.length >= limit) return { deliveries, more: true };
  }
  return { deliveries, more: false };
}

function waitingOf({ waiting }: Segment, { handed }: Expected, destination: string): readonly Delivery[] {
  const all = [...waiting].flatMap((key) => handed.get(key) ?? []);
  return all.filter((delivery) => delivery.destination === destination).sort((a, b) => a.id - b.id);
}

function pageOfRetries(expected: Expected, { destination, after, dueBy, limit }: QueueAsk): QueuePage {
  const deliveries = retriesOf(expected, destination)
    .filter(({ dueAt }) => dueAt <= dueBy)
    .filter(({ dueAt, id }) => after === null || dueAt > after.dueAt || (dueAt === after.dueAt && id > after.id))
    .slice(0, limit);
  return { deliveries, more: deliveries.length === limit };
}

/** In the order in which they are due. */
export function retriesOf({ tried }: Expected, destination: string): readonly Delivery[] {
  const waiting = [...tried.values()].filter(waits).map(({ delivery }) => delivery);
  const mine = waiting.filter((delivery) => delivery.destination === destination);
  return mine.sort((a, b) => a.dueAt - b.dueAt || a.id - b.id);
}

export function expectOldestWaitingAt(expected: Expected, destination: string): At | null {
  const mine = waitingIn(expected).filter((delivery) => delivery.destination === destination);
  return mine.length === 0 ? null : Math.min(...mine.map(({ acceptedAt, replayedAt }) => replayedAt ?? acceptedAt));
}

/** As `crm waiting: 2`, in the order of the alphabet. */
export function expectCounts(expected: Expected): readonly string[] {
  const counts = new Map<string, number>();
  const add = (key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const { destination } of waitingIn(expected)) add(`${destination} waiting`);
  for (const { delivered } of expected.segments.values()) {
    for (const key of delivered.keys()) add(`${expected.handed.get(key)?.destination} delivered`);
  }
  for (const { delivery, last } of expected.tried.values()) {
    if (last !== null && last.state !== "waiting") add(`${delivery.destination} ${last.state}`);
  }
  return [...counts].map(([key, count]) => `${key}: ${count}`).sort();
}
