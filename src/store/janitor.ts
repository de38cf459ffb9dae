import type { Config } from "../model/config.ts";
import type { Clock, Prune, PruneBefore, PruneCounts, Report, StoreHealth } from "../model/ports.ts";
import { type At, DAY, type Ms, SECOND } from "../model/units.ts";

/** Rows of each kind removed in one step: nobody waits long behind it. */
const STEP = 500;
/** How often it looks whether there is anything to do. */
const EVERY: Ms = 10 * SECOND;
/** Share of the bound from which settled deliveries go before their time, so that new calls find room. */
const CROWDED = 0.9;

export type JanitorWorld = {
  readonly prune: Prune;
  readonly health: StoreHealth;
  readonly outbox: () => Config["outbox"];
  readonly clock: Clock;
  readonly report: Report;
};

/** Removes what was kept long enough, in small steps. Resolves when the signal is aborted. */
export async function runJanitor({ prune, health, outbox, clock, report }: JanitorWorld, signal: AbortSignal) {
  while (!signal.aborted) {
    const more = await step().catch(failed);
    if (more) await clock.nextTurn();
    else await clock.sleep(EVERY, signal);
  }

  async function step(): Promise<boolean> {
    const counts = await prune(limits(clock.now()), STEP);
    report.pruned(counts);
    return isFullStep(counts);
  }

  /** When the outbox is crowded, delivered ones go first, the oldest before the others. What waits is never touched. */
  function limits(now: At): PruneBefore {
    const { keepDelivered, keepFailed } = outbox();
    const { used, max } = health.size();
    const crowded = used >= max * CROWDED;
    return { delivered: crowded ? now : now - keepDelivered, failed: now - keepFailed, seen: now - DAY };
  }

  function failed(error: unknown): boolean {
    report.storeFailed("prune", error);
    return false;
  }
}

function isFullStep(counts: PruneCounts): boolean {
  return Object.values(counts).some((count) => count >= STEP);
}
