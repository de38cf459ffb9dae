import { type ComplaintWorld, createComplaint } from "./complaint.ts";
import type { Entry } from "./entry.ts";
import type { Settlement } from "./flushes.ts";
import type { Settings } from "./options.ts";
import { tell } from "./tell.ts";

export type Report = {
  settled(entry: Entry, settlement: Settlement): void;
  /** Whether one of the program's functions runs right now. */
  telling(): boolean;
  /** Writes down what has not been told yet. */
  end(): void;
};

/** Tells the program what becomes of its calls; or standard error, if the program does not listen. */
export function createReport({ onError, onDelivered }: Settings, world: ComplaintWorld): Report {
  const { log } = world;
  const losses = createComplaint(world);
  let returned = 0;
  let depth = 0;

  return {
    settled({ text }, settlement) {
      if (settlement.kind === "returned") returned += 1;
      else if (settlement.kind === "delivered") tellOf(onDelivered, () => JSON.parse(text));
      else if (onError) tellOf(onError, () => settlement.error);
      else losses.add(settlement.error.message);
    },
    telling: () => depth > 0,
    end() {
      losses.end();
      if (returned > 0 && !onError)
        log(`analytics: ${returned} calls were not delivered in time: see what close() returned`);
      returned = 0;
    },
  };

  function tellOf<T>(listener: ((value: T) => void) | undefined, value: () => T): void {
    if (!listener) return;
    depth += 1;
    tell(listener, value(), log);
    depth -= 1;
  }
}
