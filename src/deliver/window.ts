import type { Delivery, DeliveryRef } from "../model/delivery.ts";
import type { Backlog, ClaimAsk, ClaimPage, Claims, Position, Queue } from "../model/ports.ts";
import { type At, KB, type Ms, SECOND } from "../model/units.ts";
import type { Outage } from "./lane.ts";

/**
 * The part of one destination's backlog that is in memory: two queues of deliveries that were read from the store, and
 * the ids of those being sent. However long the backlog, a window holds no more than a page or two.
 *
 * reading:  a queue that runs low is filled with the next page after the last one read.
 * read:     the last page was read. From then on new deliveries come straight from their commit while there is room, and
 *           are left to be read once there is none; retries are read again when one is due.
 * hurrying: an outage is over, and retries that are not due yet are read as well: once, those whose attempts all began
 *           in it.
 * suspect:  the last attempts have all failed, perhaps because of the deliveries that were tried: the newest first
 *           attempts are read as well, so that a new event need not wait behind all those before it.
 * aside:    retries that wait for a webhook without a slot were put back to make room for others, or a delivery met a
 *           bug. After a while everything is read from the start again, except what is in memory.
 */

/** How long until deliveries that were put aside are read again. */
const ASIDE: Ms = 10 * SECOND;
/** How many of the newest first attempts are in memory. */
const LATEST = 32;

export type WindowWorld = { readonly claims: Claims; readonly backlog: Pick<Backlog, "nextRetryAt"> };

/** `latest`: first attempts, the newest first. */
export type WindowQueue = Queue | "latest";

export type Window = {
  /** Whether there may be something to read, and room for it. */
  isLow(now: At): boolean;
  /** Whether no delivery waits here, and none is left to be read. */
  isIdle(): boolean;
  /** Reads on where a queue runs low. Rejects when the store does. */
  fill(now: At): Promise<void>;
  /** Whether there is a retry like this. */
  hasRetry(like: (delivery: Delivery) => boolean): boolean;
  /** Takes out the first delivery that `tryStart` starts. It counts as being sent until `settled`. */
  startFirst(queue: WindowQueue, tryStart: (delivery: Delivery) => boolean): boolean;
  /** Whether a delivery is here that was never tried. */
  hasFirst(): boolean;
  /** Whether the newest first attempts are wanted as well. */
  setSuspect(isSuspect: boolean): void;
  /** Its settlement is written. It is read again when it is due, or with null not at all. */
  settled(delivery: Delivery, dueAt: At | null): void;
  /** It was not settled: it is read again in a while. */
  unsettled(delivery: Delivery, now: At): void;
  /** These must not be sent any more. One that is being sent still ends with `settled`. */
  withdraw(ids: ReadonlySet<number>): void;
  /** The same of those that another daemon delivers now. The store refuses what is still settled here. */
  forget(has: (ref: DeliveryRef) => boolean): void;
  /**
   * No retry here can start. Puts them aside if they keep others from being read, unless one of them will have a slot in a
   * moment. Answers whether there may be others.
   */
  setAside(now: At, inLine: (delivery: Delivery) => boolean): boolean;
  /** Deliveries were moved from one queue to the other in the store: reads everything again. */
  readAgain(): void;
  /**
   * This one was committed just now: it need not be read if there is room for it. Answers whether it is the only one that
   * waits for its first attempt. Where others wait, it would find no slot either.
   */
  receive(delivery: Delivery): boolean;
  /** Also reads retries that are not due yet, if all their attempts began in this outage. */
  hurry(outage: Outage): void;
  /** When the next retry should be read, or null if none is expected or there is no room for it yet. */
  nextDueAt(): At | null;
};

export function createWindow(destination: string, world: WindowWorld): Window {
  const state: State = {
    first: createReading(),
    retry: createReading(),
    known: new Set(),
    withdrawn: new Set(),
    latest: { ...createReading(), more: false },
    isSuspect: false,
    nextDueAt: null,
    hurry: null,
    asideUntil: null,
  };
  const { first, retry, latest, known } = state;
  return {
    isLow(now) {
      noticeTime(state, now);
      return isLow(first) || isLow(retry) || latest.more;
    },
    isIdle: () => isIdle(first) && isIdle(retry) && latest.waiting.length === 0,
    async fill(now) {
      noticeTime(state, now);
      if (isLow(first)) await readFirst(state, { destination, world });
      if (latest.more) await readLatest(state, { destination, world });
      if (isLow(retry)) await readRetries(state, now, { destination, world });
    },
    hasRetry: (like) => retry.waiting.some(like),
    startFirst: (queue, tryStart) => startFirst(queue, tryStart, state),
    hasFirst: () => first.waiting.length > 0 || latest.waiting.length > 0,
    setSuspect: (isSuspect) => setSuspect(isSuspect, state),
    settled(delivery, dueAt) {
      known.delete(delivery.id);
      if (dueAt === null) return;
      expect(state, dueAt);
      // Its write took longer than its wait: later ones were read meanwhile, and it would be passed over.
      if (isBehind({ dueAt, id: delivery.id }, retry.after)) restart(retry);
    },
    unsettled({ id }, now) {
      known.delete(id);
      state.asideUntil ??= now + ASIDE;
    },
    setAside: (now, inLine) => setAside(now, inLine, state),
    withdraw: (ids) => withdraw(ids, state),
    forget: (has) => withdraw(idsOf(has, state), state),
    readAgain: () => readAllAgain(state),
    receive: (delivery) => receive(delivery, state),
    hurry(outage) {
      const { from, until } = state.hurry ?? outage;
      state.hurry = { from: Math.min(from, outage.from), until: Math.max(until, outage.until) };
      restart(retry);
    },
    nextDueAt: () => earliest(state.asideUntil, hasRoom(retry) ? state.nextDueAt : null),
  };
}

type State = {
  readonly first: Reading;
  readonly retry: Reading;
  /** The newest deliveries that were never tried, while the lanes are suspect. `more`: there may be newer ones. */
  readonly latest: Reading;
  isSuspect: boolean;
  /** The ids of all that is in memory: waiting here, or being sent. */
  readonly known: Set<number>;
  /** The ids that were withdrawn while a page was being read: they may be on it. */
  readonly withdrawn: Set<number>;
  nextDueAt: At | null;
  hurry: Outage | null;
  asideUntil: At | null;
};

function noticeTime(state: State, now: At): void {
  if (state.asideUntil !== null && now >= state.asideUntil) readAllAgain(state);
  if (state.nextDueAt !== null && now >= state.nextDueAt) state.retry.more = true;
}

type Place = { readonly destination: string; readonly world: WindowWorld };

async function readFirst(state: State, { destination, world }: Place): Promise<void> {
  const { first } = state;
  const page = await ask(first, { destination, queue: "first", after: first.after, dueBy: 0, limit: PAGE }, world);
  keep(page, first, state);
}

/** Those in memory that are no longer among the newest are left to be read again. */
async function readLatest(state: State, { destination, world }: Place): Promise<void> {
  const { latest, first, known, withdrawn } = state;
  const what = { destination, queue: "first", after: null, dueBy: 0, limit: LATEST, newestFirst: true } as const;
  const { deliveries } = await ask(latest, what, world);
  if (!state.isSuspect) return;
  const stale = new Map(latest.waiting.splice(0).map((delivery) => [delivery.id, delivery]));
  latest.size = 0;
  for (const delivery of deliveries.slice(0, LATEST)) {
    if (!stale.delete(delivery.id) && (known.has(delivery.id) || withdrawn.has(delivery.id))) continue;
    if (!hasRoom(latest)) break;
    known.add(delivery.id);
    add(delivery, latest);
  }
  letGo([...stale.values()], state);
  if (!first.reading) withdrawn.clear();
}

/** Leaves these first attempts to be read again. */
function letGo(deliveries: readonly Delivery[], { first, latest, known }: State): void {
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
  if (!isSuspect) letGo(latest.waiting.splice(0), state);
}

function startFirst(queue: WindowQueue, tryStart: (delivery: Delivery) => boolean, state: State): boolean {
  const { first, latest } = state;
  if (queue !== "latest") return takeOut(state[queue], state[queue].waiting.findIndex(tryStart));
  // With nothing beyond the queue, its end is the newest there is.
  if (latest.waiting.length === 0) return takeOut(first, first.waiting.findLastIndex(tryStart));
  if (!takeOut(latest, latest.waiting.findIndex(tryStart))) return false;
  if (latest.waiting.length === 0) latest.more = first.more;
  return true;
}

function takeOut(reading: Reading, index: number): boolean {
  if (index < 0) return false;
  for (const { body } of reading.waiting.splice(index, 1)) reading.size -= body.length;
  return true;
}

async function ask(reading: Reading, what: ClaimAsk, { claims }: WindowWorld): Promise<ClaimPage> {
  // Set before the read, so that a delivery that arrives meanwhile is not overlooked.
  Object.assign(reading, { more: false, reading: true });
  try {
    return await claims(what);
  } catch (error) {
    reading.more = true;
    throw error;
  } finally {
    reading.reading = false;
  }
}

async function readRetries(state: State, now: At, { destination, world }: Place): Promise<void> {
  const { retry, hurry } = state;
  const dueBy = hurry === null ? now : Number.MAX_SAFE_INTEGER;
  const page = await ask(retry, { destination, queue: "retry", after: retry.after, dueBy, limit: PAGE }, world);
  keep(page, retry, state);
  if (page.more) return;
  if (hurry !== null) {
    // Deliveries that keep their wait were passed over: they are read from the start again when they are due.
    state.hurry = null;
    return restart(retry);
  }
  // The old value stays until there is a new one: if the store fails now, it is asked again at once.
  const before = state.nextDueAt;
  const stored = await world.backlog.nextRetryAt(destination, retry.after);
  if (state.nextDueAt === before) state.nextDueAt = null;
  if (stored !== null) expect(state, stored);
}

/** The queue stays without gaps: once one is left to be read, all behind it are. Answers whether it is the only one. */
function receive(delivery: Delivery, { first, latest, known, isSuspect }: State): boolean {
  const isOnly = isIdle(first);
  // It was read since its commit.
  if (known.has(delivery.id)) return isOnly;
  // It is out of order, which should not happen: everything is read again rather than overlook it.
  if (isBehind(delivery, first.after)) restart(first);
  if (first.more || first.reading || isFull(first)) {
    first.more = true;
    latest.more = isSuspect;
    return isOnly;
  }
  first.after = { dueAt: delivery.dueAt, id: delivery.id };
  known.add(delivery.id);
  add(delivery, first);
  return isOnly;
}

function keep(page: ClaimPage, reading: Reading, { known, withdrawn, hurry }: State): void {
  const { deliveries, more } = page;
  const last = page.upTo ?? deliveries.at(-1);
  if (last) reading.after = { dueAt: last.dueAt, id: last.id };
  if (more) reading.more = true;
  for (const delivery of deliveries) {
    if ((hurry !== null && keepsItsWait(delivery, hurry)) || known.has(delivery.id) || withdrawn.has(delivery.id))
      continue;
    known.add(delivery.id);
    add(delivery, reading);
  }
  withdrawn.clear();
}

/** A delivery that failed while the receiver took others, before the outage or since, may be the trouble itself. */
function keepsItsWait({ attemptedAt, firstAttemptAt }: Delivery, { from, until }: Outage): boolean {
  return (attemptedAt ?? 0) >= until || (firstAttemptAt ?? from) < from;
}

function idsOf(has: (ref: DeliveryRef) => boolean, { first, retry, latest }: State): ReadonlySet<number> {
  const waiting = [first, retry, latest].flatMap((reading) => reading.waiting);
  return new Set(waiting.filter(({ ref }) => has(ref)).map(({ id }) => id));
}

function setAside(now: At, inLine: (delivery: Delivery) => boolean, state: State): boolean {
  const { retry, known } = state;
  if (hasRoom(retry) || retry.waiting.some(inLine)) return false;
  for (const { id } of retry.waiting.splice(0)) known.delete(id);
  retry.size = 0;
  state.asideUntil ??= now + ASIDE;
  return retry.more;
}

function withdraw(ids: ReadonlySet<number>, { first, retry, latest, known, withdrawn }: State): void {
  for (const id of [first, retry, latest].flatMap((reading) => remove(reading, ids))) known.delete(id);
  if (first.reading || retry.reading || latest.reading) for (const id of ids) withdrawn.add(id);
}

function expect(state: State, dueAt: At): void {
  state.nextDueAt = Math.min(state.nextDueAt ?? dueAt, dueAt);
}

function readAllAgain(state: State): void {
  state.asideUntil = null;
  restart(state.first);
  restart(state.retry);
}

/** The earlier of two points in time; null is never. */
export function earliest(a: At | null, b: At | null): At | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

/** Deliveries that are read at once. */
const PAGE = 256;
const LOW = PAGE / 2;
/** Characters of bodies in a queue from which on nothing is added to it: there may be many destinations. */
const MOST_BODIES = 256 * KB;

/** One queue of a window: the deliveries that were read and wait to be sent, and how far it was read. */
type Reading = {
  readonly waiting: Delivery[];
  /** Of their bodies, in characters. */
  size: number;
  /** Everything up to here was read. */
  after: Position | null;
  /** Whether there may be something behind it. */
  more: boolean;
  reading: boolean;
};

function createReading(): Reading {
  return { waiting: [], size: 0, after: null, more: true, reading: false };
}

function isLow(reading: Reading): boolean {
  return reading.more && hasRoom(reading);
}

function isIdle({ waiting, more }: Reading): boolean {
  return waiting.length === 0 && !more;
}

function hasRoom({ waiting, size }: Reading): boolean {
  return waiting.length < LOW && size < MOST_BODIES;
}

/** New deliveries are left to be read later. */
function isFull({ waiting, size }: Reading): boolean {
  return waiting.length >= PAGE || size >= MOST_BODIES;
}

function add(delivery: Delivery, reading: Reading): void {
  reading.waiting.push(delivery);
  reading.size += delivery.body.length;
}

/** Removes those of them that wait here. Answers which they were. */
function remove(reading: Reading, ids: ReadonlySet<number>): readonly number[] {
  const gone = reading.waiting.filter(({ id }) => ids.has(id));
  if (gone.length === 0) return [];
  const left = reading.waiting.filter(({ id }) => !ids.has(id));
  reading.waiting.splice(0, reading.waiting.length, ...left);
  for (const { body } of gone) reading.size -= body.length;
  return gone.map(({ id }) => id);
}

function isBehind({ dueAt, id }: Position, after: Position | null): boolean {
  return after !== null && (dueAt < after.dueAt || (dueAt === after.dueAt && id <= after.id));
}

function restart(reading: Reading): void {
  reading.after = null;
  reading.more = true;
}
