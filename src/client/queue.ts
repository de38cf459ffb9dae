import type { CallType } from "../model/event.ts";
import { ENVELOPE_BYTES, SENT_AT_BYTES } from "./envelope.ts";
import type { Loss } from "./errors.ts";
import type { Settings } from "./options.ts";

/** A call in the queue: written down when it was made, so that nothing that its program does later can change it. */
export type Entry = {
  /** Counts the calls of this client; the order in which they are sent. */
  readonly seq: number;
  readonly type: CallType;
  readonly messageId: string;
  /** The call as JSON. */
  readonly text: string;
  /** Whether its caller said when it happened: that time is not to be corrected. */
  readonly ownTime: boolean;
  /** Of the text, in UTF-8. */
  readonly bytes: number;
};

/** What the sender needs of a call. One without a messageId is found by its place when the server rejects it. */
export type Sendable = { readonly text: string; readonly messageId?: string; readonly ownTime?: boolean };

/**
 * What becomes of a call when the queue is full: `block` lets it wait for room, and its promise with it; `reject`
 * throws; `dropOldest` gives up the one that has waited longest.
 */
export type WhenFull = "block" | "reject" | "dropOldest";

type Queue = {
  /** `keep`: whatever its policy, the queue displaces nothing for this one. */
  add(entry: Entry, oldest: "displace" | "keep"): Added;
  /** Takes from the front what is to go in one batch, and lets in who waits for the room. */
  take(batch: BatchBounds): readonly Entry[];
  /** Takes all, who waits for room included. */
  drain(): readonly Entry[];
};

type Added =
  | { readonly kind: "queued" }
  | { readonly kind: "displaced"; readonly oldest: Entry }
  | { readonly kind: "waits"; readonly room: Promise<void> }
  | { readonly kind: "full" };

type BatchBounds = {
  /** The seq of the last one that is to go. */
  readonly upTo: number;
  readonly most: number;
  /** Of all together, with a comma between two. */
  readonly bytes: number;
};

type Waiting = { readonly entry: Entry; readonly letIn: () => void };

/** A queue of at most `limit` calls, in the order in which they were made. As many again may wait for room in it. */
export function createQueue(limit: number, whenFull: WhenFull): Queue {
  const entries = createFifo<Entry>();
  const waiting = createFifo<Waiting>();

  return {
    add(entry, oldest) {
      if (entries.size() < limit) {
        entries.push(entry);
        return { kind: "queued" };
      }
      if (whenFull === "dropOldest" && oldest === "displace") return displace(entry);
      // Who does not wait for the promise would else fill the memory.
      if (whenFull !== "block" || waiting.size() >= limit) return { kind: "full" };
      const room = new Promise<void>((letIn) => waiting.push({ entry, letIn }));
      return { kind: "waits", room };
    },
    take(bounds) {
      const batch = takeBatch(bounds);
      letIn();
      return batch;
    },
    drain() {
      const all = entries.takeAll();
      const late = waiting.takeAll();
      for (const { letIn } of late) letIn();
      return [...all, ...late.map(({ entry }) => entry)];
    },
  };

  function displace(entry: Entry): Added {
    const oldest = entries.shift();
    entries.push(entry);
    return oldest ? { kind: "displaced", oldest } : { kind: "queued" };
  }

  function takeBatch({ upTo, most, bytes }: BatchBounds): readonly Entry[] {
    const batch: Entry[] = [];
    let size = { calls: 0, stamps: 0, hasOwnTime: false };
    for (let next = entries.first(); next && next.seq <= upTo && batch.length < most; next = entries.first()) {
      size = {
        calls: size.calls + next.bytes + (batch.length === 0 ? 0 : 1),
        stamps: size.stamps + (next.ownTime ? 0 : SENT_AT_BYTES),
        hasOwnTime: size.hasOwnTime || next.ownTime,
      };
      if (size.calls + (size.hasOwnTime ? size.stamps : 0) > bytes) break;
      batch.push(next);
      entries.shift();
    }
    return batch;
  }

  function letIn(): void {
    while (entries.size() < limit) {
      const next = waiting.shift();
      if (!next) return;
      entries.push(next.entry);
      next.letIn();
    }
  }
}

/** What goes out next: halves of a batch that was too large for the server, and then what is queued. */
type Batches = Pick<Queue, "add"> & {
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

/** First in, first out. Taking one costs the same however many there are, which `Array.shift` does not promise. */
type Fifo<T> = {
  push(value: T): void;
  first(): T | undefined;
  shift(): T | undefined;
  takeAll(): readonly T[];
  size(): number;
};

/** How many taken ones may be left at the front of the array before it is cut. */
const SLACK = 1_024;

export function createFifo<T extends object>(): Fifo<T> {
  let values: (T | null)[] = [];
  let head = 0;

  return {
    push: (value) => void values.push(value),
    first: () => values[head] ?? undefined,
    shift() {
      const value = values[head] ?? undefined;
      if (value === undefined) return undefined;
      values[head] = null;
      head += 1;
      if (head > SLACK && head * 2 > values.length) cut();
      return value;
    },
    takeAll() {
      cut();
      const all = values.filter((value) => value !== null);
      values = [];
      return all;
    },
    size: () => values.length - head,
  };

  function cut(): void {
    values = values.slice(head);
    head = 0;
  }
}
