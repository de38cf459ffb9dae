import type { Config } from "../model/config.ts";
import type { Clock, Prune, PruneBefore, PruneCounts } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { StoreHealth } from "../model/space.ts";
import { DAY, HOUR, MINUTE, type Ms, SECOND } from "../model/units.ts";

/** How often it looks, when nobody wakes it. */
const EVERY: Ms = 5 * MINUTE;
/** How long it leaves a store alone that has failed: a full disk wakes it with each commit that it refuses, its own too. */
const AFTER_FAILURE: Ms = 10 * SECOND;
/** Rows of each kind removed in one step: nobody waits long behind it. */
const STEP = 500;

export type JanitorWorld = {
  readonly prune: Prune;
  readonly health: Pick<StoreHealth, "state">;
  readonly outbox: () => Config["outbox"];
  readonly clock: Clock;
  readonly report: Report;
};

export type Janitor = {
  /** Works until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
  /** The store is crowded: it should look now. */
  wake(): void;
};

/**
 * Removes what was kept long enough, in small steps. When the store is crowded, settled deliveries go before their time,
 * so that new calls find room: first the delivered ones, then those that failed or expired, and then the messageIds by
 * which repeats are recognised, but for those of the last hour. When its disk is nearly full, only the delivered ones do:
 * it may be another program that fills it, and what failed is there for the operator. What waits is never touched.
 */
export function createJanitor(world: JanitorWorld): Janitor {
  let nap = new AbortController();
  return {
    async run(signal) {
      while (!signal.aborted) {
        nap = new AbortController();
        const found = await cleanUp(world);
        if (found === "more") await world.clock.nextTurn();
        else if (found === "failed") await world.clock.sleep(AFTER_FAILURE, signal);
        else await world.clock.sleep(EVERY, AbortSignal.any([signal, nap.signal]));
      }
    },
    wake: () => nap.abort(),
  };
}

/** One step. Answers whether there may be more to do, or why nobody knows. */
async function cleanUp({ prune, health, outbox, clock, report }: JanitorWorld): Promise<"more" | "nothing" | "failed"> {
  const now = clock.now();
  const { keepDelivered, keepFailed } = outbox();
  const old = { delivered: now - keepDelivered, failed: now - keepFailed, seen: now - DAY };
  // What was settled in this very millisecond, too.
  const all = now + 1;
  const { crowding } = await health.state();
  const delivered = { ...old, delivered: all, sparse: now - MINUTE };
  const settled = { ...delivered, failed: all };
  const limits = {
    none: [old],
    freeDisk: [delivered],
    maxSize: [delivered, settled, { ...settled, seen: now - HOUR }],
  }[crowding ?? "none"];
  for (const before of limits) {
    const counts = await pruneStep(before, { prune, report });
    if (counts === "failed") return counts;
    if (counts === null) continue;
    report.pruned(counts, crowding ? "space" : "age");
    return "more";
  }
  return "nothing";
}

type Pruning = { readonly prune: Prune; readonly report: Report };

async function pruneStep(before: PruneBefore, { prune, report }: Pruning): Promise<PruneCounts | null | "failed"> {
  try {
    return await prune(before, STEP);
  } catch (error) {
    report.storeFailed("prune", error);
    return "failed";
  }
}
