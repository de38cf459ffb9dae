import type { Config } from "../model/config.ts";
import type { StoreHealth } from "../model/disk.ts";
import { isFault } from "../model/fault.ts";
import type { Clock, Prune } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { createRounds, type Rest, type Rounds } from "../model/rounds.ts";
import { DAY, HOUR, MINUTE, type Ms, SECOND } from "../model/units.ts";

/** How often it checks, if nothing wakes it. */
const EVERY: Ms = 5 * MINUTE;
/** The pause after a failure. A full disk would wake the janitor with each refused commit, its own too. */
const AFTER_FAILURE: Ms = 10 * SECOND;
/** Rows of each kind removed in one commit, which has to stay short. */
const STEP = 500;

export type JanitorWorld = {
  readonly prune: Prune;
  readonly health: Pick<StoreHealth, "state">;
  readonly outbox: () => Config["outbox"];
  readonly clock: Clock;
  readonly report: Report;
};

/**
 * Removes what was kept long enough, in small steps. When the store is crowded, rows go early to make room for new calls: first
 * delivered deliveries, then failed and expired ones, then messageIds older than an hour, by which repeats are recognised. When the disk is nearly full, only delivered ones go early: another program may be filling it, and failures
 * are kept for the operator. Waiting deliveries are never removed.
 */
export function createJanitor(world: JanitorWorld): Rounds {
  return createRounds(world.clock, async () => AFTER[await cleanUp(world)]);
}

const AFTER: Readonly<Record<"more" | "nothing" | "failed", Rest>> = {
  more: { kind: "turn" },
  nothing: { kind: "sleep", ms: EVERY },
  failed: { kind: "pause", ms: AFTER_FAILURE },
};

/** One step. Answers whether there may be more to do, or that the store has failed. */
async function cleanUp({ prune, health, outbox, clock, report }: JanitorWorld): Promise<keyof typeof AFTER> {
  const now = clock.now();
  const { keepDelivered, keepFailed } = outbox();
  const old = { delivered: now - keepDelivered, failed: now - keepFailed, seen: now - DAY };
  // Includes what was settled in this millisecond.
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
    const counts = await prune(before, STEP);
    // The store has logged why.
    if (isFault(counts)) return "failed";
    if (counts === null) continue;
    report.pruned(counts, crowding ? "space" : "age");
    return "more";
  }
  return "nothing";
}
