import { type CourierParts, createCourier } from "../courier.ts";
import { utf8Length } from "../envelope.ts";
import type { Entry } from "../queue.ts";
import type { Settlement } from "../report.ts";
import { attempt } from "./homes.ts";
import { release, type Store, type Stored, takeOldest } from "./store.ts";

export type Backlog = {
  /** Sends the waiting calls on the disk, unless that is under way. */
  pump(): void;
  /** Makes the next attempt now, unless the server has named its time. */
  hurry(): void;
  /** Sends the waiting calls, and resolves when that is done, or as soon as an attempt fails. */
  drained(): Promise<void>;
  /** Calls that are not settled stay on the disk. */
  stop(): void;
};

type Parts = CourierParts & { readonly store: Store; readonly settled: () => void };

/**
 * Sends the calls that are on the disk only: the oldest segment first, until the server has taken or refused them. It has a
 * courier of its own, so that live calls do not wait for it, and never gives up.
 */
export function createBacklog({ settings, world, debug, ledger, store, settled }: Parts): Backlog {
  const places = new WeakMap<Entry, Stored["place"]>();
  const pause = createBell();
  const courier = createCourier({
    settings: { ...settings, retries: Infinity, queueLimit: Infinity },
    world,
    debug,
    ledger: { added: () => {}, repeated: () => {}, settle },
    again: pause.ring,
  });
  let seq = 0;
  let left = 0;
  let isStopped = false;

  return {
    pump,
    hurry: courier.hurry,
    drained() {
      pump();
      courier.hurry();
      return left === 0 ? Promise.resolve() : pause.next();
    },
    stop() {
      isStopped = true;
      courier.abandon();
    },
  };

  function pump(): void {
    while (left === 0 && !isStopped) {
      const calls = takeOldest(store);
      if (calls.length === 0) break;
      for (const call of calls) add(call);
    }
    if (left === 0) pause.ring();
    else courier.sendUpTo(seq);
  }

  function add({ place, kept }: Stored): void {
    const entry = entryOf(kept, seq + 1);
    // Something else has written it, with the right checksum.
    if (!entry) return void release(store, place, "settled");
    seq += 1;
    left += 1;
    places.set(entry, place);
    courier.add(entry);
  }

  function settle(entry: Entry, settlement: Settlement): void {
    const place = places.get(entry);
    if (place) release(store, place, "settled");
    left -= 1;
    ledger.report(entry, settlement);
    settled();
    // Later: the courier is not done with this batch.
    if (left === 0) void Promise.resolve().then(pump);
  }
}

function createBell() {
  const waiting = new Set<() => void>();
  return {
    next: () => new Promise<void>((resolve) => waiting.add(resolve)),
    ring() {
      for (const resolve of waiting) resolve();
      waiting.clear();
      return true;
    },
  };
}

/** Null if it is no call. */
export function entryOf(kept: Stored["kept"], seq: number): Entry | null {
  const { type, messageId } = attempt(() => JSON.parse(kept.text)) ?? {};
  if (typeof type !== "string" || typeof messageId !== "string") return null;
  return { ...kept, seq, type: type as Entry["type"], messageId, bytes: utf8Length(kept.text) };
}
