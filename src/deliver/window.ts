import type { Delivery, DeliveryRef } from "../model/delivery.ts";
import type { Backlog, Queue, QueuePage, QueuePosition, ReadQueue } from "../model/ports.ts";
import { type At, earliest, MINUTE, type Ms, SECOND } from "../model/units.ts";
import {
  type Ahead,
  createAhead,
  leave,
  mayStay,
  noteAnyFew,
  noteFound,
  noteRead,
  restartFirst,
  searchAsk,
  startInTurn,
} from "./ahead.ts";
import { mustWait, type Outage } from "./lane.ts";
import type { Lines } from "./lines.ts";
import {
  add,
  createMemoryQueue,
  hasRoom,
  idsIn,
  isBehind,
  isFull,
  isIdle,
  isLow,
  type MemoryQueue,
  PAGE,
  readPage,
  remove,
  restart,
  rewind,
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
 * aside:     retries whose webhooks have no slot were put back to make room for others. After a while, all retries are read
 *            from the start again, except those in memory. First attempts are, too, if a delivery met a bug.
 *
 * For a destination with an order (order.ts), the deliveries here have their turn, and the others that were read stand
 * in lines. Nothing is then read ahead of older deliveries: neither the newest, nor those of sources with few.
 */

/** How long until deliveries that were put aside are read again. */
const ASIDE: Ms = 10 * SECOND;
/** What was sent again so long before the last read may have been committed after it, or by a daemon whose clock is behind. */
const RECENT: Ms = MINUTE;
/** How many of the newest first attempts are in memory. */
const LATEST = 32;

export type WindowWorld = { readonly readQueue: ReadQueue; readonly backlog: Pick<Backlog, "nextRetryAt"> };

/** `latest`: first attempts, the newest first. */
export type WindowQueue = Queue | "latest";

export type Window = {
  /** Those who wait for an earlier delivery of their user; null if the destination has no order. */
  readonly lines: Lines | null;
  /** Whether there may be something to read, and room for it. */
  isLow(now: At): boolean;
  /** How many deliveries wait in memory for a slot. */
  waiting(): number;
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
   * What becomes of it is decided, and will be written. Answers whether the turn of another one of its user has come. After a
   * crash both may be sent again, but none for the first time after a later one.
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
  /** Reads everything again: the store has moved deliveries from one queue to the other. `retries`: to that of retries. */
  readAgain(what: "all" | "retries"): void;
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

export function createWindow(destination: string, world: WindowWorld, lines: Lines | null = null): Window {
  const state = createState(lines);
  const { first, ahead, retry, latest, known } = state;
  // One page is read at a time.
  const readQueue: ReadQueue = (ask) => {
    state.over.clear();
    return world.readQueue(ask);
  };
  const from = { destination, world: { ...world, readQueue } };
  return {
    lines,
    isLow(now) {
      noticeTime(state, now);
      return isLow(first) || isLow(retry) || latest.more || (lines?.isLow(first) ?? isLow(ahead));
    },
    waiting: () => [first, ahead, retry, latest].reduce((sum, queue) => sum + queue.waiting.length, 0),
    isIdle: () => isIdle(retry) && !first.more && !hasFirst(state) && !lines?.hasNext(),
    async fill(now) {
      noticeTime(state, now);
      for (const later of lines?.takeLater(now) ?? []) readWhenDue(later, state);
      if (lines !== null && !(await lines.load(state))) return;
      if (isLow(first)) await readFirst(state, from);
      if (latest.more) await readLatest(state, from);
      if (lines === null && isLow(ahead)) await search(state, from);
      if (isLow(retry)) await readRetries(state, now, from);
    },
    hasRetry: (matches) => retry.waiting.some(matches),
    startFirst: (queue, tryStart) => startFirst(queue, tryStart, state),
    hasFirst: () => hasFirst(state),
    setSuspect: (isSuspect) => setSuspect(isSuspect && lines === null, state),
    decided: ({ id }, isFinal) => lines?.decided(id, isFinal) ?? false,
    settled({ id }, dueAt) {
      known.delete(id);
      passOver(id, state);
      if (dueAt !== null) readWhenDue({ dueAt, id }, state);
    },
    unsettled({ id }, now) {
      known.delete(id);
      state.asideUntil ??= now + ASIDE;
      state.isFirstAside = true;
    },
    setAside: (now, willHaveSlot) => setAside(now, willHaveSlot, state),
    withdraw: (ids) => withdraw(ids, state),
    forget: (has) => (lines === null ? withdraw(idsIn([first, ahead, retry, latest], has), state) : beginAgain(state)),
    readAgain: (what) => (what === "retries" ? readReplayed(state) : beginAgain(state)),
    enqueue: (delivery) => enqueue(delivery, state),
    retryEarly(outage) {
      const { from, until } = state.early ?? outage;
      state.early = { from: Math.min(from, outage.from), until: Math.max(until, outage.until) };
      restart(retry);
    },
    nextDueAt: () => earliest(state.asideUntil, hasRoom(retry) ? state.nextDueAt : null),
  };
}

function createState(lines: Lines | null): State {
  return {
    lines,
    ...createAhead(),
    retry: createMemoryQueue(),
    known: new Set(),
    over: new Set(),
    latest: { ...createMemoryQueue(), more: false },
    isSuspect: false,
    nextDueAt: null,
    early: null,
    asideUntil: null,
    isFirstAside: false,
    retriesReadAt: 0,
  };
}

type State = Ahead & {
  readonly lines: Lines | null;
  readonly retry: MemoryQueue;
  /** The newest first attempts, while the lanes are suspect. `more`: there may be newer ones. */
  readonly latest: MemoryQueue;
  isSuspect: boolean;
  /** The ids of all that is in memory: waiting here, or being sent. */
  readonly known: Set<number>;
  /** The ids that were settled or withdrawn since the last page was asked for: it may have them as they were before. */
  readonly over: Set<number>;
  /** When the next retry is due that is not in memory; null if none is known of. */
  nextDueAt: At | null;
  /** Retries of this outage are read before they are due; null at other times. */
  early: Outage | null;
  /** When everything is read again because something was put aside; null if nothing was. */
  asideUntil: At | null;
  /** Whether that may be a first attempt. */
  isFirstAside: boolean;
  retriesReadAt: At;
};

function noticeTime(state: State, now: At): void {
  if (state.asideUntil !== null && now >= state.asideUntil) {
    // First attempts only after a bug: reading and searching all of them again costs much.
    if (state.isFirstAside) readAllAgain(state);
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
  const { latest, known, over } = state;
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

function hasFirst({ first, ahead, latest }: State): boolean {
  return first.waiting.length > 0 || ahead.waiting.length > 0 || latest.waiting.length > 0;
}

async function readRetries(state: State, now: At, { destination, world }: ReadFrom): Promise<void> {
  const { retry, early } = state;
  const dueBy = early === null ? now : Number.MAX_SAFE_INTEGER;
  state.retriesReadAt = now;
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

/**
 * When one delivery is left in the store, so are all behind it, except those of sources with few deliveries in memory.
 */
function enqueue(delivery: Delivery, state: State): boolean {
  const { first, ahead, latest, known, isSuspect, lines } = state;
  const isOnly = isIdle(first) && ahead.waiting.length === 0;
  // It has been read since its commit.
  if (known.has(delivery.id)) return isOnly;
  // It is out of order, which should not happen. Everything is read again, so that it is not overlooked.
  if (isBehind(delivery, first.after)) restartFirst(state);
  const isBehindOthers = first.more || first.isReading || isFull(first) || lines?.isSettingUp() === true;
  if (isBehindOthers && (lines !== null || !mayStay(delivery, state))) {
    leave(delivery, state);
    latest.more = isSuspect;
    return isOnly;
  }
  if (!isBehindOthers) first.after = { dueAt: delivery.dueAt, id: delivery.id };
  if (lines?.admit(delivery, "first") === false) return false;
  known.add(delivery.id);
  add(delivery, isBehindOthers ? ahead : first);
  return isOnly;
}

function addPage(page: QueuePage, queue: MemoryQueue, { known, over, early, retry, lines }: State): void {
  const { deliveries, more } = page;
  const last = page.upTo ?? deliveries.at(-1);
  if (last && !queue.isRestarted) queue.after = { dueAt: last.dueAt, id: last.id };
  if (more) queue.more = true;
  // The lines were begun again meanwhile, and so was the queue.
  if (lines?.isSettingUp()) return;
  for (const delivery of deliveries) {
    if ((early !== null && mustWait(delivery, early)) || known.has(delivery.id) || over.has(delivery.id)) continue;
    if (lines?.admit(delivery, queue === retry ? "retry" : "first") === false) continue;
    known.add(delivery.id);
    add(delivery, queue);
  }
}

function setAside(now: At, willHaveSlot: (delivery: Delivery) => boolean, state: State): boolean {
  const { retry, known } = state;
  if (hasRoom(retry) || retry.waiting.some(willHaveSlot)) return false;
  for (const { id } of takeAll(retry)) known.delete(id);
  state.asideUntil ??= now + ASIDE;
  return retry.more;
}

function withdraw(ids: ReadonlySet<number>, state: State): void {
  const { first, ahead, retry, latest, known, lines } = state;
  for (const id of [first, ahead, retry, latest].flatMap((queue) => remove(queue, ids))) known.delete(id);
  for (const id of ids) passOver(id, state);
  noteAnyFew(state);
  // One that is being sent keeps its turn until it is settled.
  if (lines !== null) for (const id of ids) if (!known.has(id)) lines.over(id);
}

function passOver(id: number, { first, ahead, retry, latest, lines, over }: State): void {
  if ([first, ahead, retry, latest, lines].some((one) => one?.isReading)) over.add(id);
}

/** If its settlement was written after it was due, later retries may have been read already, or are just now: it would be missed. */
function readWhenDue(due: QueuePosition, state: State): void {
  noteDue(state, due.dueAt);
  if (state.retry.isReading && due.dueAt <= state.retriesReadAt) restart(state.retry, state.retry.after);
  rewind(state.retry, due);
}

function noteDue(state: State, dueAt: At): void {
  state.nextDueAt = Math.min(state.nextDueAt ?? dueAt, dueAt);
}

/** What was sent again is due since then. To begin at the start would read all retries that stand in lines. */
function readReplayed({ retry, lines, retriesReadAt }: State): void {
  const { after } = retry;
  restart(retry);
  if (lines !== null && after !== null) retry.after = { dueAt: Math.min(after.dueAt, retriesReadAt - RECENT), id: 0 };
}

/** What was moved may stand before some that have their turn: with lines, all but what is being sent is read once more. */
function beginAgain(state: State): void {
  const { first, ahead, retry, latest, known, lines } = state;
  readAllAgain(state);
  if (lines === null) return;
  for (const queue of [first, ahead, retry, latest]) for (const { id } of takeAll(queue)) known.delete(id);
  lines.beginAgain(known);
}

function readAllAgain(state: State): void {
  Object.assign(state, { asideUntil: null, isFirstAside: false });
  restartFirst(state);
  restart(state.retry);
}
