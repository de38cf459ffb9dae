import type { CallType } from "../model/event.ts";
import { ENVELOPE_BYTES, SENT_AT_BYTES } from "./envelope.ts";
import type { Settings } from "./options.ts";

/** A call in the queue. It is written as JSON when it is made: what the program changes later does not change it. */
export type Entry = {
  /** Counts the calls of this client; the order in which they are sent. */
  readonly seq: number;
  readonly type: CallType;
  readonly messageId: string;
  /** The call as JSON. */
  readonly text: string;
  /** Whether the caller gave the timestamp, which the server must then not correct. */
  readonly ownTime: boolean;
  /** Of the text, in UTF-8. */
  readonly bytes: number;
};

/**
 * What happens to a call when the queue is full: `block` makes it wait for room, and its promise with it; `reject`
 * throws; `dropOldest` drops the call that has waited longest.
 */
export type WhenFull = "block" | "reject" | "dropOldest";

type Queue = {
  /** `keep`: no call is dropped for this one, whatever the policy. */
  add(entry: Entry, oldest: "displace" | "keep"): Added;
  /** Removes the next batch, of calls up to this seq; empty if there is none. Room is given to calls that wait for it. */
  take(upTo: number): readonly Entry[];
  /** Puts a batch back, to be sent in two halves before all else. */
  halve(batch: readonly Entry[]): void;
  /** Removes all calls, in their order, including those that wait for room. */
  drain(): readonly Entry[];
};

type Added =
  | { readonly kind: "queued" }
  | { readonly kind: "displaced"; readonly oldest: Entry }
  | { readonly kind: "waits"; readonly room: Promise<void> }
  | { readonly kind: "full" };

type Waiting = { readonly entry: Entry; readonly letIn: () => void };

type QueueSettings = Pick<Settings, "queueLimit" | "whenFull" | "flushAt" | "maxBatchSize">;

/** A queue of at most `queueLimit` calls. As many again may wait for room in it. */
export function createQueue({ queueLimit, whenFull, flushAt, maxBatchSize }: QueueSettings): Queue {
  const bytes = maxBatchSize - ENVELOPE_BYTES;
  const entries = createFifo<Entry>();
  const waiting = createFifo<Waiting>();
  let halves: readonly (readonly Entry[])[] = [];

  return {
    add(entry, oldest) {
      if (entries.size() < queueLimit) {
        entries.push(entry);
        return { kind: "queued" };
      }
      if (whenFull === "dropOldest" && oldest === "displace") return displace(entry);
      // A program that does not await its calls would otherwise fill the memory.
      if (whenFull !== "block" || waiting.size() >= queueLimit) return { kind: "full" };
      const room = new Promise<void>((letIn) => waiting.push({ entry, letIn }));
      return { kind: "waits", room };
    },
    take(upTo) {
      const [half, ...rest] = halves;
      if (half) {
        halves = rest;
        return half;
      }
      const batch = takeBatch(entries, { upTo, most: flushAt, bytes });
      letIn();
      return batch;
    },
    halve(batch) {
      const middle = Math.ceil(batch.length / 2);
      halves = [batch.slice(0, middle), batch.slice(middle), ...halves];
    },
    drain() {
      const all = [...halves.flat(), ...entries.takeAll()];
      halves = [];
      for (const { entry, letIn } of waiting.takeAll()) {
        all.push(entry);
        letIn();
      }
      return all;
    },
  };

  function displace(entry: Entry): Added {
    const oldest = entries.shift();
    entries.push(entry);
    return oldest ? { kind: "displaced", oldest } : { kind: "queued" };
  }

  function letIn(): void {
    while (entries.size() < queueLimit) {
      const next = waiting.shift();
      if (!next) return;
      entries.push(next.entry);
      next.letIn();
    }
  }
}

/** `bytes`: of all calls together, with a comma between two. */
type Bounds = { readonly upTo: number; readonly most: number; readonly bytes: number };

function takeBatch(entries: Fifo<Entry>, { upTo, most, bytes }: Bounds): readonly Entry[] {
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

/** First in, first out, at a cost for each that does not grow with their number, as that of `Array.shift` does. */
type Fifo<T> = {
  push(value: T): void;
  first(): T | undefined;
  shift(): T | undefined;
  takeAll(): readonly T[];
  size(): number;
};

/** Two stacks: values are pushed on one, and popped from the other, which holds the older ones in reverse. */
export function createFifo<T>(): Fifo<T> {
  let incoming: T[] = [];
  let outgoing: T[] = [];

  return {
    push: (value) => void incoming.push(value),
    first() {
      refill();
      return outgoing.at(-1);
    },
    shift() {
      refill();
      return outgoing.pop();
    },
    takeAll() {
      const all = [...outgoing.toReversed(), ...incoming];
      incoming = [];
      outgoing = [];
      return all;
    },
    size: () => incoming.length + outgoing.length,
  };

  function refill(): void {
    if (outgoing.length > 0) return;
    outgoing = incoming.reverse();
    incoming = [];
  }
}
