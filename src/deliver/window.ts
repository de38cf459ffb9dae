/**
 * The part of one destination's backlog that is in memory: two queues of deliveries that were read from the store, and
 * the ids of those being sent. However long the backlog, a window holds no more than a page or two.
 *
 * reading:  a queue that runs low is filled with the next page after the last one read.
 * read:     the last page ends the reading, until `expect` or `arrived` says that there is something again.
 * hurrying: a lane has opened again, and retries that are not due yet are read as well (once, those from before).
 */
import type { Delivery } from "../model/delivery.ts";
import type { Backlog, ClaimPage, Claims, Position, Queue } from "../model/ports.ts";
import type { At } from "../model/units.ts";

const PAGE = 256;
const LOW = PAGE / 2;

export type WindowWorld = { readonly claims: Claims; readonly backlog: Pick<Backlog, "nextRetryAt"> };

export type Window = {
  /** Reads on where a queue runs low. Rejects when the store does. */
  fill(now: At): Promise<void>;
  has(queue: Queue): boolean;
  /** Whether there is a retry like this. */
  hasRetry(like: (delivery: Delivery) => boolean): boolean;
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

export function createWindow(destination: string, world: WindowWorld): Window {
  const state: State = {
    first: { waiting: [], after: null, more: true },
    retry: { waiting: [], after: null, more: true },
    known: new Set(),
    nextDueAt: null,
    hurryBefore: null,
  };
  const { first, retry, known } = state;
  return {
    async fill(now) {
      if (state.nextDueAt !== null && now >= state.nextDueAt) retry.more = true;
      if (isLow(first)) await readFirst(state, { destination, world });
      if (isLow(retry)) await readRetries(state, now, { destination, world });
    },
    has: (queue) => state[queue].waiting.length > 0,
    hasRetry: (like) => retry.waiting.some(like),
    take(queue, starts) {
      const { waiting } = state[queue];
      const index = waiting.findIndex(starts);
      if (index >= 0) waiting.splice(index, 1);
      return index >= 0;
    },
    settled(delivery, dueAt) {
      known.delete(delivery.id);
      if (dueAt !== null) expect(state, dueAt);
    },
    arrived() {
      first.more = true;
    },
    hurry(before) {
      state.hurryBefore = before;
      restart(retry);
    },
    nextDueAt: () => (retry.waiting.length < LOW ? state.nextDueAt : null),
  };
}

type State = {
  readonly first: Reading;
  readonly retry: Reading;
  /** The ids of all that is in memory: waiting here, or being sent. */
  readonly known: Set<number>;
  nextDueAt: At | null;
  hurryBefore: At | null;
};

type Reading = { readonly waiting: Delivery[]; after: Position | null; more: boolean };

function isLow({ waiting, more }: Reading): boolean {
  return more && waiting.length < LOW;
}

type Place = { readonly destination: string; readonly world: WindowWorld };

async function readFirst(state: State, { destination, world }: Place): Promise<void> {
  const { first } = state;
  // Before the question, so that what arrives while it is answered is not overlooked.
  first.more = false;
  const page = await world.claims({ destination, queue: "first", after: first.after, dueBy: 0, limit: PAGE });
  keep(page, first, state);
}

async function readRetries(state: State, now: At, { destination, world }: Place): Promise<void> {
  const { retry, hurryBefore } = state;
  const dueBy = hurryBefore === null ? now : Number.MAX_SAFE_INTEGER;
  retry.more = false;
  const page = await world.claims({ destination, queue: "retry", after: retry.after, dueBy, limit: PAGE });
  keep(page, retry, state);
  if (page.more) return;
  if (hurryBefore !== null) {
    // The hurry has passed over deliveries that keep their wait: they are read again, from the start, when due.
    state.hurryBefore = null;
    return restart(retry);
  }
  state.nextDueAt = null;
  const stored = await world.backlog.nextRetryAt(destination, retry.after);
  if (stored !== null) expect(state, stored);
}

function keep({ deliveries, more }: ClaimPage, reading: Reading, { known, hurryBefore }: State): void {
  const last = deliveries.at(-1);
  if (last) reading.after = { dueAt: last.dueAt, id: last.id };
  if (more) reading.more = true;
  for (const delivery of deliveries) {
    // While hurrying, what has failed after the lane was opened keeps its wait.
    const fresh = hurryBefore !== null && (delivery.attemptedAt ?? 0) >= hurryBefore;
    if (fresh || known.has(delivery.id)) continue;
    known.add(delivery.id);
    reading.waiting.push(delivery);
  }
}

function expect(state: State, dueAt: At): void {
  state.nextDueAt = Math.min(state.nextDueAt ?? dueAt, dueAt);
}

function restart(reading: Reading): void {
  reading.after = null;
  reading.more = true;
}
