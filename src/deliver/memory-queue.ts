import type { Delivery, DeliveryRef } from "../model/delivery.ts";
import type { QueueAsk, QueuePage, QueuePosition, ReadQueue } from "../model/ports.ts";
import { KB } from "../model/units.ts";

/** Deliveries that are read at once. */
export const PAGE = 256;
export const LOW = PAGE / 2;
/** Characters of bodies in a queue from which on nothing is added to it: there may be many destinations. */
const MOST_BODIES = 256 * KB;

/** One queue of a window: the deliveries that were read and wait to be sent, and how far it was read. */
export type MemoryQueue = {
  readonly waiting: Delivery[];
  /** Whose turn it is, where sources take turns; queues may share it. */
  readonly turns: Turns | null;
  /** Of their bodies, in characters. */
  size: number;
  /** Everything up to here was read. */
  after: QueuePosition | null;
  /** Whether there may be something behind it. */
  more: boolean;
  /** Whether a page is being read. */
  isReading: boolean;
  /**
   * Whether a read from the start was requested while the last page was being read. The place of that page then means
   * nothing.
   */
  isRestarted: boolean;
};

/** How many deliveries of each source wait. The source whose turn it is comes first. */
export type Turns = Map<string, number>;

export function createMemoryQueue(turns: Turns | null = null): MemoryQueue {
  return { waiting: [], turns, size: 0, after: null, more: true, isReading: false, isRestarted: false };
}

export function isLow(queue: MemoryQueue): boolean {
  return queue.more && hasRoom(queue);
}

export function isIdle({ waiting, more }: MemoryQueue): boolean {
  return waiting.length === 0 && !more;
}

export function hasRoom({ waiting, size }: MemoryQueue): boolean {
  return waiting.length < LOW && size < MOST_BODIES;
}

/** New deliveries are left to be read later. */
export function isFull({ waiting, size }: MemoryQueue): boolean {
  return waiting.length >= PAGE || size >= MOST_BODIES;
}

export function add(delivery: Delivery, queue: MemoryQueue): void {
  const { waiting, turns } = queue;
  waiting.push(delivery);
  queue.size += delivery.body.length;
  turns?.set(delivery.source, (turns.get(delivery.source) ?? 0) + 1);
}

/** Takes out the delivery at this index, and puts its source at the end of the turns. Answers whether there was one. */
export function takeOut(queue: MemoryQueue, index: number): boolean {
  if (index < 0) return false;
  const [taken] = index === 0 ? [queue.waiting.shift()] : queue.waiting.splice(index, 1);
  if (taken) gone(taken, queue);
  return true;
}

/** Takes out all. */
export function takeAll(queue: MemoryQueue): readonly Delivery[] {
  const taken = queue.waiting.splice(0);
  for (const delivery of taken) gone(delivery, queue);
  return taken;
}

function gone({ body, source }: Delivery, queue: MemoryQueue): void {
  const { turns } = queue;
  queue.size -= body.length;
  const left = (turns?.get(source) ?? 0) - 1;
  turns?.delete(source);
  if (left > 0) turns?.set(source, left);
}

/** The ids of those that wait in these queues. */
export function idsIn(queues: readonly MemoryQueue[], has: (ref: DeliveryRef) => boolean): ReadonlySet<number> {
  const waiting = queues.flatMap((queue) => queue.waiting);
  return new Set(waiting.filter(({ ref }) => has(ref)).map(({ id }) => id));
}

/** Removes those of them that wait here. Answers which they were. */
export function remove(queue: MemoryQueue, ids: ReadonlySet<number>): readonly number[] {
  const removed = queue.waiting.filter(({ id }) => ids.has(id));
  if (removed.length === 0) return [];
  const left = queue.waiting.filter(({ id }) => !ids.has(id));
  queue.waiting.splice(0, queue.waiting.length, ...left);
  for (const delivery of removed) gone(delivery, queue);
  return removed.map(({ id }) => id);
}

export function isBehind({ dueAt, id }: QueuePosition, after: QueuePosition | null): boolean {
  return after !== null && (dueAt < after.dueAt || (dueAt === after.dueAt && id <= after.id));
}

type Reads = { readonly readQueue: ReadQueue };

/** Notes in the queue that a page of it is being read. */
export async function readPage(queue: MemoryQueue, ask: QueueAsk, { readQueue }: Reads): Promise<QueuePage> {
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

/** Reads from this position on, if it has read further. */
export function rewind(queue: MemoryQueue, { dueAt, id }: QueuePosition): void {
  if (!isBehind({ dueAt, id }, queue.after)) return;
  restart(queue, { dueAt, id: id - 1 });
}

export function restart(queue: MemoryQueue, after: QueuePosition | null = null): void {
  queue.after = after;
  queue.more = true;
  queue.isRestarted = true;
}
