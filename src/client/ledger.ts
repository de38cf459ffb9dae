import type { Entry } from "./entry.ts";
import { createFlushes, type FlushReport, type Settlement } from "./flushes.ts";
import type { Settings } from "./options.ts";
import { createReport } from "./report.ts";
import type { Cancel, ExitHooks, Trail, World } from "./world.ts";

/** Knows how many calls are open, and tells everybody what becomes of each. */
export type Ledger = {
  came(): void;
  settle(entry: Entry, settlement: Settlement): void;
  /** Of so many calls the server had some already. Comes before the calls of their batch are settled. */
  repeated(batch: readonly Entry[], duplicates: number): void;
  /** Resolves when all that is open now is settled. */
  settled(upTo: number): Promise<FlushReport>;
  /** Writes down what has not been told yet. */
  end(): void;
};

type LedgerWorld = World & { readonly trail: Trail };

/** While calls are open, the hooks are told when the program ends. */
export function createLedger(settings: Settings, world: LedgerWorld, hooks: ExitHooks): Ledger {
  const flushes = createFlushes(world.keepAlive);
  const report = createReport(settings, world);
  let open = 0;
  let leave: Cancel = () => {};

  return {
    came() {
      if (open === 0) leave = world.onExit(hooks);
      open += 1;
    },
    settle(entry, settlement) {
      open -= 1;
      if (open === 0) leave();
      // First of all: the program's functions may ask for another flush, which is not about this call any more.
      flushes.settled(entry, settlement);
      report.settled(entry, settlement);
    },
    repeated: flushes.repeated,
    settled: (upTo) => flushes.open(upTo, open),
    end: report.end,
  };
}
