/**
 * Reads from the store what the order of a destination needs (order.ts): first all retries, whoever's they are and whenever they
 * are due, so that nothing starts before an earlier one of its user; then those whose turn has come and whose bodies are not in
 * memory.
 */
import type { Delivery } from "../model/delivery.ts";
import type { Queue, QueuePosition, ReadQueue } from "../model/ports.ts";
import { createOrder, type Order } from "./order.ts";

/** Retries that are read at once. */
const PAGE = 256;

export type Lines = Pick<
  Order,
  "admit" | "over" | "block" | "hasNext" | "isSettingUp" | "waiting" | "waitingOf" | "takeLater"
> & {
  /** Whether a page is being read. */
  isReading(): boolean;
  /** Makes the lines again: the store has moved deliveries. Only these stay known, which are being sent. */
  beginAgain(sending: ReadonlySet<number>): void;
  /**
   * Reads the next page of the retries; or, when all are known, some of those whose turn has come, and answers them. `isOver`:
   * whether it was settled or withdrawn since the page was asked for, or is being sent.
   */
  read(isOver: (id: number) => boolean): Promise<readonly Loaded[]>;
};

export type Loaded = { readonly delivery: Delivery; readonly queue: Queue };

export function createLines(destination: string, readQueue: ReadQueue): Lines {
  const order = createOrder();
  const { admit, over, block, hasNext, isSettingUp, waiting, waitingOf, takeLater } = order;
  /** How far the retries were read. A new one whenever they are to be read from the start. */
  let progress: Progress = { after: null };
  let reading = 0;

  return {
    ...{ admit, over, block, hasNext, isSettingUp, waiting, waitingOf, takeLater },
    isReading: () => reading > 0,
    beginAgain(sending) {
      progress = { after: null };
      order.reset(sending);
    },
    async read(isOver) {
      reading += 1;
      try {
        if (!order.isSettingUp()) return await readNext(isOver);
        await readRetries(isOver);
        return [];
      } finally {
        reading -= 1;
      }
    },
  };

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

  async function readNext(isOver: (id: number) => boolean): Promise<readonly Loaded[]> {
    const kept = order.takeKept().map((delivery) => ({ delivery, queue: "first" as const }));
    const pages = await Promise.all(
      order.reads().map(async (read) => ({ read, page: await readQueue({ destination, ...read.ask }) })),
    );
    const found = pages.flatMap(({ read, page }) =>
      order.found(read, page).map((delivery) => ({ delivery, queue: read.ask.queue })),
    );
    return [...kept, ...found].filter(({ delivery }) => !isOver(delivery.id));
  }
}

type Progress = { after: QueuePosition | null };

