/**
 * Reads from the store what the order of a destination needs (order.ts). All retries come first, of any user and due at
 * any time: nothing may start before an earlier delivery of its user. Then come the deliveries that have their turn and
 * whose bodies are not in memory.
 */
import type { Delivery } from "../model/delivery.ts";
import type { Queue, QueuePosition, ReadQueue } from "../model/ports.ts";
import { add, hasRoom, type MemoryQueue, PAGE } from "./memory-queue.ts";
import { createOrder, type Order } from "./order.ts";

export type Lines = Pick<
  Order,
  "admit" | "over" | "decided" | "hasNext" | "isSettingUp" | "waiting" | "waitingOf" | "takeLater"
> & {
  /** Whether a page is being read. */
  readonly isReading: boolean;
  /** Makes the lines again: the store has moved deliveries. Only those stay known that are being sent. */
  beginAgain(sending: ReadonlySet<number>): void;
  /** Whether there is something to load, and room for it. */
  isLow(first: MemoryQueue): boolean;
  /**
   * Reads the next page of the retries; or, when all are known, some of those whose turn has come, into the window. Answers
   * whether all are known.
   */
  load(into: Memory): Promise<boolean>;
};

/** The part of a window that this is about. */
type Memory = {
  readonly first: MemoryQueue;
  readonly retry: MemoryQueue;
  readonly known: Set<number>;
  readonly over: Set<number>;
};

export function createLines(destination: string, readQueue: ReadQueue): Lines {
  const order = createOrder();
  const state: State = { destination, readQueue, order, retries: { after: null } };
  let isReading = false;
  const isLow: Lines["isLow"] = (first) => order.isSettingUp() || (order.hasNext() && hasRoom(first));

  return {
    ...order,
    get isReading() {
      return isReading;
    },
    beginAgain(sending) {
      state.retries = { after: null };
      order.reset(sending);
    },
    isLow,
    async load(memory) {
      if (!isLow(memory.first)) return true;
      memory.over.clear();
      isReading = true;
      try {
        if (order.isSettingUp()) await readRetries(memory, state);
        else await readNext(memory, state);
      } finally {
        isReading = false;
      }
      return !order.isSettingUp();
    },
  };
}

type State = {
  readonly destination: string;
  readonly readQueue: ReadQueue;
  readonly order: Order;
  /** How far the retries were read. Replaced by another object to read them from the start again. */
  retries: { after: QueuePosition | null };
};

async function readRetries({ known, over }: Memory, state: State): Promise<void> {
  const { destination, readQueue, order, retries } = state;
  const ask = { queue: "retry", after: retries.after, dueBy: Number.MAX_SAFE_INTEGER, limit: PAGE } as const;
  const { deliveries, more, upTo } = await readQueue({ destination, ...ask });
  // Begun again meanwhile.
  if (retries !== state.retries) return;
  for (const delivery of deliveries) if (!known.has(delivery.id) && !over.has(delivery.id)) order.note(delivery);
  const last = upTo ?? deliveries.at(-1);
  if (last) retries.after = { dueAt: last.dueAt, id: last.id };
  if (!more) order.setUp();
}

async function readNext(
  { first, retry, known, over }: Memory,
  { destination, readQueue, order }: State,
): Promise<void> {
  for (const delivery of order.takeKept()) load(delivery, "first");
  const reads = order.reads();
  const pages = await Promise.all(reads.map(({ ask }) => readQueue({ destination, ...ask })));
  reads.forEach((read, nth) => {
    const page = pages[nth];
    if (page) for (const delivery of order.found(read, page)) load(delivery, read.ask.queue);
  });

  function load(delivery: Delivery, queue: Queue): void {
    if (known.has(delivery.id) || over.has(delivery.id)) return;
    known.add(delivery.id);
    add(delivery, queue === "first" ? first : retry);
  }
}
