import type { Delivery, DeliveryRef } from "../model/delivery.ts";
import type { Backlog, Queue, QueueAsk, QueuePage, ReadQueue } from "../model/ports.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";
import {
  type Ahead,
  createAhead,
  leave,
  mayStay,
  noteFew,
  noteFound,
  noteRead,
  restartFirst,
  searchAsk,
} from "./ahead.ts";
import type { Outage } from "./lane.ts";
import {
  add,
  createMemoryQueue,
  hasRoom,
  isBehind,
  isFull,
  isIdle,
  isLow,
  type MemoryQueue,
  PAGE,
  remove,
  restart,
  takeAll,
  takeOut,
} from "./memory-queue.ts";

/**
 * The part of one destination's backlog that is in memory: its queues of deliveries that were read from the store, and the
 * ids of those being sent. However long the backlog, a window holds no more than a page or two.
 *
 * There are a queue of first attempts and one of retries. Each is read from the store page by page:
 *
 * filling:   a queue that runs low is filled with the page after the last one.
 * complete:  the last page was read. New deliveries are then added straight from their commit while there is room; once
 *            there is none, they are left to be read. Retries are read again when one is due.
 *
 * Sources take turns for first attempts (ahead.ts). Three things change what is read:
 *
 * early:     an outage is over. Retries whose attempts all began in it are read once although they are not due yet.
 * suspect:   the last attempts have all failed, perhaps because of the retries. The newest first attempts are read into a
 *            queue of their own, so that a new event need not wait behind all those before it.
 * aside:     retries whose webhooks have no slot were put back to make room for others, or a delivery met a bug. After a
 *            while everything is read from the start again, except what is in memory.
 */

/** How long until deliveries that were put aside are read again. */
const ASIDE: Ms = 10 * SECOND;
/** How many of the newest first attempts are in memory. */
const LATEST = 32;

export type WindowWorld = { readonly readQueue: ReadQueue; readonly backlog: Pick<Backlog, "nextRetryAt"> };

/** `latest`: first attempts, the newest first. */
export type WindowQueue = Queue | "latest";

export type Window = {
  /** Whether there may be something to read, and room for it. */
  isLow(now: At): boolean;
  /** Whether no delivery waits in memory, and none is left to be read. */
  isIdle(): boolean;
  /** Reads the next page of each queue that runs low. Rejects when the store does. */
  fill(now: At): Promise<void>;
  hasRetry(matches: (delivery: Delivery) => boolean): boolean;
  /** Whether a delivery waits that was never tried. */
  hasFirst(): boolean;
  /** Takes out the first delivery that `tryStart` starts. It counts as being sent until `settled` or `unsettled`. */
  startFirst(queue: WindowQueue, tryStart: (delivery: Delivery) => boolean): boolean;
  /** Whether to read the newest first attempts as well. */
  setSuspect(isSuspect: boolean): void;
  /** Its settlement is written. It is read again at `dueAt`; null: it is not read again. */
  settled(delivery: Delivery, dueAt: At | null): void;
  /** A bug kept it from being settled: it is read again in a while. */
  unsettled(delivery: Delivery, now: At): void;
  /** Sends none of these any more. One that is being sent still ends with `settled`. */
  withdraw(ids: ReadonlySet<number>): void;
  /** Drops those that another daemon delivers now. The store refuses what this one still settles of them. */
  forget(has: (ref: DeliveryRef) => boolean): void;
  /**
   * Called when no retry can start. Puts the retries aside if they keep others from being read, unless one of them
   * `willHaveSlot` in a moment. Answers whether there may be others to read.
   */
  setAside(now: At, willHaveSlot: (delivery: Delivery) => boolean): boolean;
  /** Reads everything again: the store has moved deliveries from one queue to the other. */
  readAgain(): void;
  /**
   * Adds a delivery that was committed just now, so that it need not be read. Answers whether it is the only one that waits
   * for its first attempt: where others wait, it would find no slot either.
   */
  enqueue(delivery: Delivery): boolean;
  /** Also reads retries that are not due yet, if all their attempts began in this outage. */
  retryEarly(outage: Outage): void;
  /** When the next retry should be read, or null if none is expected or there is no room for it yet. */
  nextDueAt(): At | null;
};

export function createWindow(destination: string, world: WindowWorld): Window {
  const state: State = {
    ...createAhead(),
    retry: createMemoryQueue(),
    known: new Set(),
    over: new Set(),
    latest: { ...createMemoryQueue(), more: false },
    isSuspect: false,
    nextDueAt: null,
    early: null,
    asideUntil: null,
  };
  const { first, ahead, retry, latest, known } = state;
  return {
    isLow(now) {
      noticeTime(state, now);
      return isLow(first) || isLow(retry) || latest.more || isLow(ahead);
    },
    isIdle: () => isIdle(retry) && !first.more && !hasFirst(state),
    async fill(now) {
      noticeTime(state, now);
      if (isLow(first)) await readFirst(state, { destination, world });
      if (latest.more) await readLatest(state, { destination, world });
      if (isLow(ahead)) await search(state, { destination, world });
      if (isLow(retry)) await readRetries(state, now, { destination, world });
    },
    hasRetry: (matches) => retry.waiting.some(matches),
    startFirst: (queue, tryStart) => startFirst(queue, tryStart, state),
    hasFirst: () => hasFirst(state),
    setSuspect: (isSuspect) => setSuspect(isSuspect, state),
    settled(delivery, dueAt) {
      known.delete(delivery.id);
      if (dueAt === null) return passOver(delivery.id, state);
      noteDue(state, dueAt);
      // If its settlement was written after it was due, later retries may have been read already: it would be passed over.
      if (isBehind({ dueAt, id: delivery.id }, retry.after)) restart(retry);
    },
    unsettled({ id }, now) {
      known.delete(id);
      state.asideUntil ??= now + ASIDE;
    },
    setAside: (now, willHaveSlot) => setAside(now, willHaveSlot, state),
    withdraw: (ids) => withdraw(ids, state),
    forget: (has) => withdraw(idsOf(has, state), state),
    readAgain: () => readAllAgain(state),
    enqueue: (delivery) => enqueue(delivery, state),
    retryEarly(outage) {
      const { from, until } = state.early ?? outage;
      state.early = { from: Math.min(from, outage.from), until: Math.max(until, outage.until) };
      restart(retry);
    },
    nextDueAt: () => earliest(state.asideUntil, hasRoom(retry) ? state.nextDueAt : null),
  };
}

type State = Ahead & {
  readonly retry: MemoryQueue;
  /** The newest first attempts, while the lanes are suspect. `more`: there may be newer ones. */
  readonly latest: MemoryQueue;
  isSuspect: boolean;
  /** The ids of all that is in memory: waiting here, or being sent. */
  readonly known: Set<number>;
  /** The ids that were settled or withdrawn while a page was being read: that page may still have them. */
  readonly over: Set<number>;
  /** When the next retry is due that is not in memory; null if none is known of. */
  nextDueAt: At | null;
  /** Retries of this outage are read before they are due; null at other times. */
  early: Outage | null;
  /** When everything is read again because something was put aside; null if nothing was. */
  asideUntil: At | null;
};

function noticeTime(state: State, now: At): void {
  if (state.asideUntil !== null && now >= state.asideUntil) readAllAgain(state);
  if (state.nextDueAt !== null && now >= state.nextDueAt) state.retry.more = true;
}

type ReadFrom = { readonly destination: string; readonly world: WindowWorld };

async function readFirst(state: State, { destination, world }: ReadFrom): Promise<void> {
  const { first } = state;
  const page = await readPage(first, { destination, queue: "first", after: first.after, dueBy: 0, limit: PAGE }, world);
  addPage(page, first, state);
  noteRead(state);
}

/** Reads first attempts ahead of the others, of sources that have few in memory. */
async function search(state: State, { destination, world }: ReadFrom): Promise<void> {
  const { ahead } = state;
  const page = await readPage(ahead, searchAsk(destination, state), world);
  addPage(page, ahead, state);
  noteFound(page, state);
}

/** Reads the newest first attempts. Those in memory that are no longer among them are unloaded. */
async function readLatest(state: State, { destination, world }: ReadFrom): Promise<void> {
  const { latest, first, known, over } = state;
  const ask = { destination, queue: "first", after: null, dueBy: 0, limit: LATEST, newestFirst: true } as const;
  const { deliveries } = await readPage(latest, ask, world);
  if (!state.isSuspect) return;
  const stale = new Map(takeAll(latest).map((delivery) => [delivery.id, delivery]));
  for (const delivery of deliveries.slice(0, LATEST)) {
    if (!stale.delete(delivery.id) && (known.has(delivery.id) || over.has(delivery.id))) continue;
    if (!hasRoom(latest)) break;
    known.add(delivery.id);
    add(delivery, latest);
  }
  unload([...stale.values()], state);
  if (!first.isReading) over.clear();
}

/** Drops these first attempts from memory, and leaves them to be read again. */
function unload(deliveries: readonly Delivery[], state: State): void {
  for (const delivery of deliveries) {
    state.known.delete(delivery.id);
    if (isBehind(delivery, state.first.after)) restartFirst(state);
    else leave(delivery, state);
  }
}

function setSuspect(isSuspect: boolean, state: State): void {
  if (isSuspect === state.isSuspect) return;
  const { latest, first } = state;
  state.isSuspect = isSuspect;
  latest.more = isSuspect && first.more;
  if (!isSuspect) unload(takeAll(latest), state);
}

function startFirst(queue: WindowQueue, tryStart: (delivery: Delivery) => boolean, state: State): boolean {
  const { first, ahead, retry, latest } = state;
  if (queue === "retry") return takeOut(retry, retry.waiting.findIndex(tryStart));
  if (queue === "first") return startInTurn(tryStart, state);
  if (latest.waiting.length === 0) {
    // When nothing is left to be read, the newest delivery is the last one of a queue.
    return [ahead, first].some((from) => takeOut(from, from.waiting.findLastIndex(tryStart)));
  }
  if (!takeOut(latest, latest.waiting.findIndex(tryStart))) return false;
  if (latest.waiting.length === 0) latest.more = first.more;
  return true;
}

/** Starts the first one of the source whose turn it is, or of the next. */
function startInTurn(tryStart: (delivery: Delivery) => boolean, state: State): boolean {
  for (const source of state.first.turns?.keys() ?? []) {
    const isNext = (delivery: Delivery): boolean => delivery.source === source && tryStart(delivery);
    for (const queue of oldestFirst(source, state)) {
      if (!takeOut(queue, queue.waiting.findIndex(isNext))) continue;
      noteFew(source, state);
      return true;
    }
  }
  return false;
}

/** The queues in which the source may wait, the one with its oldest first. */
function oldestFirst(source: string, { first, ahead }: State): readonly MemoryQueue[] {
  if (ahead.waiting.length === 0) return [first];
  const [inFirst, inAhead] = [first, ahead].map(({ waiting }) => waiting.find((one) => one.source === source));
  return inFirst && inAhead && inAhead.id < inFirst.id ? [ahead, first] : [first, ahead];
}

function hasFirst({ first, ahead, latest }: State): boolean {
  return first.waiting.length > 0 || ahead.waiting.length > 0 || latest.waiting.length > 0;
}

async function readPage(queue: MemoryQueue, ask: QueueAsk, { readQueue }: WindowWorld): Promise<QueuePage> {
  // Set before the read, so that a delivery that is committed meanwhile is not overlooked.
  Object.assign(queue, { more: false, isReading: true, isRestarted: false });
  try {
    return await readQueue(ask);
  } catch (error) {
    queue.more = true;
    throw error;
  } finally {
    queue.isReading = false;
  }
}

async function readRetries(state: State, now: At, { destination, world }: ReadFrom): Promise<void> {
  const { retry, early } = state;
  const dueBy = early === null ? now : Number.MAX_SAFE_INTEGER;
  const page = await readPage(retry, { destination, queue: "retry", after: retry.after, dueBy, limit: PAGE }, world);
  addPage(page, retry, state);
  if (page.more || retry.isRestarted) return;
  if (early !== null) {
    // Retries that must wait were passed over. They are read when they are due, from the start.
    state.early = null;
    return restart(retry);
  }
  // The old value stays until there is a new one, so that a store that fails now is asked again.
  const before = state.nextDueAt;
  const stored = await world.backlog.nextRetryAt(destination, retry.after);
  if (state.nextDueAt === before) state.nextDueAt = null;
  if (stored !== null) noteDue(state, stored);
}

/** Once one delivery is left to be read, so are all behind it, but for those of sources that have few in memory. */
function enqueue(delivery: Delivery, state: State): boolean {
  const { first, ahead, latest, known, isSuspect } = state;
  const isOnly = isIdle(first) && ahead.waiting.length === 0;
  // It has been read since its commit.
  if (known.has(delivery.id)) return isOnly;
  // It is out of order, which should not happen. Everything is read again, so that it is not overlooked.
  if (isBehind(delivery, first.after)) restartFirst(state);
  const isBehindOthers = first.more || first.isReading || isFull(first);
  if (isBehindOthers && !mayStay(delivery, state)) {
    leave(delivery, state);
    latest.more = isSuspect;
    return isOnly;
  }
  if (!isBehindOthers) first.after = { dueAt: delivery.dueAt, id: delivery.id };
  known.add(delivery.id);
  add(delivery, isBehindOthers ? ahead : first);
  return isOnly;
}

function addPage(page: QueuePage, queue: MemoryQueue, { known, over, early }: State): void {
  const { deliveries, more } = page;
  const last = page.upTo ?? deliveries.at(-1);
  if (last && !queue.isRestarted) queue.after = { dueAt: last.dueAt, id: last.id };
  if (more) queue.more = true;
  for (const delivery of deliveries) {
    if ((early !== null && mustWait(delivery, early)) || known.has(delivery.id) || over.has(delivery.id)) continue;
    known.add(delivery.id);
    add(delivery, queue);
  }
  over.clear();
}

/** A delivery that failed while the receiver accepted others, before the outage or since, may be the cause itself. */
function mustWait({ attemptedAt, firstAttemptAt }: Delivery, { from, until }: Outage): boolean {
  return (attemptedAt ?? 0) >= until || (firstAttemptAt ?? from) < from;
}

function idsOf(has: (ref: DeliveryRef) => boolean, { first, ahead, retry, latest }: State): ReadonlySet<number> {
  const waiting = [first, ahead, retry, latest].flatMap((queue) => queue.waiting);
  return new Set(waiting.filter(({ ref }) => has(ref)).map(({ id }) => id));
}

function setAside(now: At, willHaveSlot: (delivery: Delivery) => boolean, state: State): boolean {
  const { retry, known } = state;
  if (hasRoom(retry) || retry.waiting.some(willHaveSlot)) return false;
  for (const { id } of takeAll(retry)) known.delete(id);
  state.asideUntil ??= now + ASIDE;
  return retry.more;
}

function withdraw(ids: ReadonlySet<number>, state: State): void {
  const { first, ahead, retry, latest, known } = state;
  for (const id of [first, ahead, retry, latest].flatMap((queue) => remove(queue, ids))) known.delete(id);
  for (const id of ids) passOver(id, state);
}

function passOver(id: number, { first, ahead, retry, latest, over }: State): void {
  if ([first, ahead, retry, latest].some(({ isReading }) => isReading)) over.add(id);
}

function noteDue(state: State, dueAt: At): void {
  state.nextDueAt = Math.min(state.nextDueAt ?? dueAt, dueAt);
}

function readAllAgain(state: State): void {
  state.asideUntil = null;
  restartFirst(state);
  restart(state.retry);
}

/** The earlier of two points in time; null is never. */
export function earliest(a: At | null, b: At | null): At | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
