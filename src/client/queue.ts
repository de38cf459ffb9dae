import type { Entry } from "./entry.ts";
import { SENT_AT_BYTES } from "./envelope.ts";
import { createFifo } from "./fifo.ts";

/**
 * What becomes of a call when the queue is full: `block` lets it wait for room, and its promise with it; `reject`
 * throws; `dropOldest` gives up the one that has waited longest.
 */
export type WhenFull = "block" | "reject" | "dropOldest";

export type Queue = {
  /** `keep`: whatever its policy, the queue displaces nothing for this one. */
  add(entry: Entry, oldest: "displace" | "keep"): Added;
  /** Takes from the front what is to go in one batch, and lets in who waits for the room. */
  take(batch: BatchBounds): readonly Entry[];
  /** Takes all, who waits for room included. */
  drain(): readonly Entry[];
};

export type Added =
  | { readonly kind: "queued" }
  | { readonly kind: "displaced"; readonly oldest: Entry }
  | { readonly kind: "waits"; readonly room: Promise<void> }
  | { readonly kind: "full" };

export type BatchBounds = {
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
