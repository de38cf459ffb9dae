/** One queue of a window: the deliveries that were read and wait to be sent, and how far it was read. */
import type { Delivery } from "../model/delivery.ts";
import type { QueuePosition } from "../model/ports.ts";
import { KB } from "../model/units.ts";

/** Deliveries that are read at once. */
export const PAGE = 256;
const LOW = PAGE / 2;
/** Characters of bodies in a queue from which on nothing is added to it: there may be many destinations. */
const MOST_BODIES = 256 * KB;

export type Reading = {
  readonly waiting: Delivery[];
  /** Of their bodies, in characters. */
  size: number;
  /** Everything up to here was read. */
  after: QueuePosition | null;
  /** Whether there may be something behind it. */
  more: boolean;
  reading: boolean;
};

export function createReading(): Reading {
  return { waiting: [], size: 0, after: null, more: true, reading: false };
}

export function isLow(reading: Reading): boolean {
  return reading.more && hasRoom(reading);
}

export function isIdle({ waiting, more }: Reading): boolean {
  return waiting.length === 0 && !more;
}

export function hasRoom({ waiting, size }: Reading): boolean {
  return waiting.length < LOW && size < MOST_BODIES;
}

/** New deliveries are left to be read later. */
export function isFull({ waiting, size }: Reading): boolean {
  return waiting.length >= PAGE || size >= MOST_BODIES;
}

export function add(delivery: Delivery, reading: Reading): void {
  reading.waiting.push(delivery);
  reading.size += delivery.body.length;
}

/** Removes those of them that wait here. Answers which they were. */
export function remove(reading: Reading, ids: ReadonlySet<number>): readonly number[] {
  const gone = reading.waiting.filter(({ id }) => ids.has(id));
  if (gone.length === 0) return [];
  const left = reading.waiting.filter(({ id }) => !ids.has(id));
  reading.waiting.splice(0, reading.waiting.length, ...left);
  for (const { body } of gone) reading.size -= body.length;
  return gone.map(({ id }) => id);
}

export function isBehind({ dueAt, id }: QueuePosition, after: QueuePosition | null): boolean {
  return after !== null && (dueAt < after.dueAt || (dueAt === after.dueAt && id <= after.id));
}

export function restart(reading: Reading): void {
  reading.after = null;
  reading.more = true;
}
