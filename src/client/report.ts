import type { Entry } from "./entry.ts";
import type { Settlement } from "./flushes.ts";
import type { Settings } from "./options.ts";
import { tell } from "./tell.ts";
import type { World } from "./world.ts";

export type Report = {
  settled(entry: Entry, settlement: Settlement): void;
  /** Whether one of the program's functions runs right now. */
  telling(): boolean;
  /** Writes down what has not been told yet. */
  end(): void;
};

type ReportWorld = Pick<World, "log" | "wall">;

/** Tells the program what becomes of its calls; or standard error, if the program does not listen. */
export function createReport({ onError, onDelivered }: Settings, world: ReportWorld): Report {
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

const QUIET_MS = 1_000;

type Complaint = { add(message: string): void; end(): void };

/** In an outage thousands are lost: one line a second says how many. */
function createComplaint({ log, wall }: ReportWorld): Complaint {
  let saidAt = Number.NEGATIVE_INFINITY;
  let last = "";
  let count = 0;

  return {
    add(message) {
      last = message;
      count += 1;
      // A clock that is set back must not silence it.
      if (Math.abs(wall() - saidAt) >= QUIET_MS) say();
    },
    end() {
      if (count > 0) say();
    },
  };

  function say(): void {
    log(count === 1 ? `analytics: ${last}` : `analytics: ${count} calls are lost; the last: ${last}`);
    saidAt = wall();
    count = 0;
  }
}
