import { type ComplaintWorld, createComplaint } from "./complaint.ts";
import type { Entry } from "./entry.ts";
import type { LostCallError } from "./errors.ts";
import type { Settlement } from "./flushes.ts";
import type { Settings } from "./options.ts";
import { tell } from "./tell.ts";
import type { Trail } from "./world.ts";

type ReportWorld = ComplaintWorld & { readonly trail: Trail };

export type Report = {
  settled(entry: Entry, settlement: Settlement): void;
  /** Writes down what has not been told yet. */
  end(): void;
};

/** Tells the program what becomes of its calls; or standard error, if the program does not listen. */
export function createReport({ onError, onDelivered }: Settings, world: ReportWorld): Report {
  const { log } = world;
  const losses = createComplaint(world);
  let returned = 0;

  return {
    settled({ text }, settlement) {
      if (settlement.kind === "returned") returned += 1;
      else if (settlement.kind === "lost") tellLost(settlement.error);
      else if (onDelivered) tell(onDelivered, JSON.parse(text), log);
    },
    end() {
      losses.end();
      if (returned > 0 && !onError)
        log(`analytics: ${returned} calls were not delivered in time: see what close() returned`);
      returned = 0;
    },
  };

  function tellLost(error: LostCallError): void {
    if (onError) world.trail.enter("onError", () => tell(onError, error, log));
    else losses.add(error.message);
  }
}
