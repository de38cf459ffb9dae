import type { Delivery, DeliveryRef } from "../model/delivery.ts";
import type { Backlog, Queue, QueueAsk, QueuePage, QueuePosition, ReadQueue } from "../model/ports.ts";
import { type At, KB, type Ms, SECOND } from "../model/units.ts";
import type { Outage } from "./lane.ts";
import type { Lines } from "./lines.ts";

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
 * Three things change what is read:
 *
 * early:     an outage is over. Retries whose attempts all began in it are read once although they are not due yet.
 * suspect:   the last attempts have all failed, perhaps because of the retries. The newest first attempts are read into a
 *            queue of their own, so that a new event need not wait behind all those before it.
 * aside:     retries whose webhooks have no slot were put back to make room for others, or a delivery met a bug. After a
 *            while everything is read from the start again, except what is in memory.
 *
 * For a destination with an order (order.ts), the deliveries here are those that have their turn. Others that are read only join
 * their line. The newest are not read before the oldest.
 */

/** How long until deliveries that were put aside are read again. */
const ASIDE: Ms = 10 * SECOND;
/** What was sent again so long before the last read may have been committed after it. */
const RECENT: Ms = 5 * SECOND;
/** How many of the newest first attempts are in memory. */
const LATEST = 32;
/** Deliveries that are read at once. */
const PAGE = 256;
const LOW = PAGE / 2;
/** Characters of bodies in a queue from which on nothing is added to it: there may be many destinations. */
const MOST_BODIES = 256 * KB;

export type WindowWorld = { readonly readQueue: ReadQueue; readonly backlog: Pick<Backlog, "nextRetryAt"> };

/** `latest`: first attempts, the newest first. */
export type WindowQueue = Queue | "latest";

export type Window = {
  /** Whether it sends the deliveries of each user in order. */
  readonly isOrdered: boolean;
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
  /**
   * What becomes of it is decided, and not written yet. Answers whether another one of its user has its turn now. After a crash
   * both may be sent again, but none for the first time before an earlier one.
   */
  decided(delivery: Delivery, isFinal: boolean): boolean;
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
  /** Reads everything again: the store has moved deliveries from one queue to the other. `retries`: only those are others. */
  readAgain(what: "all" | "retries"): void;
  /**
   * Adds a delivery that was committed just now, so that it need not be read. Answers whether it is the only one that waits
   * for its first attempt: where others wait, it would find no slot either.
   */
  enqueue(delivery: Delivery): boolean;
  /** Also reads retries that are not due yet, if all their attempts began in this outage. */
  retryEarly(outage: Outage): void;
  /** How many deliveries wait for an earlier one of their user, and which of these do. */
  inLine(): number;
  inLineOf(ids: ReadonlySet<number>): ReadonlySet<number>;
  /** When the next retry should be read, or null if none is expected or there is no room for it yet. */
  nextDueAt(): At | null;
};

/** `lines`: null if the destination has no order. */
export function createWindow(destination: string, world: WindowWorld, lines: Lines | null = null): Window {
  const state: State = {
    lines,
    first: createMemoryQueue(),
    retry: createMemoryQueue(),
    known: new Set(),
    over: new Set(),
    latest: { ...createMemoryQueue(), more: false },
    isSuspect: false,
    nextDueAt: null,
    early: null,
    asideUntil: null,
    isFirstAside: false,
    readAt: 0,
  };
  const { first, retry, latest, known } = state;
  return {
    isOrdered: lines !== null,
    isLow(now) {
      noticeTime(state, now);
      return isLow(first) || isLow(retry) || latest.more || hasNext(state);
    },
    isIdle: () => isIdle(first) && isIdle(retry) && latest.waiting.length === 0 && !lines?.hasNext(),
    async fill(now) {
      noticeTime(state, now);
      if (lines !== null && !(await loadNext(lines, now, state))) return;
      if (isLow(first)) await readFirst(state, { destination, world });
      if (latest.more) await readLatest(state, { destination, world });
      if (isLow(retry)) await readRetries(state, now, { destination, world });
    },
    hasRetry: (matches) => retry.waiting.some(matches),
    startFirst: (queue, tryStart) => startFirst(queue, tryStart, state),
    hasFirst: () => first.waiting.length > 0 || latest.waiting.length > 0,
    setSuspect: (isSuspect) => setSuspect(isSuspect && lines === null, state),
    decided(delivery, isFinal) {
      if (isFinal) return lines?.over(delivery.id) ?? false;
      lines?.block(delivery.id);
      return false;
    },
    settled(delivery, dueAt) {
      known.delete(delivery.id);
      if (dueAt === null) return passOver(delivery.id, state);
      noteDue(state, dueAt);
      // If its settlement was written after it was due, later retries may have been read already: it would be passed over.
      rewind(retry, { dueAt, id: delivery.id });
    },
    unsettled({ id }, now) {
      known.delete(id);
      state.asideUntil ??= now + ASIDE;
      state.isFirstAside = true;
    },
    setAside: (now, willHaveSlot) => setAside(now, willHaveSlot, state),
    withdraw: (ids) => withdraw(ids, state),
    forget(has) {
      withdraw(idsOf(has, state), state);
      if (lines !== null) beginAgain(lines, state);
    },
    readAgain(what) {
      if (what === "retries") readReplayed(state);
      else if (lines !== null) beginAgain(lines, state);
      else readAllAgain(state);
    },
    enqueue: (delivery) => enqueue(delivery, state),
    retryEarly(outage) {
      const { from, until } = state.early ?? outage;
      state.early = { from: Math.min(from, outage.from), until: Math.max(until, outage.until) };
      restart(retry);
    },
    inLine: () => lines?.waiting() ?? 0,
    inLineOf: (ids) => lines?.waitingOf(ids) ?? new Set(),
    nextDueAt: () => earliest(state.asideUntil, hasRoom(retry) ? state.nextDueAt : null),
  };
}

type State = {
  readonly lines: Lines | null;
  readonly first: MemoryQueue;
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
  /** Whether that may be a first attempt. */
  isFirstAside: boolean;
  /** When retries were last read. */
  readAt: At;
};

function noticeTime(state: State, now: At): void {
  if (state.asideUntil !== null && now >= state.asideUntil) {
    // An order would read all those in lines again: what was put aside are retries, unless there was a bug.
    if (state.lines === null || state.isFirstAside) readAllAgain(state);
    else restart(state.retry);
    state.asideUntil = null;
  }
  if (state.nextDueAt !== null && now >= state.nextDueAt) state.retry.more = true;
}

type ReadFrom = { readonly destination: string; readonly world: WindowWorld };

async function readFirst(state: State, { destination, world }: ReadFrom): Promise<void> {
  const { first } = state;
  const page = await readPage(first, { destination, queue: "first", after: first.after, dueBy: 0, limit: PAGE }, world);
  addPage(page, first, state);
}

/** Whether there is something to read for the order, and room for it. */
function hasNext({ lines, first }: State): boolean {
  return lines !== null && (lines.isSettingUp() || (lines.hasNext() && hasRoom(first)));
}

/** Loads those whose turn has come. Answers false while the order is not known yet. */
async function loadNext(lines: Lines, now: At, state: State): Promise<boolean> {
  if (!hasNext(state)) return true;
  const { known, over, first, retry } = state;
  for (const later of lines.takeLater(now)) {
    noteDue(state, later.dueAt);
    rewind(retry, later);
  }
  for (const { delivery, queue } of await lines.read((id) => known.has(id) || over.has(id))) {
    known.add(delivery.id);
    add(delivery, queue === "first" ? first : retry);
  }
  over.clear();
  return !lines.isSettingUp();
}

/** The store has moved deliveries, perhaps before some that are in memory: all but what is being sent is read again. */
function beginAgain(lines: Lines, state: State): void {
  const { first, retry, latest, known } = state;
  for (const queue of [first, retry, latest]) {
    for (const { id } of queue.waiting.splice(0)) known.delete(id);
    queue.size = 0;
  }
  lines.beginAgain(known);
  readAllAgain(state);
}

/** Reads the newest first attempts. Those in memory that are no longer among them are unloaded. */
async function readLatest(state: State, { destination, world }: ReadFrom): Promise<void> {
  const { latest, first, known, over } = state;
  const ask = { destination, queue: "first", after: null, dueBy: 0, limit: LATEST, newestFirst: true } as const;
  const { deliveries } = await readPage(latest, ask, world);
  if (!state.isSuspect) return;
  const stale = new Map(latest.waiting.splice(0).map((delivery) => [delivery.id, delivery]));
  latest.size = 0;
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
function unload(deliveries: readonly Delivery[], { first, latest, known }: State): void {
  if (latest.waiting.length === 0) latest.size = 0;
  for (const delivery of deliveries) {
    known.delete(delivery.id);
    if (isBehind(delivery, first.after)) restart(first);
    else first.more = true;
  }
}

function setSuspect(isSuspect: boolean, state: State): void {
  if (isSuspect === state.isSuspect) return;
  const { latest, first } = state;
  state.isSuspect = isSuspect;
  latest.more = isSuspect && first.more;
  if (!isSuspect) unload(latest.waiting.splice(0), state);
}

function startFirst(queue: WindowQueue, tryStart: (delivery: Delivery) => boolean, state: State): boolean {
  const { first, latest } = state;
  if (queue !== "latest") return takeOut(state[queue], state[queue].waiting.findIndex(tryStart));
  // When nothing is left to be read, the newest delivery is the last one of the queue.
  if (latest.waiting.length === 0) return takeOut(first, first.waiting.findLastIndex(tryStart));
  if (!takeOut(latest, latest.waiting.findIndex(tryStart))) return false;
  if (latest.waiting.length === 0) latest.more = first.more;
  return true;
}

function takeOut(queue: MemoryQueue, index: number): boolean {
  if (index < 0) return false;
  const [taken] = index === 0 ? [queue.waiting.shift()] : queue.waiting.splice(index, 1);
  queue.size -= taken?.body.length ?? 0;
  return true;
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
  state.readAt = now;
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

/** Keeps the queue without gaps: once one delivery is left to be read, all behind it are. */
function enqueue(delivery: Delivery, { first, latest, known, isSuspect, lines }: State): boolean {
  const isOnly = isIdle(first);
  // It has been read since its commit.
  if (known.has(delivery.id)) return isOnly;
  // It is out of order, which should not happen. Everything is read again, so that it is not overlooked.
  if (isBehind(delivery, first.after)) restart(first);
  if (first.more || first.isReading || isFull(first) || lines?.isSettingUp()) {
    first.more = true;
    latest.more = isSuspect;
    return isOnly;
  }
  first.after = { dueAt: delivery.dueAt, id: delivery.id };
  if (lines?.admit(delivery, "first") === false) return false;
  known.add(delivery.id);
  add(delivery, first);
  return isOnly;
}

function addPage(page: QueuePage, queue: MemoryQueue, { known, over, early, retry, lines }: State): void {
  const { deliveries, more } = page;
  const last = page.upTo ?? deliveries.at(-1);
  if (last && !queue.isRestarted) queue.after = { dueAt: last.dueAt, id: last.id };
  if (more) queue.more = true;
  // It was begun again meanwhile: the page is read once more.
  if (lines?.isSettingUp()) return;
  for (const delivery of deliveries) {
    if ((early !== null && mustWait(delivery, early)) || known.has(delivery.id) || over.has(delivery.id)) continue;
    if (lines?.admit(delivery, queue === retry ? "retry" : "first") === false) continue;
    known.add(delivery.id);
    add(delivery, queue);
  }
  over.clear();
}

/** A delivery that failed while the receiver accepted others, before the outage or since, may be the cause itself. */
function mustWait({ attemptedAt, firstAttemptAt }: Delivery, { from, until }: Outage): boolean {
  return (attemptedAt ?? 0) >= until || (firstAttemptAt ?? from) < from;
}

function idsOf(has: (ref: DeliveryRef) => boolean, { first, retry, latest }: State): ReadonlySet<number> {
  const waiting = [first, retry, latest].flatMap((queue) => queue.waiting);
  return new Set(waiting.filter(({ ref }) => has(ref)).map(({ id }) => id));
}

function setAside(now: At, willHaveSlot: (delivery: Delivery) => boolean, state: State): boolean {
  const { retry, known } = state;
  if (hasRoom(retry) || retry.waiting.some(willHaveSlot)) return false;
  for (const { id } of retry.waiting.splice(0)) known.delete(id);
  retry.size = 0;
  state.asideUntil ??= now + ASIDE;
  return retry.more;
}

function withdraw(ids: ReadonlySet<number>, state: State): void {
  const { first, retry, latest, known, lines } = state;
  for (const id of [first, retry, latest].flatMap((queue) => remove(queue, ids))) known.delete(id);
  for (const id of ids) passOver(id, state);
  // One that is being sent keeps its turn until it is settled.
  if (lines !== null) for (const id of ids) if (!known.has(id)) lines.over(id);
}

function passOver(id: number, { first, retry, latest, lines, over }: State): void {
  if (first.isReading || retry.isReading || latest.isReading || lines?.isReading()) over.add(id);
}

function noteDue(state: State, dueAt: At): void {
  state.nextDueAt = Math.min(state.nextDueAt ?? dueAt, dueAt);
}

/** What was sent again is due since then. An order would read all those in lines again, if it began at the start. */
function readReplayed({ retry, lines, readAt }: State): void {
  const { after } = retry;
  restart(retry);
  if (lines !== null && after !== null) retry.after = { dueAt: Math.min(after.dueAt, readAt - RECENT), id: 0 };
}

function readAllAgain(state: State): void {
  Object.assign(state, { asideUntil: null, isFirstAside: false });
  restart(state.first);
  restart(state.retry);
}

/** The earlier of two points in time; null is never. */
export function earliest(a: At | null, b: At | null): At | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

/** One queue of a window: the deliveries that were read and wait to be sent, and how far it was read. */
type MemoryQueue = {
  readonly waiting: Delivery[];
  /** Of their bodies, in characters. */
  size: number;
  /** Everything up to here was read. */
  after: QueuePosition | null;
  /** Whether there may be something behind it. */
  more: boolean;
  /** Whether a page is being read. */
  isReading: boolean;
  /** Whether it was to be read from the start again while the last page was being read, which says nothing of its place then. */
  isRestarted: boolean;
};

function createMemoryQueue(): MemoryQueue {
  return { waiting: [], size: 0, after: null, more: true, isReading: false, isRestarted: false };
}

function isLow(queue: MemoryQueue): boolean {
  return queue.more && hasRoom(queue);
}

function isIdle({ waiting, more }: MemoryQueue): boolean {
  return waiting.length === 0 && !more;
}

function hasRoom({ waiting, size }: MemoryQueue): boolean {
  return waiting.length < LOW && size < MOST_BODIES;
}

/** New deliveries are left to be read later. */
function isFull({ waiting, size }: MemoryQueue): boolean {
  return waiting.length >= PAGE || size >= MOST_BODIES;
}

function add(delivery: Delivery, queue: MemoryQueue): void {
  queue.waiting.push(delivery);
  queue.size += delivery.body.length;
}

/** Removes those of them that wait here. Answers which they were. */
function remove(queue: MemoryQueue, ids: ReadonlySet<number>): readonly number[] {
  const gone = queue.waiting.filter(({ id }) => ids.has(id));
  if (gone.length === 0) return [];
  const left = queue.waiting.filter(({ id }) => !ids.has(id));
  queue.waiting.splice(0, queue.waiting.length, ...left);
  for (const { body } of gone) queue.size -= body.length;
  return gone.map(({ id }) => id);
}

function isBehind({ dueAt, id }: QueuePosition, after: QueuePosition | null): boolean {
  return after !== null && (dueAt < after.dueAt || (dueAt === after.dueAt && id <= after.id));
}

/** Reads on from this position, if it was read already. */
function rewind(queue: MemoryQueue, { dueAt, id }: QueuePosition): void {
  if (!isBehind({ dueAt, id }, queue.after)) return;
  restart(queue);
  queue.after = { dueAt, id: id - 1 };
}

function restart(queue: MemoryQueue): void {
  queue.after = null;
  queue.more = true;
  queue.isRestarted = true;
}
