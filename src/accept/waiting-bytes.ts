/**
 * Counts the bytes that wait for delivery, for each source with a limit (`sources.X.maxWaiting`). The counts are in
 * memory: a delivery is added when it is durable, and subtracted when it has ended.
 *
 * Deliveries from before the start are counted by a walk through all waiting deliveries, in the background. So are
 * those that start to wait or end in other ways: replays, takeovers, discards, withdrawals. During a walk, deliveries
 * are accepted, fail and end, and each must count once. The walk therefore skips deliveries that were accepted after
 * its start, which are added as usual, and remembers how far it has come. A delivery that ends behind it is subtracted;
 * one that changes from a first attempt to a retry behind it is not counted again. The next walk corrects the cases
 * that cannot be known, such as a delivery that was replayed or moved during a walk.
 */
import type { Source } from "../model/config.ts";
import type { Delivery, DeliveryKey, Settlement } from "../model/delivery.ts";
import { StoreAway } from "../model/fault.ts";
import type { Observer } from "../model/observer.ts";
import { storedBodyFor } from "../model/payload.ts";
import type { Backlog, Clock, Queue, QueuePosition, ReadQueue, Settle } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { createRounds, type Rest } from "../model/rounds.ts";
import { type At, HOUR, KB, type Ms, SECOND } from "../model/units.ts";
import type { WaitingDeliveries } from "../model/waiting-deliveries.ts";

/** The space that a delivery takes in the outbox beside its body, when it has its own row. */
const BESIDE_BODY = KB / 2;
/** A walk reads only this long after its start: before that, another connection may not see all earlier events. */
const SETTLING: Ms = SECOND;
/** The rest between two walks, and that rest as a multiple of the last walk: counting must not slow down delivery. */
const PAUSE: Ms = 10 * SECOND;
const PAUSE_FOR_WALK = 20;
/** Counts that drifted are corrected after this time, unless a walk runs earlier. */
const EVERY: Ms = HOUR;
/** Deliveries in a page. The store also limits their bodies. */
const PAGE = 256;

export type WaitingBytes = Pick<Observer, "accepted"> & {
  /** From now on counts these sources only. */
  watch(sources: readonly Source[]): void;
  /** The count of a source; null while it is unknown. */
  of(source: string): number | null;
  /** The same `settle`, which also counts after the write. */
  noting(settle: Settle): Settle;
  /** The same discarding and moving, followed by a new walk. */
  countingAfter(waiting: WaitingDeliveries): WaitingDeliveries;
  /** Something changed that was not counted here: starts a new walk. */
  countAnew(): void;
  /** Counts in the background until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
};

type WaitingBytesWorld = {
  readonly readQueue: ReadQueue;
  readonly backlog: Pick<Backlog, "counts">;
  readonly clock: Clock;
  readonly report: Pick<Report, "storeFailed">;
};

/** Bytes by source. */
type Sums = Map<string, number>;

type State = {
  watched: ReadonlySet<string>;
  /** Of those of `watched` that were counted. */
  sums: Sums;
  /** The running walk. */
  walk: Walk | null;
};

export function createWaitingBytes(world: WaitingBytesWorld): WaitingBytes {
  const state: State = { watched: new Set(), sums: new Map(), walk: null };
  const counting = createCounting(world, state);

  return {
    watch(sources) {
      const names = sources.filter(({ maxWaiting }) => maxWaiting !== null).map(({ name }) => name);
      state.watched = new Set(names);
      state.sums = new Map([...state.sums].filter(([name]) => state.watched.has(name)));
      if (names.some((name) => !state.sums.has(name))) counting.countAnew();
    },
    of: (source) => state.sums.get(source) ?? null,
    accepted(source, { receipts }) {
      if (!state.watched.has(source)) return;
      for (const receipt of receipts) if (receipt.kind === "accepted") addAccepted(source, receipt.deliveries);
    },
    noting(settle) {
      return function settleAndNote(delivery, settlement) {
        const writing = settle(delivery, settlement);
        return state.watched.has(delivery.source) ? note(writing, delivery, settlement) : writing;
      };
    },
    countingAfter: ({ discard, move }) => ({
      discard: (destination, limit) => discard(destination, limit).finally(counting.countAnew),
      move: (by, limit) => move(by, limit).finally(counting.countAnew),
    }),
    ...counting,
  };

  function addAccepted(source: string, deliveries: readonly Delivery[]): void {
    const [first] = deliveries;
    if (!first) return;
    const size = deliveries.reduce((sum, one) => sum + sizeOf(one), 0);
    add(state.sums, source, size);
    if (state.walk && !state.walk.isOlder(first)) add(state.walk.sums, source, size);
  }

  async function note(writing: ReturnType<Settle>, delivery: Delivery, settlement: Settlement): ReturnType<Settle> {
    const written = await writing;
    if (written !== "written") return written;
    state.walk?.settled(delivery, settlement);
    if (settlement.state !== "waiting") add(state.sums, delivery.source, -sizeOf(delivery));
    return written;
  }
}

/** Walks through the waiting deliveries on request, and from time to time. */
function createCounting(world: WaitingBytesWorld, state: State): Pick<WaitingBytes, "countAnew" | "run"> {
  const { clock, report } = world;
  let isOutdated = false;
  let nextAt: At = 0;
  const { wake, run } = createRounds(clock, round);

  return {
    countAnew() {
      isOutdated = true;
      if (state.watched.size > 0) wake();
    },
    run,
  };

  async function round(signal: AbortSignal): Promise<Rest> {
    if (state.watched.size === 0) return { kind: "sleep", ms: null };
    if (!isOutdated && clock.now() < nextAt) return { kind: "sleep", ms: nextAt - clock.now() };
    isOutdated = false;
    const begunAt = clock.now();
    // Events that were accepted in this millisecond were already added.
    const walk = createWalk(state.watched, begunAt + 1);
    state.walk = walk;
    try {
      await clock.sleep(SETTLING, signal);
      if (await walkThrough(walk, world, signal)) state.sums = keptOf(walk, state.watched);
    } catch (error) {
      isOutdated = true;
      if (!(error instanceof StoreAway)) report.storeFailed("count what waits", error);
    }
    state.walk = null;
    nextAt = clock.now() + EVERY;
    return { kind: "pause", ms: Math.max(PAUSE, PAUSE_FOR_WALK * (clock.now() - begunAt - SETTLING)) };
  }
}

/** The result of a walk. A source that was added meanwhile is counted by the next one. */
function keptOf({ sums }: Walk, watched: ReadonlySet<string>): Sums {
  return new Map([...sums].filter(([name]) => watched.has(name)));
}

/** Without the payloads of other destinations: a delivery that is read again may not have them. */
function sizeOf({ body, destination }: Pick<Delivery, "body" | "destination">): number {
  return Buffer.byteLength(storedBodyFor(body, destination)) + BESIDE_BODY;
}

function add(sums: Sums, source: string, size: number): void {
  const sum = sums.get(source);
  if (sum !== undefined) sums.set(source, Math.max(0, sum + size));
}

/** How far a walk has come, and what it has counted. */
type Walk = {
  readonly sums: Sums;
  begin(destination: string, queue: Queue): void;
  /** Whether the delivery was accepted before the walk began. */
  isOlder(delivery: Delivery): boolean;
  count(page: readonly Delivery[]): void;
  settled(delivery: Delivery, settlement: Settlement): void;
};

function createWalk(names: ReadonlySet<string>, startedAt: At): Walk {
  const sums: Sums = new Map([...names].map((name) => [name, 0]));
  const passed = new Set<string>();
  /** Counted as first attempts, and then moved to the retries. */
  const moved = new Set<string>();
  let at: { readonly destination: string; readonly queue: Queue; last: QueuePosition } | null = null;

  return {
    sums,
    isOlder,
    begin(destination, queue) {
      if (at !== null && at.destination !== destination) passed.add(at.destination);
      at = { destination, queue, last: NOWHERE };
    },
    count(page) {
      const last = page.at(-1);
      if (at && last) at.last = { dueAt: last.dueAt, id: last.id };
      for (const one of page) {
        if (isOlder(one) && !moved.has(keyOf(one))) add(sums, one.source, sizeOf(one));
      }
    },
    settled(one, { state }) {
      const isCounted = !isOlder(one) || moved.has(keyOf(one)) || hasPassed(one);
      if (!isCounted) return;
      if (state !== "waiting") add(sums, one.source, -sizeOf(one));
      else if (isOlder(one)) moved.add(keyOf(one));
    },
  };

  function isOlder({ acceptedAt }: Delivery): boolean {
    return acceptedAt < startedAt;
  }

  function hasPassed({ destination, attemptedAt, dueAt, id }: Delivery): boolean {
    if (at?.destination !== destination) return passed.has(destination);
    const { queue, last } = at;
    if (attemptedAt === null) return queue === "retry" || id <= last.id;
    return queue === "retry" && (dueAt < last.dueAt || (dueAt === last.dueAt && id <= last.id));
  }
}

const NOWHERE: QueuePosition = { dueAt: -1, id: -1 };

function keyOf({ id, destination }: DeliveryKey): string {
  return `${id} ${destination}`;
}

/** Answers whether it reached the end. */
async function walkThrough(
  walk: Walk,
  { readQueue, backlog, clock }: WaitingBytesWorld,
  signal: AbortSignal,
): Promise<boolean> {
  const waiting = (await backlog.counts()).filter(({ state, count }) => state === "waiting" && count > 0);
  for (const { destination } of waiting) {
    for (const queue of ["first", "retry"] as const) {
      walk.begin(destination, queue);
      let after: QueuePosition | null = null;
      for (let more = true; more; ) {
        if (signal.aborted) return false;
        const ask = { destination, queue, after, dueBy: Number.MAX_SAFE_INTEGER, limit: PAGE };
        const page = await readQueue(ask);
        walk.count(page.deliveries);
        after = page.upTo ?? page.deliveries.at(-1) ?? after;
        // New ones would keep arriving without end.
        more = page.more && (queue === "retry" || page.deliveries.length === 0 || page.deliveries.some(walk.isOlder));
        await clock.nextTurn();
      }
    }
  }
  return true;
}
