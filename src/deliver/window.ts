/**
 * The part of one destination's backlog that is in memory: two queues of deliveries that were read from the store, and
 * the ids of those being sent. However long the backlog, a window holds no more than a page or two.
 *
 * reading:  a queue that runs low is filled with the next page after the last one read.
 * read:     the last page ends the reading. What arrives from then on comes straight from its commit while there is room,
 *           and is left to be read once there is none; retries are read again when `expect` says that one is due.
 * hurrying: a lane has opened again, and retries that are not due yet are read as well (once, those from before).
 * aside:    retries that wait for a webhook without a slot were put back, so that others are read; or a delivery went
 *           wrong. After a while everything is read from the start again; what is in memory is passed over.
 */
import type { Delivery } from "../model/delivery.ts";
import type { Backlog, ClaimAsk, ClaimPage, Claims, Queue } from "../model/ports.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";
import {
  add,
  createReading,
  hasRoom,
  isBehind,
  isFull,
  isIdle,
  isLow,
  PAGE,
  type Reading,
  remove,
  restart,
} from "./reading.ts";

/** How long until what was put aside is read again. */
const ASIDE: Ms = 10 * SECOND;

export type WindowWorld = { readonly claims: Claims; readonly backlog: Pick<Backlog, "nextRetryAt"> };

export type Window = {
  /** Whether there may be something to read, and room for it. */
  isLow(now: At): boolean;
  /** Whether nothing waits here, and nothing is left to be read. */
  isIdle(): boolean;
  /** Reads on where a queue runs low. Rejects when the store does. */
  fill(now: At): Promise<void>;
  /** Whether there is a retry like this. */
  hasRetry(like: (delivery: Delivery) => boolean): boolean;
  /** Takes the first delivery that `starts` agrees to; it is known as being sent until `settled`. */
  take(queue: Queue, starts: (delivery: Delivery) => boolean): boolean;
  /** It has been written, and is read again when it is due, or with null not at all. */
  settled(delivery: Delivery, dueAt: At | null): void;
  /** Nothing is known of it any more: it is read again in a while. */
  lost(delivery: Delivery, now: At): void;
  /** These must not be sent any more. One that is being sent already stays known until it is `settled`. */
  withdraw(ids: ReadonlySet<number>): void;
  /**
   * No retry here can start, though there is room, and none of them is in line for a slot: lets others in. Answers whether
   * there may be any.
   */
  setAside(now: At, inLine: (delivery: Delivery) => boolean): boolean;
  /** What waited for its first attempt may wait among the retries now: reads everything again. */
  readAgain(): void;
  /**
   * This one was committed just now: it need not be read if there is room for it. Answers whether it is the only one that
   * waits for its first attempt: where others wait, it would find no slot either.
   */
  arrived(delivery: Delivery): boolean;
  /** Reads also what is not due yet, if it was last tried before `before`. */
  hurry(before: At): void;
  /** When the next retry should be read, or null if none is expected or there is no room for it yet. */
  nextDueAt(): At | null;
};

export function createWindow(destination: string, world: WindowWorld): Window {
  const state: State = {
    first: createReading(),
    retry: createReading(),
    known: new Set(),
    withdrawn: new Set(),
    nextDueAt: null,
    hurryBefore: null,
    asideUntil: null,
  };
  const { first, retry, known } = state;
  return {
    isLow(now) {
      noticeTime(state, now);
      return isLow(first) || isLow(retry);
    },
    isIdle: () => isIdle(first) && isIdle(retry),
    async fill(now) {
      noticeTime(state, now);
      if (isLow(first)) await readFirst(state, { destination, world });
      if (isLow(retry)) await readRetries(state, now, { destination, world });
    },
    hasRetry: (like) => retry.waiting.some(like),
    take(queue, starts) {
      const { waiting } = state[queue];
      const index = waiting.findIndex(starts);
      if (index < 0) return false;
      for (const { body } of waiting.splice(index, 1)) state[queue].size -= body.length;
      return true;
    },
    settled(delivery, dueAt) {
      known.delete(delivery.id);
      if (dueAt === null) return;
      expect(state, dueAt);
      // The writing took longer than the wait: others were read meanwhile, and it would be passed over.
      if (isBehind({ dueAt, id: delivery.id }, retry.after)) restart(retry);
    },
    lost({ id }, now) {
      known.delete(id);
      state.asideUntil ??= now + ASIDE;
    },
    setAside(now, inLine) {
      if (hasRoom(retry) || retry.waiting.some(inLine)) return false;
      for (const { id } of retry.waiting.splice(0)) known.delete(id);
      retry.size = 0;
      state.asideUntil ??= now + ASIDE;
      return retry.more;
    },
    withdraw: (ids) => withdraw(ids, state),
    readAgain: () => readAllAgain(state),
    arrived: (delivery) => takeIn(delivery, state),
    hurry(before) {
      state.hurryBefore = before;
      restart(retry);
    },
    nextDueAt: () => earliest(state.asideUntil, hasRoom(retry) ? state.nextDueAt : null),
  };
}

type State = {
  readonly first: Reading;
  readonly retry: Reading;
  /** The ids of all that is in memory: waiting here, or being sent. */
  readonly known: Set<number>;
  /** What was withdrawn while a page was being read: it may be on it. */
  readonly withdrawn: Set<number>;
  nextDueAt: At | null;
  hurryBefore: At | null;
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

async function ask(reading: Reading, what: ClaimAsk, { claims }: WindowWorld): Promise<ClaimPage> {
  // Before the question, so that what arrives while it is answered is not overlooked.
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
  const { retry, hurryBefore } = state;
  const dueBy = hurryBefore === null ? now : Number.MAX_SAFE_INTEGER;
  const page = await ask(retry, { destination, queue: "retry", after: retry.after, dueBy, limit: PAGE }, world);
  keep(page, retry, state);
  if (page.more) return;
  if (hurryBefore !== null) {
    // The hurry has passed over deliveries that keep their wait: they are read again, from the start, when due.
    state.hurryBefore = null;
    return restart(retry);
  }
  // The old value stands until there is a new one: if the store fails now, it is asked again at once.
  const before = state.nextDueAt;
  const stored = await world.backlog.nextRetryAt(destination, retry.after);
  if (state.nextDueAt === before) state.nextDueAt = null;
  if (stored !== null) expect(state, stored);
}

/** Answers whether it is the only one. The queue stays without gaps: behind the first one that was left to be read, all others are. */
function takeIn(delivery: Delivery, { first, known }: State): boolean {
  const isOnly = isIdle(first);
  // It was read between its commit and now.
  if (known.has(delivery.id)) return isOnly;
  // Not in its order, which should not be: rather read all again than overlook it.
  if (isBehind(delivery, first.after)) restart(first);
  if (first.more || first.reading || isFull(first)) {
    first.more = true;
    return isOnly;
  }
  first.after = { dueAt: delivery.dueAt, id: delivery.id };
  known.add(delivery.id);
  add(delivery, first);
  return isOnly;
}

function keep(page: ClaimPage, reading: Reading, { known, withdrawn, hurryBefore }: State): void {
  const { deliveries, more } = page;
  const last = page.upTo ?? deliveries.at(-1);
  if (last) reading.after = { dueAt: last.dueAt, id: last.id };
  if (more) reading.more = true;
  for (const delivery of deliveries) {
    // While hurrying, what has failed after the lane was opened keeps its wait.
    const fresh = hurryBefore !== null && (delivery.attemptedAt ?? 0) >= hurryBefore;
    if (fresh || known.has(delivery.id) || withdrawn.has(delivery.id)) continue;
    known.add(delivery.id);
    add(delivery, reading);
  }
  withdrawn.clear();
}

function withdraw(ids: ReadonlySet<number>, { first, retry, known, withdrawn }: State): void {
  for (const id of [...remove(first, ids), ...remove(retry, ids)]) known.delete(id);
  if (first.reading || retry.reading) for (const id of ids) withdrawn.add(id);
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
