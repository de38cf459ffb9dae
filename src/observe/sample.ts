import type { Random } from "../model/ports.ts";

/** In one line for a watcher. */
const MOST_EVENTS = 50;

/** Some of the events since the last line, all with the same chance, in the order in which they came. */
export type Sample = {
  /** `write` is called only if the event is taken. */
  add(write: () => string): void;
  isEmpty(): boolean;
  /** Begins again. */
  take(): { readonly events: readonly string[]; readonly omitted: number };
};

export function createSample({ fraction }: Pick<Random, "fraction">): Sample {
  let kept: { readonly nth: number; readonly event: string }[] = [];
  let seen = 0;
  return {
    add(write) {
      seen += 1;
      // The nth event has a chance of 50 in n, and takes the place of any of those before.
      const place = seen <= MOST_EVENTS ? kept.length : Math.floor(fraction() * seen);
      if (place < MOST_EVENTS) kept[place] = { nth: seen, event: write() };
    },
    isEmpty: () => seen === 0,
    take() {
      const events = kept.sort((one, other) => one.nth - other.nth).map(({ event }) => event);
      const omitted = seen - events.length;
      kept = [];
      seen = 0;
      return { events, omitted };
    },
  };
}
