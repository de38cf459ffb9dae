import type { Entry } from "./entry.ts";
import { ENVELOPE_BYTES } from "./envelope.ts";
import type { Loss } from "./errors.ts";
import type { Settings } from "./options.ts";
import { createQueue, type Queue } from "./queue.ts";

/** What goes out next: halves of a batch that was too large for the server, and then what is queued. */
export type Batches = Pick<Queue, "add"> & {
  /** The next one, up to this seq; empty if there is none. */
  take(upTo: number): readonly Entry[];
  /** Takes a batch back, to be sent in two halves. */
  halve(batch: readonly Entry[]): void;
  /** Takes all, in its order. */
  drain(): readonly Entry[];
};

export function createBatches({ queueLimit, whenFull, flushAt, maxBatchSize }: Settings): Batches {
  const queue = createQueue(queueLimit, whenFull);
  const bounds = { most: flushAt, bytes: maxBatchSize - ENVELOPE_BYTES };
  let halves: readonly (readonly Entry[])[] = [];

  return {
    add: queue.add,
    take(upTo) {
      const [first, ...rest] = halves;
      if (!first) return queue.take({ ...bounds, upTo });
      halves = rest;
      return first;
    },
    halve(batch) {
      const middle = Math.ceil(batch.length / 2);
      halves = [batch.slice(0, middle), batch.slice(middle), ...halves];
    },
    drain() {
      const all = [...halves.flat(), ...queue.drain()];
      halves = [];
      return all;
    },
  };
}

const TOO_LARGE = ["body_too_large", "envelope_too_large", "too_many_events"];

/** Whether the calls may be taken in smaller requests. 413 is what a proxy says. */
export function isTooLarge({ reason, code, status }: Loss): boolean {
  return reason === "refused" && (status === 413 || TOO_LARGE.includes(code));
}
