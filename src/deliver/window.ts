/**
 * The part of one destination's backlog that is in memory: two queues of deliveries that were read from the store, and
 * the ids of those being sent. However long the backlog, a window holds no more than a page or two.
 *
 * reading:  a queue that runs low is filled with the next page after the last one read.
 * read:     the last page ends the reading, until `expect` or `arrived` says that there is something again.
 * hurrying: a lane has opened again, and retries that are not due yet are read as well (once, those from before).
 */
import type { Delivery } from "../model/delivery.ts";
import type { Backlog, Claims, Position, Queue } from "../model/ports.ts";
import type { At } from "../model/units.ts";

const PAGE = 256;
const LOW = PAGE / 2;

export type WindowWorld = { readonly claims: Claims; readonly backlog: Pick<Backlog, "nextRetryAt"> };

export type Window = {
  /** Reads on where a queue runs low. Rejects when the store does. */
  fill(now: At): Promise<void>;
  has(queue: Queue): boolean;
  /** Takes the first delivery that `starts` agrees to; it is known as being sent until `settled`. */
  take(queue: Queue, starts: (delivery: Delivery) => boolean): boolean;
  /** It has been written, and may be read again if it still waits. */
  settled(delivery: Delivery, dueAt: At | null): void;
  /** New deliveries were committed. */
  arrived(): void;
  /** Reads also what is not due yet, if it was last tried before `before`. */
  hurry(before: At): void;
  /** When the next retry should be read, or null if none is expected or there is no room for it yet. */
  nextDueAt(): At | null;
};

type Reading = { readonly waiting: Delivery[]; after: Position | null; more: boolean };

export function createWindow(destination: string, { claims, backlog }: WindowWorld): Window {
  const first: Reading = { waiting: [], after: null, more: true };
  const retry: Reading = { waiting: [], after: null, more: true };
  const known = new Set<number>();
  let nextDueAt: At | null = null;
  let hurryBefore: At | null = null;

  return {
    async fill(now) {
      if (nextDueAt !== null && now >= nextDueAt) retry.more = true;
      if (isLow(first)) await read("first", first, { dueBy: now });
      if (isLow(retry)) await read("retry", retry, { dueBy: hurryBefore === null ? now : Number.MAX_SAFE_INTEGER });
    },
    has: (queue) => readingOf(queue).waiting.length > 0,
    take(queue, starts) {
      const { waiting } = readingOf(queue);
      const index = waiting.findIndex(starts);
      if (index >= 0) waiting.splice(index, 1);
      return index >= 0;
    },
    settled(delivery, dueAt) {
      known.delete(delivery.id);
      if (dueAt !== null) expect(dueAt);
    },
    arrived() {
      first.more = true;
    },
    hurry(before) {
      hurryBefore = before;
      restart(retry);
    },
    nextDueAt: () => (retry.waiting.length < LOW ? nextDueAt : null),
  };

  function readingOf(queue: Queue): Reading {
    return queue === "first" ? first : retry;
  }

  function isLow({ waiting, more }: Reading): boolean {
    return more && waiting.length < LOW;
  }

  async function read(queue: Queue, reading: Reading, { dueBy }: { dueBy: At }): Promise<void> {
    // Before the question, so that what arrives while it is answered is not overlooked.
    reading.more = false;
    const { deliveries, more } = await claims({ destination, queue, after: reading.after, dueBy, limit: PAGE });
    const last = deliveries.at(-1);
    if (last) reading.after = { dueAt: last.dueAt, id: last.id };
    for (const delivery of deliveries) {
      if (known.has(delivery.id) || isTooFresh(queue, delivery)) continue;
      known.add(delivery.id);
      reading.waiting.push(delivery);
    }
    if (more) reading.more = true;
    if (!more && queue === "retry") await endOfRetries();
  }

  /** While hurrying, what failed after the lane had opened keeps its wait. */
  function isTooFresh(queue: Queue, { attemptedAt }: Delivery): boolean {
    return queue === "retry" && hurryBefore !== null && attemptedAt !== null && attemptedAt >= hurryBefore;
  }

  async function endOfRetries(): Promise<void> {
    // The hurry has passed over deliveries that keep their wait: they are read again, from the start, when due.
    if (hurryBefore !== null) {
      hurryBefore = null;
      return restart(retry);
    }
    nextDueAt = null;
    const stored = await backlog.nextRetryAt(destination, retry.after);
    if (stored !== null) expect(stored);
  }

  function expect(dueAt: At): void {
    nextDueAt = Math.min(nextDueAt ?? dueAt, dueAt);
  }

  function restart(reading: Reading): void {
    reading.after = null;
    reading.more = true;
  }
}
