/**
 * Reads from the store what the order of a destination needs (order.ts): first all retries, whoever's they are and whenever they
 * are due, so that nothing starts before an earlier one of its user; then those whose turn has come and whose bodies are not in
 * memory.
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
  /** Makes the lines again: the store has moved deliveries. Only these stay known, which are being sent. */
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

type Loaded = { readonly delivery: Delivery; readonly queue: Queue };

export function createLines(destination: string, readQueue: ReadQueue): Lines {
  const order = createOrder();
  const { admit, over, decided, hasNext, isSettingUp, waiting, waitingOf, takeLater } = order;
  /** How far the retries were read. A new one whenever they are to be read from the start. */
  let progress: Progress = { after: null };
  let reading = false;

  return {
    ...{ admit, over, decided, hasNext, isSettingUp, waiting, waitingOf, takeLater },
    get isReading() {
      return reading;
    },
    beginAgain(sending) {
      progress = { after: null };
      order.reset(sending);
    },
    isLow,
    async load(memory) {
      if (!isLow(memory.first)) return true;
      const { first, retry, known, over } = memory;
      reading = true;
      try {
        if (order.isSettingUp()) await readRetries((id) => known.has(id) || over.has(id));
        else {
          for (const { delivery, queue } of await readNext()) {
            if (known.has(delivery.id) || over.has(delivery.id)) continue;
            known.add(delivery.id);
            add(delivery, queue === "first" ? first : retry);
          }
        }
      } finally {
        reading = false;
        over.clear();
      }
      return !order.isSettingUp();
    },
  };

  function isLow(first: MemoryQueue): boolean {
    return order.isSettingUp() || (order.hasNext() && hasRoom(first));
  }

  async function readRetries(isOver: (id: number) => boolean): Promise<void> {
    const current = progress;
    const ask = { queue: "retry", after: current.after, dueBy: Number.MAX_SAFE_INTEGER, limit: PAGE } as const;
    const { deliveries, more, upTo } = await readQueue({ destination, ...ask });
    // Begun again meanwhile.
    if (current !== progress) return;
    for (const delivery of deliveries) if (!isOver(delivery.id)) order.note(delivery);
    const last = upTo ?? deliveries.at(-1);
    if (last) current.after = { dueAt: last.dueAt, id: last.id };
    if (!more) order.setUp();
  }

  async function readNext(): Promise<readonly Loaded[]> {
    const kept = order.takeKept().map((delivery) => ({ delivery, queue: "first" as const }));
    const pages = await Promise.all(
      order.reads().map(async (read) => ({ read, page: await readQueue({ destination, ...read.ask }) })),
    );
    const found = pages.flatMap(({ read, page }) =>
      order.found(read, page).map((delivery) => ({ delivery, queue: read.ask.queue })),
    );
    return [...kept, ...found];
  }
}

type Progress = { after: QueuePosition | null };
