/**
 * Sources take turns for the first attempts at a destination, so that one that floods it does not hold up the few calls of
 * another. Those in memory do so by `Turns`. This file is about what is not in memory: a backlog is read in the order of
 * acceptance, in which the few may come after a million of the flood.
 *
 * Whatever the backlog, a new delivery stays in memory if its source has few there and none left to be read. For a source that
 * has some left and few in memory, the backlog is searched ahead of the place up to which it was read. Such a search goes on
 * from page to page, and remembers the sources whose deliveries it has passed over because enough of them were in memory. Once
 * one of these has few, the next search begins where the reading is.
 */
import type { Delivery } from "../model/delivery.ts";
import type { QueueAsk, QueuePage } from "../model/ports.ts";
import { createMemoryQueue, hasRoom, isBehind, LOW, type MemoryQueue, restart, takeOut } from "./memory-queue.ts";

/** Deliveries of a source in memory from which on others of it are not looked for, and below which they are. */
const ENOUGH = 64;
const FEW = 16;

export type Ahead = {
  /** What was read in the order of acceptance. */
  readonly first: MemoryQueue;
  /** What stayed in memory or was found ahead of that. Shares its turns. */
  readonly ahead: MemoryQueue;
  /** Sources that may have deliveries left to be read; null: any source may. */
  left: Set<string> | null;
  /** Sources of which the search has passed over deliveries since it began. */
  passedOver: Set<string>;
  /** Sources that had a delivery left to be read while a page of the search was being read. */
  meanwhile: Set<string>;
};

export function createAhead(): Ahead {
  const turns = new Map();
  const [first, ahead] = [createMemoryQueue(turns), { ...createMemoryQueue(turns), more: false }];
  return { first, ahead, left: null, passedOver: new Set(), meanwhile: new Set() };
}

/** Whether a new delivery, although others wait to be read, may stay in memory. */
export function mayStay({ source }: Delivery, { ahead, left }: Ahead): boolean {
  if (left === null || left.has(source) || ahead.isReading) return false;
  return inMemory(source, ahead) < ENOUGH && hasRoom(ahead);
}

/** Notes that a delivery is left to be read. */
export function leave(delivery: Delivery, state: Ahead): void {
  const { source } = delivery;
  const { first, ahead, left, meanwhile, passedOver } = state;
  first.more = true;
  left?.add(source);
  if (ahead.isReading) meanwhile.add(source);
  // It was in memory when the search was there.
  if (isBehind(delivery, ahead.after)) passedOver.add(source);
  noteFew(source, state);
}

/** Notes that a delivery of the source has left the memory. */
export function noteFew(source: string, state: Ahead): void {
  const { first, ahead, left, passedOver } = state;
  if (!first.more || inMemory(source, ahead) >= FEW || !(left === null || left.has(source))) return;
  ahead.more = true;
  if (passedOver.has(source)) beginSearch(state);
}

/** The same, of any sources. */
export function noteAnyFew(state: Ahead): void {
  if (state.left === null) state.ahead.more = state.first.more;
  else for (const source of state.left) noteFew(source, state);
}

/** Reads everything again from the start. */
export function restartFirst(state: Ahead): void {
  restart(state.first);
  state.left = null;
  beginSearch(state);
}

/** Called when the queue was read on: nothing is left, or what is left may have to be searched. */
export function noteRead(state: Ahead): void {
  const { first, ahead, left } = state;
  if (first.isRestarted) return;
  if (first.more) {
    if (left === null) ahead.more = true;
    return;
  }
  state.left = new Set();
  beginSearch(state);
  ahead.more = false;
}

/** What to ask the store for next. */
export function searchAsk(destination: string, state: Ahead): QueueAsk {
  const { first, ahead, meanwhile, passedOver } = state;
  meanwhile.clear();
  const isFirstFurther = ahead.after === null || (first.after !== null && isBehind(ahead.after, first.after));
  const after = isFirstFurther ? first.after : ahead.after;
  const enough = [...(ahead.turns ?? [])].flatMap(([source, count]) => (count >= ENOUGH ? [source] : []));
  return { destination, queue: "first", after, dueBy: 0, limit: LOW, notOf: new Set([...enough, ...passedOver]) };
}

/** Called with each page of the search. */
export function noteFound({ passedOver = new Set(), more }: QueuePage, state: Ahead): void {
  const { ahead } = state;
  if (ahead.isRestarted) return;
  for (const source of passedOver) state.passedOver.add(source);
  if (!more) state.left = new Set([...state.passedOver, ...state.meanwhile]);
  ahead.more = false;
  noteAnyFew(state);
}

/** Starts the first one of the source whose turn it is, or of the next. */
export function startInTurn(tryStart: (delivery: Delivery) => boolean, state: Ahead): boolean {
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
function oldestFirst(source: string, { first, ahead }: Ahead): readonly MemoryQueue[] {
  if (ahead.waiting.length === 0) return [first];
  const [inFirst, inAhead] = [first, ahead].map(({ waiting }) => waiting.find((one) => one.source === source));
  return inFirst && inAhead && inAhead.id < inFirst.id ? [ahead, first] : [first, ahead];
}

function beginSearch(state: Ahead): void {
  restart(state.ahead);
  state.passedOver.clear();
}

function inMemory(source: string, { turns }: MemoryQueue): number {
  return turns?.get(source) ?? 0;
}
