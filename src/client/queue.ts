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
  /** Whether the text may hold integers that a number does not hold exactly. */
  readonly digits: boolean;
  /** Of the text, in UTF-8. */
  readonly bytes: number;
};

/**
 * What happens to a call when the queue is full: `block` makes it wait for room, and its promise with it; `reject`
 * throws; `dropOldest` drops the call that has waited longest.
 */
export type WhenFull = "block" | "reject" | "dropOldest";

type Added =
  | { readonly kind: "queued" }
  | { readonly kind: "displaced"; readonly oldest: Entry }
  | { readonly kind: "waits"; readonly room: Promise<void> }
  | { readonly kind: "full" };

type Waiting = { readonly entry: Entry; readonly letIn: () => void };

type QueueSettings = Pick<Settings, "queueLimit" | "whenFull" | "flushAt" | "maxBatchSize">;

/** A queue of at most `queueLimit` calls. As many again may wait for room in it. */
export function createQueue({ queueLimit, whenFull, flushAt, maxBatchSize }: QueueSettings) {
  const bytes = maxBatchSize - ENVELOPE_BYTES;
  const entries = createFifo<Entry>();
  const waiting = createFifo<Waiting>();
  const halves: (readonly Entry[])[] = [];

  return { add, take, halve, drain };

  /** `keep`: no call is dropped for this one, whatever the policy. */
  function add(entry: Entry, oldest: "displace" | "keep"): Added {
    if (entries.size() < queueLimit) {
      entries.push(entry);
      return { kind: "queued" };
    }
    if (whenFull === "dropOldest" && oldest === "displace") return displace(entry);
    // A program that does not await its calls would otherwise fill the memory.
    if (whenFull !== "block" || waiting.size() >= queueLimit) return { kind: "full" };
    const room = new Promise<void>((letIn) => waiting.push({ entry, letIn }));
    return { kind: "waits", room };
  }

  function displace(entry: Entry): Added {
    const oldest = entries.shift();
    entries.push(entry);
    return oldest ? { kind: "displaced", oldest } : { kind: "queued" };
  }

  /** Removes the next batch, of calls up to this seq; empty if there is none. Calls that wait for room get it. */
  function take(upTo: number): readonly Entry[] {
    const half = halves.shift();
    if (half) return half;
    const batch = takeBatch(entries, { upTo, most: flushAt, bytes });
    letIn();
    return batch;
  }

  function letIn(): void {
    while (entries.size() < queueLimit) {
      const next = waiting.shift();
      if (!next) return;
      entries.push(next.entry);
      next.letIn();
    }
  }

  /** Puts a batch back, to be sent in two halves before all else. */
  function halve(batch: readonly Entry[]): void {
    const middle = Math.ceil(batch.length / 2);
    halves.unshift(batch.slice(0, middle), batch.slice(middle));
  }

  /** Removes all calls, in their order, including those that wait for room. */
  function drain(): readonly Entry[] {
    const late = waiting.takeAll();
    for (const { letIn } of late) letIn();
    return [...halves.splice(0).flat(), ...entries.takeAll(), ...late.map(({ entry }) => entry)];
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

type Fifo<T> = ReturnType<typeof createFifo<T>>;

/**
 * First in, first out, at a cost that does not grow with the number of values, as that of `Array.shift` does. Values are
 * pushed on one stack, and popped from another, which holds the older ones in reverse.
 */
export function createFifo<T>() {
  let incoming: T[] = [];
  let outgoing: T[] = [];

  return {
    push: (value: T) => void incoming.push(value),
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
