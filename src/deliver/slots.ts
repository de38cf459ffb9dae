import { FIRST_SLOTS, type Lane } from "./lane.ts";

/**
 * Attempts at once in the whole daemon. Bun's fetch runs 256 and lets the rest wait in a queue of its own, where their
 * five seconds would pass unused.
 */
export const MOST_ATTEMPTS = 200;
/**
 * Of them, what is kept for lanes that use little: the same few for each. So those that hang at once, each with all the
 * slots it had grown to, leave some to the others.
 */
const KEPT = 100;

/** The slots of all lanes together, and who waits because the others have them. */
export type Slots = {
  /** Whether one more of this lane leaves to every other lane what is kept for it. */
  hasRoom(lane: Lane): boolean;
  take(lane: Lane, ask: Parameters<Lane["takeSlot"]>[0]): void;
  /** The lane has given one back. */
  free(lane: Lane): void;
  /** There is one lane more. */
  add(lane: Lane): void;
  /** Calls `wake`, once, when there is a slot for one of these lanes; for several that wait, one after the other. */
  starve(lanes: readonly Lane[], wake: () => void): void;
  /** Whoever was woken has looked, and has perhaps left a slot for the next. */
  passOn(): void;
};

export function createSlots(): Slots {
  const lanes: Lane[] = [];
  let busy = 0;
  /** What each lane may count on, and what is so kept for all of them now. */
  let each = 0;
  let kept = 0;
  // Woken one by one, since each that looks in vain costs as much as one that finds something, and there may be hundreds.
  const modest = new Set<() => void>();
  const others = new Set<() => void>();

  return {
    hasRoom: (lane) => (isModest(lane) ? hasAny() : hasMore()),
    take(lane, ask) {
      if (isModest(lane)) kept -= 1;
      lane.takeSlot(ask);
      busy += 1;
    },
    free(lane) {
      busy -= 1;
      if (isModest(lane)) kept += 1;
      passOn();
    },
    add(lane) {
      lanes.push(lane);
      each = Math.min(FIRST_SLOTS, Math.floor(KEPT / lanes.length));
      kept = lanes.reduce((sum, one) => sum + Math.max(0, each - one.busy()), 0);
    },
    starve(which, wake) {
      const [queue, other] = which.some(isModest) ? [modest, others] : [others, modest];
      other.delete(wake);
      // Who waits in it already keeps its place: a loop may look often, for other reasons.
      queue.add(wake);
    },
    passOn,
  };

  /** Whether it has less than what is kept for it. */
  function isModest(lane: Lane): boolean {
    return lane.busy() < each;
  }

  function hasAny(): boolean {
    return busy < MOST_ATTEMPTS;
  }

  /** Whether there is more than what is kept. */
  function hasMore(): boolean {
    return MOST_ATTEMPTS - busy > kept;
  }

  function passOn(): void {
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
