import { FIRST_SLOTS, type Lane } from "./lane.ts";

/**
 * Attempts at once in the whole daemon. Bun's fetch runs 256 and queues the rest, whose five seconds would pass in that
 * queue.
 */
export const MOST_ATTEMPTS = 200;
/**
 * Slots that are kept for lanes that use few: the same number for each. So lanes that hang at the same time, each with many
 * slots, leave some to the others.
 */
const KEPT = 100;

/** The slots of all lanes together, and the loops that wait for one. */
export type Slots = {
  /** Whether this lane may take one more without touching those kept for the others. */
  hasRoom(lane: Lane): boolean;
  takeSlot(lane: Lane, ask: Parameters<Lane["takeSlot"]>[0]): void;
  /** The lane has given one back. */
  freeSlot(lane: Lane): void;
  /** There is one lane more. */
  add(lane: Lane): void;
  /** Calls `wake` once, when there is a slot for one of these lanes. Of several that wait, one is woken at a time. */
  waitForSlot(lanes: readonly Lane[], wake: () => void): void;
  /** The one that was woken is done: wakes the next, if there is a slot left. */
  wakeNext(): void;
};

export function createSlots(): Slots {
  const lanes: Lane[] = [];
  let busy = 0;
  /** How many are kept for each lane, and for all of them now. */
  let each = 0;
  let kept = 0;
  // There may be hundreds, and one that finds no slot costs as much as one that does: so one is woken at a time.
  const modest = new Set<() => void>();
  const others = new Set<() => void>();

  return {
    hasRoom: (lane) => (isModest(lane) ? hasAny() : hasMore()),
    takeSlot(lane, ask) {
      if (isModest(lane)) kept -= 1;
      lane.takeSlot(ask);
      busy += 1;
    },
    freeSlot(lane) {
      busy -= 1;
      if (isModest(lane)) kept += 1;
      wakeNext();
    },
    add(lane) {
      lanes.push(lane);
      each = Math.min(FIRST_SLOTS, Math.floor(KEPT / lanes.length));
      kept = lanes.reduce((sum, one) => sum + Math.max(0, each - one.busy()), 0);
    },
    waitForSlot(which, wake) {
      const [queue, other] = which.some(isModest) ? [modest, others] : [others, modest];
      other.delete(wake);
      // One that waits in it already keeps its place, however often it asks.
      queue.add(wake);
    },
    wakeNext,
  };

  /** Whether it uses fewer than are kept for it. */
  function isModest(lane: Lane): boolean {
    return lane.busy() < each;
  }

  function hasAny(): boolean {
    return busy < MOST_ATTEMPTS;
  }

  /** Whether there are more than are kept. */
  function hasMore(): boolean {
    return MOST_ATTEMPTS - busy > kept;
  }

  function wakeNext(): void {
    if (hasAny()) wakeOne(modest);
    if (hasMore()) wakeOne(others);
  }
}

function wakeOne(waiting: Set<() => void>): void {
  for (const wake of waiting) {
    waiting.delete(wake);
    wake();
    return;
  }
}
